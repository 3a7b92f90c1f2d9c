"""One measured row predicted by the planner's physics, with or without its engine's correction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.fidelity.closed_loop import Load, Pool, Prediction, colocated, disaggregated
from planner.fidelity.instance import Instance, catalog_model, instance
from planner.fidelity.rows import Row, Split
from planner.fidelity.workers import workers
from planner.physics import latency
from planner.physics.correction import corrected, first_token_s
from planner.physics.timing import Timing
from planner.scenario import catalog
from planner.scenario.catalog.corrections import Correction, find
from planner.units import GB, seconds

RESERVED = {"vllm": 0.5, "sglang": 0.7, "trtllm": 1.0}
"""Part of a sequence's output whose KV an engine holds back on admission: vLLM grows block by block (the mean is half),
SGLang's ``init_new_token_ratio`` is 0.7, TensorRT-LLM's GUARANTEED_NO_EVICT takes all of it."""
RANDOM_LENGTHS = 0.9  # InferenceX draws lengths uniformly from 0.8 to 1 of the nominal ones (random_range_ratio)
BALANCE_STEPS = (
    60  # TensorRT-LLM's attention_dp_config.timeout_iters in those runs: steps a prefill waits for its peers
)


@dataclass(frozen=True)
class Setup:
    """A row's pools before any correction; a colocated row has no decode pool of its own."""

    row: Row
    model: str
    prefill: Instance
    decode: Instance | None
    prefill_workers: int
    decode_workers: int
    load: Load

    @property
    def kind(self) -> str:
        """Of the correction."""
        return self.prefill.kind


def setup(row: Row) -> Setup:
    """What a row ran on.

    Raises:
        ValueError: an unknown model, one that does not fit, or nobody says how many workers there were.
    """
    model = catalog_model(row.model, row.precision)
    lengths = RANDOM_LENGTHS if _inferencex(row) else 1.0
    load = Load(row.concurrency, round(row.isl * lengths), round(row.osl * lengths))
    if row.decode is None:
        return Setup(row, model, instance(row.engine, model, row.prefill), None, 1, 0, load)
    pools = workers(row)
    if pools is None:
        raise ValueError("the number of prefill and decode workers is not known")
    prefill, decode = (_like(row.engine, model, split) for split in (pools.prefill_split, pools.decode_split))
    return Setup(row, model, prefill, decode, pools.prefill, pools.decode, load)


def predict(made: Setup, correction: Correction | None) -> Prediction:
    """The row's mean TTFT and TPOT."""
    row, load = made.row, made.load
    prefill = _pool(made.prefill, made.prefill_workers, correction, row, load)
    outside = 0.0 if correction is None else first_token_s(prefill.timing, load.prompt, made.decode is not None)
    if made.decode is None:
        found = colocated(prefill, load, first_token_s=outside)
        if row.engine == "trtllm" and made.prefill.split.dp > 1:
            found = replace(found, ttft_s=found.ttft_s + BALANCE_STEPS * found.tpot_s)
        return found
    decode = _pool(made.decode, made.decode_workers, correction, row, load)
    link = catalog.defaults()["deployment"]["transfer"]
    transfer = latency.transfer_s(
        load.prompt * made.prefill.kv_bytes_per_token, seconds(link["latency_ms"]), link["overlap"],
        made.prefill.split.gpus, link["gb_per_s_per_gpu"] * GB,
    )  # fmt: skip
    return disaggregated(prefill, decode, load, transfer, outside)


def packaged(made: Setup) -> Correction | None:
    """The packaged correction for a row, None where nothing like it was measured."""
    return find(made.row.engine, made.row.version, made.row.mode, made.kind, made.model)


def _inferencex(row: Row) -> bool:
    """Whether the row is one of InferenceX's (the packaged rows' other source are NVIDIA's own runs)."""
    return (
        any(mark in row.source for mark in ("db-dump", "source_file=20", "gap-analysis.csv"))
        and "/Users/" not in row.source
    )


def _like(engine: str, model: str, split: Split) -> Instance:
    return instance(engine, model, split)


def _pool(made: Instance, workers: int, correction: Correction | None, row: Row, load: Load) -> Pool:
    timing: Timing = made.timing if correction is None else corrected(made.timing, correction)
    held = load.prompt + RESERVED[row.engine] * load.output
    return Pool(timing, made.ways, workers, made.kv_tokens / held)
