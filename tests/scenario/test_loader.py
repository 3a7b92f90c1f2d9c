"""Loading: defaults, places in the file, files that cannot be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.scenario import Scenario, load, loads
from planner.scenario.catalog import defaults, names
from tests.scenario.bad_scenarios import BASE, INLINE_MODEL, MODEL, ROOFLINE, edited

SHORT = """\
model: qwen3-235b-a22b-fp8
workload:
  requests_per_second: 40
  classes: [{prompt_tokens: 4000, reusable_tokens: 3000, output_tokens: 350}]
slo: {ttft_ms: 1500, tpot_ms: 60}
"""
REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
REFERENCE_FILES = [*sorted((REFERENCE / "cases").glob("*.yaml")), *REFERENCE.glob("chat.yaml")]


def codes(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        loads(text)
    return [d.code for d in caught.value.diagnostics]


def test_short_scenario_is_completed_and_says_what_was_a_default() -> None:
    scenario = loads(SHORT, "scenarios/short.yaml")
    marked = dict(scenario.defaults)
    assert scenario.name == "short"
    assert scenario.hardware.name == marked["hardware"] == "h200-sxm"
    assert scenario.engine.timing == marked["engine.timing"] == "vllm-0.31"
    assert [t.name for t in scenario.tiers] == ["dram", "nvme"]
    assert scenario.workload.classes[0].share == 1.0
    assert scenario.workload.reuse.law == "hill"
    assert float(marked["prices.gpu_usd_per_hour"]) == scenario.prices.gpu_usd_per_hour == 2.80
    assert not {"model", "slo.ttft_ms", "workload.requests_per_second"} & set(marked)
    assert [w.code for w in scenario.warnings] == ["assumed-reuse"]


def test_every_catalog_default_reaches_the_scenario() -> None:
    scenario = loads(SHORT)

    def compare(expected: dict[str, object], holder: object, path: str = "") -> None:
        for key, value in expected.items():
            got = getattr(holder, key)
            if isinstance(value, dict):
                compare(value, got, f"{path}{key}.")
            elif path != "engine.roofline.":  # fitted to the tables instead
                assert (list(got) if isinstance(got, tuple) else got) == value, path + key

    expected = {key: value for key, value in defaults().items() if key != "hardware"}
    compare(expected, scenario)


def test_every_default_has_a_source() -> None:
    scenario = loads(SHORT)
    known = {path for path, _ in scenario.sources}
    derived = {"name", "workload.classes[0].name", "workload.classes[0].share", "workload.classes[0].prompt_cv"}
    derived |= {"workload.reuse.at_requests_per_second", "tiers[0].name", "tiers[1].name"}
    assert {path for path, _ in scenario.defaults} - known <= derived
    assert "model.layers" in known
    assert all(text for _, text in scenario.sources)


def test_complete_scenario_has_few_defaults() -> None:
    assert {path.rsplit(".", 1)[-1] for path, _ in loads(BASE).defaults} == {
        "prompt_cv", "at_requests_per_second", "chunk_tokens", "max_utilization", "colocated_routing", "load_imbalance",
        "hierarchy", "overlap", "prefill_tp_at_most_decode_tp", "gpus_per_node", "billing", "included_gb_per_node",
        "roles", "tokens_counted", "correction",
    }  # fmt: skip


@pytest.mark.parametrize("name", names("model"))
def test_every_catalog_model_makes_a_scenario(name: str) -> None:
    scenario = loads(SHORT.replace("qwen3-235b-a22b-fp8", name))
    model = scenario.model
    assert model.full_attention_layers is not None
    assert model.full_attention_layers + model.windowed_layers <= model.layers
    peak = {"fp8": 1979, "bf16": 989}[model.compute_dtype or ""]
    assert scenario.hardware.peak_tflops == peak
    if scenario.engine.timing == "roofline":
        assert 0 < scenario.engine.roofline.mfu < 1
        assert {path for path, _ in scenario.sources} >= {"engine.timing", "engine.roofline.mfu"}


@pytest.mark.parametrize("name", names("hardware"))
def test_every_catalog_gpu_makes_a_scenario(name: str) -> None:
    scenario = loads(SHORT + f"hardware: {name}\n")
    assert scenario.hardware.name == name
    assert "hardware" not in dict(scenario.defaults)


@pytest.mark.parametrize(("kind", "usd"), [("on_demand", 4.50), ("reserved_1y", 2.80), ("spot", 2.62), ("owned", 1.74)])
def test_price_by_kind(kind: str, usd: float) -> None:
    scenario = loads(SHORT + f"prices: {{gpu_usd_per_hour: {kind}}}\n")
    assert scenario.prices.gpu_usd_per_hour == usd
    assert "prices.gpu_usd_per_hour" in dict(scenario.sources)


def test_inline_model_and_peaks_by_precision() -> None:
    hardware = "{name: x, hbm_gb: 141, hbm_gb_per_s: 4800, peak_tflops: {bf16: 989, fp8: 1979}}"
    text = edited((MODEL, ROOFLINE, ("hardware: h200-sxm", f"hardware: {hardware}")))
    assert loads(text).hardware.peak_tflops == 1979
    assert loads(text.replace("weight_bytes_per_param: 1", "weight_bytes_per_param: 2")).hardware.peak_tflops == 989


def test_inline_model_takes_nothing_from_a_catalog_entry_of_its_name() -> None:
    text = SHORT.replace("model: qwen3-235b-a22b-fp8\n", INLINE_MODEL.replace("mine", "qwen3-235b-a22b"))
    model = loads(text).model
    assert (model.layers, model.hidden, model.timing_name) == (32, None, None)


def test_known_tier_needs_only_its_name_and_gets_no_optional_limit() -> None:
    tier = loads(SHORT + "tiers: [{name: nvme, latency_ms: 20}]\n").tiers[0]
    assert (tier.latency_ms, tier.gb_per_s_per_node) == (20, 25)
    assert (tier.step_gb, tier.dwpd, tier.write_gb_per_s_per_node) == (None, None, None)


def test_no_tiers() -> None:
    assert loads(SHORT + "tiers: []\n").tiers == ()


def test_load_of_the_curve_defaults_to_the_scenarios_load() -> None:
    assert loads(BASE).workload.reuse.at_requests_per_second == 40
    text = BASE.replace("ceiling: 0.80", "ceiling: 0.80\n    at_requests_per_second: 30")
    assert loads(text).workload.reuse.at_requests_per_second == 30
    own = BASE.replace("output_tokens: 350}", "output_tokens: 350, reuse: {law: measured, points_gb: [[100, 0.5]]}}")
    law = loads(own).workload.classes[0].reuse
    assert law is not None
    assert law.at_requests_per_second == 40


@pytest.mark.parametrize(
    ("written", "used"), [("vllm-0.24", "vllm-0.31"), ("SGLang", "sglang-0.5.14"), ("tensorrt-llm-1.2", "trtllm-1.3")]
)
def test_another_engine_version_is_replaced_with_a_warning(written: str, used: str) -> None:
    scenario = loads(BASE.replace("vllm-0.31", written))
    assert scenario.engine.timing == used
    assert [w.code for w in scenario.warnings] == ["timing-version"]


def test_timing_file_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("phase\n")
    file = tmp_path / "s.yaml"
    file.write_text(BASE.replace("vllm-0.31", "mine.csv"))
    assert load(file).engine.timing == "mine.csv"


def test_span_points_at_the_value_or_at_the_key_of_a_block() -> None:
    scenario = loads(BASE, "x.yaml")
    slo, classes = scenario.span("slo.ttft_ms"), scenario.span("workload.classes")
    assert slo is not None
    assert slo.text[slo.column - 1 :].startswith("1500")
    assert classes is not None
    assert classes.text[classes.column - 1 :].startswith("classes:")
    share = scenario.span("workload.classes[1].share")
    assert share is not None
    assert (share.file, share.line) == ("x.yaml", 10)
    assert scenario.span("deployment.billing") is None
    assert scenario.span("no.such[3].key") is None


def test_values_of_yaml_1_1_that_are_meant() -> None:
    text = BASE.replace("latency_ms: 2}", "latency_ms: 2, prefill_tp_at_most_decode_tp: no}")
    text = text.replace("prompt_tokens: 4000", "prompt_tokens: 4.0e+3").replace("name: base", "name: 2026-11-29")
    scenario = loads(text.replace("max_gpus: 512", "max_gpus: 1_024"))
    assert scenario.deployment.transfer.prefill_tp_at_most_decode_tp is False
    assert scenario.workload.classes[0].prompt_tokens == 4000
    assert isinstance(scenario.workload.classes[0].prompt_tokens, int)
    assert (scenario.name, scenario.deployment.max_gpus) == ("2026-11-29", 1024)


def test_anchors_are_understood() -> None:
    text = BASE.replace("per_gpu: 45", "per_gpu: &fast 45").replace("per_gpu: 38", "per_gpu: *fast")
    assert loads(text).tiers[0].gb_per_s_per_gpu == 45


def test_line_ends_and_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "dos.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert load(file) == loads(BASE)
    file.write_bytes(BASE.replace("ttft_ms", "ttft").replace("\n", "\r\n").encode())
    with pytest.raises(InputError) as caught:
        load(file)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.text[:4]) == (18, "slo:")


@pytest.mark.parametrize("name", ["Chat für Köln", "聊天", "a.b-c_d", "x" * 60])
def test_names_that_are_fine(name: str) -> None:
    assert loads(BASE.replace("name: base", f"name: {name}")).name == name


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a\\\\b", "C:x", "-rf", "<i>", "con?", "a|b", "''", "' a'"])
def test_names_that_are_not(name: str) -> None:
    assert codes(BASE.replace("name: base", f"name: {name}")) == ["bad-name"]


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, Path("nul\0byte")):
        with pytest.raises(InputError) as caught:
            load(path)
        assert caught.value.diagnostics[0].code == "unreadable-file"


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    with file.open("wb") as stream:
        stream.truncate(100 * 2**20)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        load(file)


@pytest.mark.parametrize("data", [b"name: caf\xe9\n", BASE.encode("utf-16"), b"\x00\x00\xff"])
def test_other_encodings_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.diagnostics[0].code in ("not-utf-8", "control-character")


def test_scenarios_are_equal_by_value_and_frozen() -> None:
    scenario = loads(BASE)
    assert scenario == loads("# a comment\n" + BASE)
    assert scenario.sha256 != loads("# a comment\n" + BASE).sha256
    assert hash(scenario) == hash(loads(BASE))
    with pytest.raises(ValueError, match="frozen"):
        scenario.name = "other"  # type: ignore[misc]


@pytest.mark.skipif(not REFERENCE_FILES, reason="no reference scenarios beside the repository")
@pytest.mark.parametrize("path", REFERENCE_FILES, ids=lambda p: p.stem)
def test_reference_scenarios_load(path: Path) -> None:
    scenario = load(path)
    assert isinstance(scenario, Scenario)
    assert scenario.name == path.stem


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_scenarios_load_without_a_warning(path: Path) -> None:
    assert load(path).warnings == ()


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, planner.scenario; print([m for m in ('numpy', 'pyomo', 'highspy', 'typer') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
