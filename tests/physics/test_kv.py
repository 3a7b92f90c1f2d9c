"""KV bytes against published figures: the cache shapes of every catalog model, and the examples often quoted."""

import pytest

from planner.physics import kv
from planner.scenario import catalog
from planner.scenario.schema import ModelSpec

# Bytes per token that grows, in bf16 and fp8. Sources: the models' config.json (copies in aiconfigurator @095f58a) and,
# for DeepSeek-V3.2, vLLM's blog of 2025-09-29 (656 B + 132 B of indexer keys a layer). Windowed layers do not grow.
PUBLISHED_BYTES_PER_TOKEN = {
    "deepseek-v3": (70_272, 35_136),
    "deepseek-r1": (70_272, 35_136),
    "deepseek-v3.2": (78_324, 48_068),
    "kimi-k2": (70_272, 35_136),
    "kimi-k2.5": (70_272, 35_136),
    "glm-5.2": (89_856, 44_928),
    "qwen3-235b-a22b": (192_512, 96_256),
    "qwen3-235b-a22b-fp8": (192_512, 96_256),
    "qwen3-30b-a3b": (98_304, 49_152),
    "qwen3-next-80b-a3b": (24_576, 12_288),
    "qwen3-coder-480b-a35b": (253_952, 126_976),
    "gpt-oss-120b": (36_864, 18_432),
    "gpt-oss-20b": (24_576, 12_288),
    "glm-4.5": (376_832, 188_416),
    "minimax-m2": (253_952, 126_976),
    "mixtral-8x7b": (131_072, 65_536),
    "mixtral-8x22b": (229_376, 114_688),
    "llama-4-scout": (49_152, 24_576),
    "llama-4-maverick": (49_152, 24_576),
    "llama-3.1-70b": (327_680, 163_840),
    "llama-3.1-8b": (131_072, 65_536),
    "qwen2.5-0.5b": (12_288, 6_144),
    "qwen3.5-397b-a17b": (30_720, 15_360),  # 15 full-attention layers of 60, 2 KV heads x 256 (HF config)
}

# What the constant part adds at bf16 (same sources; Qwen3-Next: 36 gated-delta-net layers' state held in bf16).
PUBLISHED_SEQUENCE_BYTES = {
    "gpt-oss-120b": 4_718_592,
    "gpt-oss-20b": 3_145_728,
    "llama-4-scout": 1_207_959_552,
    "llama-4-maverick": 1_207_959_552,
    "qwen3-next-80b-a3b": 39_518_208,
    "qwen3.5-397b-a17b": 45 * 2 * (64 * 128 * 128 + 3 * (2 * 16 * 128 + 64 * 128)),  # state and convolution, bf16
}


def spec(name: str, **changes: object) -> ModelSpec:
    return ModelSpec(**{**catalog.model(name), **changes})


@pytest.mark.parametrize("name", PUBLISHED_BYTES_PER_TOKEN)
def test_bytes_per_token_are_the_published_ones(name: str) -> None:
    model = spec(name)
    assert (kv.bytes_per_token(model, "bf16"), kv.bytes_per_token(model, "fp8")) == PUBLISHED_BYTES_PER_TOKEN[name]


def test_every_catalog_model_has_a_published_figure() -> None:
    by_shape = {kv.bytes_per_token(spec(name), "bf16") for name in catalog.names("model")}
    assert by_shape == {bf16 for bf16, _ in PUBLISHED_BYTES_PER_TOKEN.values()}


@pytest.mark.parametrize("name", PUBLISHED_BYTES_PER_TOKEN)
def test_constant_part_is_the_published_one(name: str) -> None:
    assert kv.sequence_state_bytes(spec(name)) == PUBLISHED_SEQUENCE_BYTES.get(name, 0)


def test_the_engine_default_is_the_16_bit_cache_even_of_fp8_weights() -> None:
    assert kv.bytes_per_token(spec("qwen3-235b-a22b-fp8")) == 192_512


def test_model_that_states_one_byte_gets_its_fp8_layout() -> None:
    assert kv.bytes_per_token(spec("deepseek-v3.2", kv_bytes_per_element=1.0)) == 48_068
    assert kv.bytes_per_token(spec("deepseek-v3", kv_bytes_per_element=1.0)) == 35_136


def test_quoted_example() -> None:
    """32 layers of 8 KV heads of 128 in 2 bytes: 131,072 B a token, 1.049 GB for 8,000 tokens."""
    per_token = kv.gqa_bytes_per_token(layers=32, kv_heads=8, head_dim=128, dtype_bytes=2)
    assert per_token == 131_072
    assert 8000 * per_token / 1e9 == pytest.approx(1.049, abs=5e-4)


def test_measured_transfer_of_qwen3_reads_as_two_copies() -> None:
    """Mooncake moves 12.62 GB for 32,768 tokens of Qwen3-235B at TP8: four KV heads, so two copies (SGLang results)."""
    model = spec("qwen3-235b-a22b-fp8")
    assert 32_768 * kv.replication(model, tp=8) * kv.bytes_per_token(model) / 1e9 == pytest.approx(12.62, abs=0.01)


def test_measured_tier_of_glm_reads_as_one_fp8_copy() -> None:
    """llm-d's CPU tier held 283 million tokens of GLM-5.2 in 12.7 TB (blog of 2026-07-22)."""
    assert 283e6 * kv.bytes_per_token(spec("glm-5.2"), "fp8") / 1e12 == pytest.approx(12.7, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "kv_heads", "tp", "copies"),
    [("gqa", 8, 1, 1), ("gqa", 8, 8, 1), ("gqa", 8, 16, 2), ("gqa", 4, 8, 2), ("mla", None, 1, 1), ("mla", None, 8, 8)],
)
def test_copies_under_tensor_parallelism(kind: str, kv_heads: int | None, tp: int, copies: float) -> None:
    assert kv.tp_copies(kind, kv_heads, tp) == copies


def test_window_replicates_with_its_heads_and_linear_state_does_not() -> None:
    gpt, next_ = spec("gpt-oss-20b"), spec("qwen3-next-80b-a3b")
    assert kv.sequence_state_bytes(gpt, tp=16) == 2 * 3_145_728
    assert kv.sequence_state_bytes(gpt, kv_dtype="fp8") == 3_145_728 / 2
    assert kv.sequence_state_bytes(next_, tp=8, kv_dtype="fp8") == 39_518_208
