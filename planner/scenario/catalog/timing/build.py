"""Convert a folder of AIConfigurator / AISimulate extracts to the packaged tables.

``python -m planner.scenario.catalog.timing.build FOLDER`` reads ``<hardware>_<engine>_{prefill,decode,memory}.csv``
(hardware with an underscore) and writes one JSON file per model and engine, and ``index.json``. Times are kept to the
digit; per-point details that the planner does not use (top operator, tokens per second) are dropped, and the share of
time that is not from timed kernels is kept as mean and maximum of each grid.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from planner.scenario.catalog.timing import FOLDER, TableKey

HARDWARE = ("h200_sxm", "h200-sxm")  # in file names, in the catalog
ENGINES = {  # in file names: catalog name, display name
    "vllm031": ("vllm-0.31", "vLLM 0.31"),
    "sglang": ("sglang-0.5.14", "SGLang 0.5.14"),
    "trtllm": ("trtllm-1.3", "TensorRT-LLM 1.3"),
}
KV_DTYPE = {"fp8": "fp8", "bfloat16": "bf16"}
SPLIT = ("gpus", "tp", "dp", "etp", "ep")
Row = dict[str, str]


def main(folder: Path, into: Path = FOLDER) -> None:
    """Write every table that the folder has extracts for, then the index."""
    tables = []
    for short, (engine, _) in ENGINES.items():
        source, prefill = _read(folder / f"{HARDWARE[0]}_{short}_prefill.csv")
        _, decode = _read(folder / f"{HARDWARE[0]}_{short}_decode.csv")
        memory_source, memory = _read(folder / f"{HARDWARE[0]}_{short}_memory.csv")
        for model in dict.fromkeys(row["model"] for row in prefill):
            key = TableKey(engine, model, HARDWARE[1])
            chosen = ([r for r in rows if r["model"] == model] for rows in (prefill, decode, memory))
            (into / key.file_name).write_text(_render(_document(key, source, memory_source, *chosen)), encoding="utf-8")
            tables.append({"engine": engine, "model": model, "hardware": key.hardware})
    index = {"engines": dict(ENGINES.values()), "tables": tables}
    (into / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> tuple[list[str], list[Row]]:
    """The comment lines above the header, and the rows."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.lstrip("# ") for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _document(
    key: TableKey, source: list[str], memory_source: list[str], prefill: list[Row], decode: list[Row], memory: list[Row]
) -> dict[str, object]:
    known = {_split(row): row for row in memory if row["status"] == "ok"}
    sample = next(iter(known.values()))
    capacity = re.search(r"capacity (\d+) B", memory_source[-1])
    fraction = re.search(r"of_(total|free) fraction=([\d.]+)", memory_source[-1])
    tool = re.search(r"(NVIDIA \w+).*?==([\w.]+).*perf-db version=([\w.]+)", source[0])
    if capacity is None or fraction is None or tool is None:
        raise ValueError(f"{key.engine}: the extract does not state its tool and database, capacity and fraction")
    return {
        "engine": key.engine,
        "model": key.model,
        "hardware": key.hardware,
        "source": f"{tool[1]} {tool[2]}, database {tool[3]}",
        "provenance": [source[0].removeprefix("source: "), *source[1:], *memory_source[-1:]],
        "license": "Apache-2.0; notice in README.md",
        "huggingface": sample["hf_id"],
        "quantisation": {name: sample[f"{name}_q"] for name in ("gemm", "moe", "kv", "fmha")},
        "kv_dtype": KV_DTYPE[sample["kv_q"]],
        "memory": {
            "capacity_bytes": int(capacity[1]),
            "hbm_fraction": float(fraction[2]),
            "hbm_fraction_of": fraction[1],
        },
        "new_tokens": _axis(prefill, "new_tokens"),
        "prefix_tokens": _axis(prefill, "prefix_tokens"),
        "context": _axis(decode, "ctx"),
        "configs": list(_configs(known, prefill, decode)),
    }


def _configs(known: dict[tuple[int, ...], Row], prefill: list[Row], decode: list[Row]) -> Iterator[dict[str, object]]:
    """The configurations that have both grids and fit in memory, in the order of the extract."""
    for split in dict.fromkeys(map(_split, prefill)):
        of_split = [row for row in prefill if _split(row) == split]
        steps = [row for row in decode if _split(row) == split]
        memory = known[split]
        yield {
            **dict(zip(SPLIT, split, strict=True)),
            "ways": int(of_split[0]["seqs_per_pass"]),
            **{f"{n}_gib": float(memory[f"{n}_GiB"]) for n in ("weights", "activations", "runtime", "comm")},
            "kv_bytes_per_token_per_gpu": int(memory["kv_bytes_per_token_per_gpu"]),
            "instance_kv_tokens": int(memory["instance_kv_tokens"]),
            "batch": _axis(steps, "batch_instance"),
            "prefill": _grid(of_split, "new_tokens", "prefix_tokens", "latency_ms"),
            "decode": _grid(steps, "batch_instance", "ctx", "step_ms"),
        }


def _grid(rows: list[Row], row_axis: str, column_axis: str, value: str) -> dict[str, object]:
    """The complete grid; a missing point is an error."""
    at = {(int(r[row_axis]), int(r[column_axis])): float(r[value]) for r in rows}
    shares = [float(r["non_silicon_pct"]) for r in rows]
    return {
        "non_silicon_pct": [round(sum(shares) / len(shares), 1), max(shares)],
        "ms": [[at[x, y] for y in _axis(rows, column_axis)] for x in _axis(rows, row_axis)],
    }


def _axis(rows: Iterable[Row], name: str) -> list[int]:
    return sorted({int(row[name]) for row in rows})


def _split(row: Row) -> tuple[int, ...]:
    return tuple(int(row[name]) for name in SPLIT)


def _render(document: dict[str, Any]) -> str:
    """JSON with one configuration per line, so that a change of data is a small difference."""

    def compact(value: object) -> str:
        return json.dumps(value, separators=(",", ":"))

    head = [f"{json.dumps(k)}: {compact(v)}" for k, v in document.items() if k != "configs"]
    configs = ",\n ".join(map(compact, document["configs"]))
    return "{\n" + ",\n".join(head) + ',\n"configs": [\n ' + configs + "\n]\n}\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
