"""The catalog: complete provenance, names that resolve, values that agree with each other and published figures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.scenario import catalog
from planner.scenario.catalog import Sourced
from planner.scenario.schema import HardwareSpec, ModelSpec, TierSpec

FOLDER = Path(catalog.__file__).parent
MODEL_FILES = sorted((FOLDER / "models").glob("*.yaml"))
CONFIDENCES = {"high", "medium", "low", "estimate"}


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every mapping that holds a value, and every scalar that is not inside one."""
    if not isinstance(tree, dict) or "value" in tree or "source" in tree:
        yield path, tree
        return
    for key, branch in tree.items():
        yield from leaves(branch, f"{path}.{key}")


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")) + sorted(FOLDER.glob("*/*.yaml")), ids=lambda p: p.stem)
def test_every_value_has_unit_source_date_and_confidence(path: Path) -> None:
    if path.name == "names.yaml":
        return
    bare = {".name", ".title"}
    for where, leaf in leaves({key: value for key, value in read(path).items() if key != "provenance"}):
        if where in bare or where.endswith(".title"):
            continue
        assert isinstance(leaf, dict), f"{where} has no provenance"
        assert {"unit", "source", "date", "confidence"} <= set(leaf), where
        assert leaf["confidence"] in CONFIDENCES, where
        assert str(leaf["date"])[:4].isdigit(), where
        if isinstance(leaf.get("value"), int | float) and "low" in leaf and "high" in leaf:
            assert leaf["low"] <= leaf["value"] <= leaf["high"], where


def test_names_cover_every_variant_and_every_alias_resolves() -> None:
    variants = {variant: path.stem for path in MODEL_FILES for variant in read(path)["variants"]}
    index = read(FOLDER / "names.yaml")
    assert {name: file for name, (file, variant) in index.items() if name == variant} == variants
    assert all(variants[variant] == file for file, variant in index.values())


@pytest.mark.parametrize("name", catalog.names("model"))
def test_every_model_is_a_valid_specification(name: str) -> None:
    spec = ModelSpec(**catalog.model(name))
    assert spec.params_b.routed_experts < spec.params_b.total
    assert spec.weights_gb is not None
    assert (spec.params_b.routed_experts > 0) == (spec.experts.count > 0)
    counted = (spec.full_attention_layers or 0) + spec.windowed_layers
    assert counted == spec.layers or spec.sequence_state_bytes > 0


@pytest.mark.parametrize("name", catalog.names("model"))
def test_weights_agree_with_bytes_per_parameter(name: str) -> None:
    """Embeddings, heads and unquantised layers stay 16 bit: up to 15 % above parameters times their nominal width."""
    fields = catalog.model(name)
    assert 0.985 < fields["weights_gb"] / (fields["params_b"]["total"] * fields["weight_bytes_per_param"]) < 1.15


@pytest.mark.parametrize("name", catalog.names("model"))
def test_only_fp8_weights_use_the_fp8_peak(name: str) -> None:
    fields = catalog.model(name)
    assert fields["compute_dtype"] == ("fp8" if fields["weight_bytes_per_param"] == 1 else "bf16")


def attention_params(fields: dict[str, Any], shape: dict[str, Any]) -> float:
    """Parameters of one full-attention layer."""
    at, hidden = fields["attention"], fields["hidden"]
    if at["kind"] == "gqa":
        gate = at["q_heads"] if "linear_layers" in shape else 0  # Qwen3-Next gates its attention output
        return hidden * at["head_dim"] * (2 * at["q_heads"] + 2 * at["kv_heads"] + gate)
    nope = at["qk_head_dim"] - at["rope_dim"]
    queries = shape["q_lora_rank"] * (hidden + at["q_heads"] * at["qk_head_dim"])
    latent = hidden * (at["kv_lora_rank"] + at["rope_dim"])
    heads = at["kv_lora_rank"] * at["q_heads"] * (nope + at["v_head_dim"])
    return queries + latent + heads + at["q_heads"] * at["v_head_dim"] * hidden


def linear_params(hidden: float, shape: dict[str, Any]) -> float:
    """Parameters of one gated-delta-net layer."""
    keys, values = (shape[f"linear_{kind}_heads"] * shape["linear_head_dim"] for kind in "kv")
    return hidden * (2 * keys + 3 * values + 2 * shape["linear_v_heads"]) + shape["conv_kernel"] * (2 * keys + values)


def indexer_params(hidden: float, shape: dict[str, Any]) -> float:
    """Parameters of the sparse-attention indexer of one layer, 0 where there is none."""
    heads, dim = shape.get("indexer_heads", 0), shape.get("indexer_dim", 0)
    return shape.get("q_lora_rank", 0) * heads * dim + hidden * (dim + heads)


def recomputed_params_b(path: Path) -> tuple[float, float]:
    """(all parameters, those of routed experts) in billions, from a model file's shape."""
    entry = read(path)
    fields = catalog.model(next(iter(entry["variants"])))
    shape = {key: leaf["value"] for key, leaf in entry["shape"].items()}
    hidden, layers, linear = fields["hidden"], fields["layers"], shape.get("linear_layers", 0)
    moe_layers = layers - shape["dense_mlp_layers"]
    expert = 3 * hidden * shape.get("expert_intermediate", 0)
    routed = moe_layers * fields["experts"]["count"] * expert
    total = (
        routed
        + moe_layers * (shape["shared_experts"] * expert + fields["experts"]["count"] * hidden)
        + shape["dense_mlp_layers"] * 3 * hidden * shape.get("dense_intermediate", 0)
        + (layers - linear) * attention_params(fields, shape)
        + (linear * linear_params(hidden, shape) if linear else 0)
        + layers * indexer_params(hidden, shape)
        + shape["embedding_matrices"] * shape["vocab"] * hidden
    )
    return total / 1e9, routed / 1e9


@pytest.mark.parametrize("path", MODEL_FILES, ids=lambda path: path.stem)
def test_totals_follow_from_the_shape_and_match_the_published_ones(path: Path) -> None:
    entry, (total_b, routed_b) = read(path), recomputed_params_b(path)
    published = entry["fields"]["params_b"]
    assert total_b == pytest.approx(entry["shape"]["params_total_b_derived"]["value"], rel=2e-3)
    assert total_b == pytest.approx(published["total"]["value"], rel=0.0125)
    assert routed_b == pytest.approx(published["routed_experts"]["value"], rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", catalog.names("hardware"))
def test_every_gpu_is_a_valid_specification_at_each_peak(name: str) -> None:
    fields = catalog.hardware(name)
    for peak in fields["peak_tflops"].values():
        assert HardwareSpec(**{**fields, "peak_tflops": float(peak)}).hbm_gb == 150.75


def test_nvl_islands_are_four_gpus_wide() -> None:
    assert catalog.hardware("h200-nvl")["nvlink_domain_gpus"] == 4
    assert catalog.hardware("h200-sxm")["nvlink_domain_gpus"] == 8


def test_default_tiers_are_valid_and_drives_wear_out() -> None:
    for fields in catalog.default_tiers():
        tier = TierSpec(**{**fields, "roles": tuple(fields["roles"])})
        assert (tier.step_gb, tier.write_gb_per_s_per_node) == (None, None)
        assert tier.dwpd == {"dram": None, "nvme": 1}[tier.name]
        assert "dwpd" not in catalog.tier_defaults(tier.name)
        assert tier.usd_per_gb_hour == catalog.price(f"{tier.name}_owned")
    assert catalog.tier_defaults("tape") == {}


def test_default_tiers_fit_the_default_node() -> None:
    node = {row.path: row.value for row in catalog.provenance("node", "dgx-h200")}
    dram, nvme = (catalog.tier_defaults(name)["max_gb_per_node"] for name in ("dram", "nvme"))
    assert 0.95 * node["dram_gb"] < dram <= node["dram_gb"]
    assert nvme == node["nvme_drives"] * node["nvme_gb_each"]


def test_owned_rents_follow_from_capital() -> None:
    """Rent = capital x CRF / 8760 h, CRF = r / (1 - (1 + r)^-n); DRAM adds about 2 % of power."""
    capital = {key: leaf["value"] for key, leaf in read(FOLDER / "prices.yaml")["capital"].items()}
    recovery = capital["interest"] / (1 - (1 + capital["interest"]) ** -capital["years"]) / 8760
    assert catalog.price("dram_owned") == pytest.approx(1.02 * capital["dram_usd_per_gb"] * recovery, rel=0.02)
    assert catalog.price("nvme_owned") == pytest.approx(capital["nvme_usd_per_tb"] / 1000 * recovery, rel=0.02)


def test_deepseek_published_day() -> None:
    """226.75 nodes x 8 GPUs x 24 h x 2 USD = 87,072 USD (deepseek-ai/open-infra-index, day 6)."""
    gpus = catalog.provenance("node", "dgx-h200")[0].value
    assert 226.75 * gpus * 24 * 2 == 87_072


def test_a_gigabyte_from_hbm_and_from_one_old_drive() -> None:
    """0.208 ms from HBM at 4.8 TB/s, 333 ms from NVMe at 3 GB/s: 1,600 times."""
    from_hbm_s = 1e9 / (catalog.hardware("h200-sxm")["hbm_gb_per_s"] * 1e9)
    drive = {row.path: row.value for row in catalog.provenance("link", "nvme-gen3-drive")}
    from_nvme_s = 1e9 / (drive["read_gb_per_s"] * 1e9)
    assert from_hbm_s * 1e3 == pytest.approx(0.208, abs=5e-4)
    assert from_nvme_s * 1e3 == pytest.approx(333, abs=0.5)
    assert from_nvme_s / from_hbm_s == pytest.approx(1600)


def test_prices_keep_their_order() -> None:
    kinds = ("owned", "reserved_3y", "reserved_1y", "on_demand")
    owned, reserved_3y, reserved_1y, on_demand = map(catalog.price, kinds)
    assert owned < reserved_3y < reserved_1y < on_demand
    assert catalog.defaults()["prices"]["gpu_usd_per_hour"] == reserved_1y == 2.80
    assert catalog.price("dram_cloud") / catalog.price("dram_owned") == pytest.approx(9, abs=0.5)


def test_default_roofline_is_the_fit_to_the_default_engine() -> None:
    assert catalog.defaults()["engine"]["roofline"] == catalog.roofline_defaults("vllm-0.31", "fp8")
    assert catalog.roofline_defaults("vllm-0.31", "bf16")["mfu"] > catalog.roofline_defaults("vllm-0.31", "fp8")["mfu"]


def test_provenance_of_defaults_uses_scenario_keys() -> None:
    rows = {row.path: row for row in catalog.provenance("defaults", "defaults")}
    assert rows["engine.hbm_utilization"].value == 0.90
    assert rows["prices.gpu_usd_per_hour"].source.startswith("Hyperstack")
    assert rows["deployment.transfer.gb_per_s_per_gpu"].confidence == "high"
    assert catalog.provenance("price", "spot")[0].path == "spot"
    assert all(isinstance(row, Sourced) for row in rows.values())


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("prices.gpu_usd_per_hour", 1.41, 10.44),
        ("slo.tpot_ms", 5, 500),
        ("tiers.nvme.usd_per_gb_hour", 2.9e-6, 1.6e-4),
        ("engine.hbm_utilization", 0.7, 0.97),
    ],
)
def test_usual_ranges(key: str, low: float, high: float) -> None:
    found = catalog.usual_range(key)
    assert found is not None
    assert found[:2] == (low, high)
    assert found[2]


@pytest.mark.parametrize("key", ["engine.kv_dtype", "engine", "tiers.tape.latency_ms", "nothing.at.all"])
def test_no_usual_range(key: str) -> None:
    assert catalog.usual_range(key) is None


@pytest.mark.parametrize("kind", ["model", "hardware", "price", "node"])
def test_unknown_names_tell_the_candidates(kind: str) -> None:
    with pytest.raises(catalog.UnknownName) as caught:
        catalog.provenance(kind, "h-two-hundred")
    assert caught.value.candidates == tuple(catalog.names(kind))
    assert (caught.value.kind, caught.value.name) == (kind, "h-two-hundred")


def test_what_callers_get_is_theirs_to_change() -> None:
    catalog.model("deepseek-v3")["attention"]["kind"] = "gqa"
    catalog.defaults()["engine"]["batches"].append(1024)
    assert catalog.model("deepseek-v3")["attention"]["kind"] == "mla"
    assert 1024 not in catalog.defaults()["engine"]["batches"]
