"""Models as sums of parts: against a whole derived block, and configs that cannot be read."""

from __future__ import annotations

import pytest

from costlab.errors import InputError
from costlab.formulas import store
from costlab.planning.blocks import attention, feed_forward, norm
from costlab.planning.huggingface import from_values
from costlab.planning.model import Layer, ModelConfig
from costlab.planning.totals import flop, model_parameters, saved_bytes, state_elements

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100,
}  # fmt: skip


@pytest.mark.parametrize(("b", "n", "d", "h", "f"), [(3, 63, 56, 7, 100), (2, 100, 96, 4, 200)])
def test_parts_make_up_the_derived_block(b: int, n: int, d: int, h: int, f: int) -> None:
    parts = (
        norm("layer_norm", "norm_1", d), *attention(d, h, h, d // h),
        norm("layer_norm", "norm_2", d), *feed_forward(d, f, "gelu"),
    )  # fmt: skip
    model = ModelConfig("block", "", d, (Layer("block", parts, 5),))
    whole = store.load("transformer_block", "train", "bfloat16", "cuda", {"causal": True})
    sizes = {"b": b, "n": n, "d": d, "h": h, "f": f, "L": 5}
    assert model_parameters(model) == whole.evaluate("parameters", **sizes)["parameters"]
    for quantity in ("flop_matmul", "flop_useful"):
        found = flop(model, b, n, mode="train", quantity=quantity)
        assert found == whole.evaluate(quantity, **sizes)[quantity]
    assert saved_bytes(model, b, n) == whole.evaluate("saved_bytes", **sizes)["saved_bytes"]


def test_a_window_bounds_the_cache() -> None:
    # Gemma 3 keeps 1024 tokens in five of six layers; tools that ignore it are off by hundreds %.
    model = from_values(
        {**LLAMA, "model_type": "gemma3_text", "num_hidden_layers": 12, "head_dim": 16,
         "sliding_window": 8}, "g",
    )  # fmt: skip
    assert state_elements(model, 100) == 2 * 2 * 16 * (10 * 8 + 2 * 100)


def test_what_is_not_used_is_said() -> None:
    assert from_values({**LLAMA, "parallel_magic": 7}, "l").unused == ("parallel_magic",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "lama"}, "did you mean llama"),
        ({"num_key_value_heads": 3}, "kv_heads=3"),
        ({"num_attention_heads": 5, "num_key_value_heads": None}, "no head_dim"),
        ({"vocab_size": "many"}, "vocab_size = 'many'"),
        ({"intermediate_size": None}, "add intermediate_size"),
        ({"hidden_act": "sine"}, "sine"),
    ],
)
def test_bad_configs_say_what_is_wrong(change: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_values({**LLAMA, **change}, "l")
