"""Configs that no reader knows, read from the module that transformers builds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from costlab.errors import InputError
from costlab.planning import huggingface
from costlab.planning.huggingface import READERS, from_values
from costlab.planning.totals import flop, model_parameters, state_elements

SIZES: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 160, "vocab_size": 51200, "pad_token_id": 0,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["starcoder2", "phi3", "olmo2", "cohere"])
def test_products_and_parameters_are_those_that_torch_counts(kind: str) -> None:
    n, values = 12, {"model_type": kind, **SIZES}
    config = transformers.AutoConfig.for_model(kind, **SIZES)
    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        real = transformers.AutoModelForCausalLM.from_config(config)
        with FlopCounterMode(display=False) as counter:
            real(torch.zeros(1, n, dtype=torch.long))

    model = from_values(values, kind)

    assert kind not in READERS
    assert model_parameters(model) == sum(p.numel() for p in real.parameters())
    # The counter also sees the products that turn positions into angles: n for half of a head.
    angles = 2 * n * 16 // 2
    assert flop(model, 1, n) == pytest.approx(counter.get_total_flops(), abs=angles)
    assert state_elements(model, 10) == 2 * 10 * 2 * 2 * 16  # keys and values of 2 of 4 heads


def test_heads_that_the_products_do_not_have_are_not_believed() -> None:
    model = from_values({"model_type": "persimmon", **SIZES}, "persimmon")
    assert (model.kv_heads, model.kv_kind) == (4, "full")


@pytest.mark.parametrize("kind", ["olmoe", "qwen3_next"])
def test_a_module_of_other_parts_is_refused_by_name(kind: str) -> None:
    with pytest.raises(InputError, match="parts that plans do not know") as caught:
        from_values({"model_type": kind, **SIZES}, kind)
    assert "mlp.experts" in str(caught.value)


def test_without_transformers_the_unused_fields_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match="could not be used") as caught:
        from_values({"model_type": "starcoder2", **SIZES}, "starcoder2")
    assert "num_key_value_heads" in str(caught.value)
