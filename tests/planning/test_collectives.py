"""What a step moves, against counts and sizes that papers print."""

from __future__ import annotations

import pytest

from benchmarks.reference_models import model_of
from benchmarks.reference_rows import rows
from benchmarks.reference_sizes import FILES
from benchmarks.reference_training import megatron
from costlab.errors import SizeError
from costlab.planning.blocks import lstm
from costlab.planning.collectives import collectives
from costlab.planning.memory import rank_memory
from costlab.planning.parallel import Plan
from costlab.planning.precision import precision
from costlab.planning.stages import passes_begun, stage_of
from costlab.planning.tensors import elements, row_share, shapes, tensor_share
from costlab.planning.totals import parameters

MIXED = precision("mixed")
D, N, LAYERS = 64, 32, 4


def moved(plan: Plan, rank: int = 0, **about: object) -> dict[tuple[str, str, str], float]:
    """Bytes of each collective of a small GPT."""
    found = collectives(megatron(D, 4, LAYERS), plan, N, MIXED, rank=rank, **about)  # type: ignore[arg-type]
    return {(item.kind, item.group, item.phase): item.bytes for item in found}


def test_tensor_parallelism_sums_twice_a_layer_each_way() -> None:
    # Shoeybi et al. 2019, figure 4: two all-reduces in forward, two in backward, of b n d each.
    each = 2 * 2 * N * D
    assert moved(Plan(tp=2, micro=2, sequence=0)) == {
        ("all_reduce", "tp", "forward"): 2 * LAYERS * each,
        ("all_reduce", "tp", "backward"): 2 * LAYERS * each,
    }


def test_sequence_parallelism_moves_as_much_and_gathers_its_inputs_again() -> None:
    # Korthikanti et al. 2022, section 4.2.2: four of each a layer, forward and backward together.
    each = 2 * 2 * N * D * LAYERS
    assert moved(Plan(tp=2, micro=2), regather=False) == {
        ("all_gather", "tp", "forward"): 2 * each,
        ("reduce_scatter", "tp", "forward"): 2 * each,
        ("all_gather", "tp", "backward"): 2 * each,
        ("reduce_scatter", "tp", "backward"): 2 * each,
        ("all_reduce", "tp", "backward"): LAYERS * 2 * 2 * D * 2,  # of two norms, 2 bytes each
    }
    assert moved(Plan(tp=2, micro=2))[("all_gather", "tp", "backward")] == 4 * each


@pytest.mark.parametrize(("zero", "moves"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_zero_moves_two_or_three_times_the_weights(zero: int, moves: int) -> None:
    # Rajbhandari et al. 2020, section 7: 2 psi as plain data parallelism, 3 psi with stage 3.
    model = megatron(D, 4, LAYERS)
    psi = sum(count * parameters(item) for item, count, _stream in model.parts())
    found = collectives(model, Plan(dp=8, zero=zero), N, MIXED)
    assert sum(item.sent for item in found) == pytest.approx(moves * psi * 2 * 7 / 8, rel=1e-3)


def test_pipelines_send_one_activation_a_pass_and_boundary() -> None:
    # Narayanan et al. 2021, section 4.1: b n d, and v times as much when interleaved.
    each = 2 * N * D
    first = moved(Plan(pp=2, accumulation=5))
    assert first == {("send", "pp", "forward"): 5 * each}
    assert moved(Plan(pp=2, accumulation=5), rank=1) == {("send", "pp", "backward"): 5 * each}
    chunks = moved(Plan(pp=2, interleave=2, accumulation=4))
    assert chunks == {
        ("send", "pp", "forward"): 2 * 4 * each,
        ("send", "pp", "backward"): 1 * 4 * each,
    }


def test_4096_rows_over_16384_ranks_are_padded_fourfold() -> None:
    assert row_share([(4096, 16384)], 16384) * 16384 * 4 == 1024 * 2**20


def test_whole_tensors_go_to_the_emptiest_rank() -> None:
    assert tensor_share([(3, 1), (5, 1), (4, 1), (3, 1)], 2) == 8


def test_shapes_hold_the_derived_number_of_parameters() -> None:
    inputs = [row.inputs for name in FILES for row in rows(name)
              if {"family", "d_model"} <= row.inputs.keys()]  # fmt: skip
    models = [model for one in inputs if (model := model_of(one, one["family"])) is not None]
    parts = {item for model in models for item, _count, _stream in model.parts()} | {*lstm(48)}
    wrong = [item for item in parts if elements(shapes(item)) != parameters(item)]
    assert wrong == []
    assert {"embedding", "layer_norm", "linear", "lstm", "rms_norm", "scale", "table"} <= {
        item.entry for item in parts
    }


def test_stages_hold_every_layer_once() -> None:
    model = megatron(D, 4, 7)
    for plan in (Plan(pp=3), Plan(pp=2, interleave=3)):
        held = [sum(layer.count for layer in stage_of(model, plan, rank).layers)
                for rank in range(plan.pp)]  # fmt: skip
        assert sum(held) == 7
        assert max(held) - min(held) <= plan.interleave
    with pytest.raises(SizeError, match="no such rank"):
        stage_of(model, Plan(pp=2), 2)


def test_passes_of_a_pipeline() -> None:
    # Korthikanti et al. 2022, section 4.2.3: p, and p (1 + (p - 1) / (p v)) when interleaved.
    assert passes_begun(Plan(pp=8, accumulation=64)) == 8
    assert passes_begun(Plan(pp=8, accumulation=64), 7) == 1
    assert passes_begun(Plan(pp=8, accumulation=64, interleave=2)) == 8 + 7 / 2
    assert passes_begun(Plan(pp=8, accumulation=64, gpipe=1)) == 64


def test_gpipe_holds_every_pass() -> None:
    model = megatron(D, 4, LAYERS)
    one = rank_memory(model, Plan(pp=2, accumulation=6), N, MIXED)
    all_ = rank_memory(model, Plan(pp=2, accumulation=6, gpipe=1), N, MIXED)
    assert all_.activations == 3 * one.activations
