"""Memory of a rank against Korthikanti et al. 2022 and ZeRO's table, and rivals' wrong cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from benchmarks.reference_rows import Row, rows
from benchmarks.reference_training import megatron, training_memory
from costlab.errors import SizeError
from costlab.planning.blocks import attention, experts, norm
from costlab.planning.bundled import named
from costlab.planning.memory import (
    divided,
    layer_saved,
    model_states,
    rank_memory,
    rank_shapes,
)
from costlab.planning.model import Layer
from costlab.planning.parallel import Plan
from costlab.planning.precision import precision
from costlab.planning.stages import Stage
from costlab.planning.tensors import elements
from costlab.planning.totals import parameters

MIXED = precision("mixed")


def test_published_rows_are_met() -> None:
    found = [(row, value) for row in rows("training_memory")
             if row.tolerance is not None and row.recomputes == "yes"
             and (value := training_memory(row)) is not None]  # fmt: skip
    assert [f"{r.id}: {v} for {r.value}" for r, v in found if not _met(r, v)] == []
    assert len(found) >= 65


def _met(row: Row, value: float) -> bool:
    assert row.tolerance is not None
    return abs(value - row.number) <= row.tolerance * row.number


def test_a_layer_keeps_what_the_paper_says() -> None:
    # Korthikanti et al. 2022, equation 1, which leaves out mean and deviation of two norms.
    s, b, h, a = 96, 2, 64, 4
    layer = megatron(h, a, 1).layers[0]
    published = s * b * h * 34 + 5 * a * s * s * b
    assert layer_saved(layer.parts, b, s) == published + 2 * 2 * 2 * b * s


def test_norms_are_not_divided_by_tensor_parallelism() -> None:
    whole = norm("rms_norm", "norm", 96)
    assert parameters(divided(whole, 8)) == 96


def test_key_value_heads_are_copied_once_there_are_fewer_than_ranks() -> None:
    parts = {p.name: p for p in attention(96, 8, 2, 12)}
    assert parameters(divided(parts["attention.k"], 8)) == 96 * 12
    assert divided(parts["attention.core"], 8).size == {"g": 1, "j": 1, "k": 12}


def test_experts_are_divided_by_both_kinds_of_ranks() -> None:
    layer = Layer("moe", experts(64, 32, 8, 2, "gate"), 3)
    stage, plan = Stage((layer,)), Plan(dp=4, tp=2, ep=4)
    assert elements(rank_shapes(stage, plan, expert=False)) == 3 * 64 * 8
    assert elements(rank_shapes(stage, plan, expert=True)) == 3 * 8 * 3 * 64 * 32 // (2 * 4)


def test_shares_are_padded() -> None:
    assert model_states(10, MIXED, dp=4, zero=3).states == 3 * 16
    assert model_states(10, MIXED, dp=4, zero=1).states == 10 * 4 + 3 * 12


def test_more_stages_than_layers_are_refused() -> None:
    with pytest.raises(SizeError, match="at most 2"):
        rank_memory(megatron(64, 4, 2), Plan(pp=3), 8, MIXED)
    with pytest.raises(SizeError, match="zero=4"):
        model_states(10, MIXED, zero=4)


def test_full_recomputation_keeps_the_inputs_alone() -> None:
    found = rank_memory(megatron(64, 4, 2), Plan(micro=3, recompute=2), 8, MIXED)
    assert found.activations == Fraction(2 * 2 * 3 * 8 * 64)


def test_norms_and_activations_computed_again_drop_the_inputs_of_products() -> None:
    # A Llama layer keeps, of a token, in 2 bytes each: for q, k and v the normed d, for up and gate
    # the normed d, for down the f behind the gate; all three are made again.
    d, f, n = 64, 160, 24
    layer = named("llama-2-7b").layers[0].parts
    small = tuple(replace(item, sizes=tuple((k, _small(v)) for k, v in item.sizes))
                  for item in layer)  # fmt: skip
    kept = [layer_saved(small, 1, n, recompute=level) for level in ("none", "pointwise")]
    assert kept[0] - kept[1] == 2 * n * (2 * d + f)


def _small(size: int) -> int:
    return {4096: 64, 11008: 160, 128: 16, 32: 4}.get(size, size)
