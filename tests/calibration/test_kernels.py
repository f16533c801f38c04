"""Every kernel runs, and the rules price it as the record's tables say."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from costlab.calibration.kernels import build
from costlab.calibration.suite import BANDWIDTH, LEVELS, PASS, SHAPED, Case, cases
from costlab.calibration.worker import traced
from costlab.errors import InputError
from costlab.hardware.calibration_record import KINDS, SHAPES
from costlab.prediction.shapes import rate_name, rate_shape

_KERNELS = {case.kernel: case for case in cases("full")}
_TINY = {
    "matmul": (3, 5, 7, 11), "attention": (6, 9, 13, 8), "attention_causal": (6, 9, 9, 8),
    "attention_backward": (6, 9, 9, 8), "lstm": (3, 5, 8, 6), "lstm_backward": (3, 5, 8, 6),
    "convolution": (2, 3, 5, 17, 3), "convolution_backward": (2, 3, 5, 17, 3),
}  # fmt: skip


def _shape(case: Case) -> tuple[int, ...]:
    if case.table == PASS:
        return (2, 6, 8, 2)
    return _TINY.get(case.kernel, (2048,))


@pytest.mark.parametrize("name", sorted(_KERNELS))
def test_every_kernel_has_the_class_its_table_names(name: str) -> None:
    case = _KERNELS[name]
    kernel = build(name, _shape(case), "float32", "cpu")
    with torch.set_grad_enabled(kernel.grad):
        ops = traced(kernel, "cpu")

    main = max(ops, key=lambda op: op.flop if case.table == SHAPED else op.bytes)
    assert sum(op.launches for op in ops) > 0
    if case.table == SHAPED:
        # The causal table is asked for by name, not by the operator.
        assert rate_name(main.group()) == case.name.replace("_causal", "")
        assert rate_shape(main.group()) == _shape(case)
        assert len(_shape(case)) == len(SHAPES[case.name.partition("_")[0]])
    elif case.table == BANDWIDTH and case.name.startswith("aten."):
        assert ".".join(main.op.split(".")[:2]).rstrip("_") == case.name
    elif case.table == BANDWIDTH:
        assert main.kind == case.name


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", sorted(_KERNELS))
def test_every_kernel_runs_again_and_again(name: str, dtype: str) -> None:
    kernel = build(name, _shape(_KERNELS[name]), dtype, "cpu")
    ran = []
    with torch.set_grad_enabled(kernel.grad):
        for _ in range(2):
            if kernel.between is not None:
                kernel.between()
            kernel.action()
            if kernel.between is not None:
                kernel.between()
            ran.append([op.op for op in traced(kernel, "cpu")])

    assert ran[0] == ran[1]
    assert ran[0]


def test_matmul_flop_are_torchs() -> None:
    kernel = build("matmul", (3, 5, 7, 11), "float32", "cpu")
    with FlopCounterMode(display=False) as counter:
        kernel.action()

    assert sum(op.flop for op in traced(kernel, "cpu")) == counter.get_total_flops()


def test_a_training_pass_is_traced_in_phases() -> None:
    kernel = build("block_train_pass", (2, 6, 8, 2), "float32", "cpu")
    phases = [op.phase for op in traced(kernel, "cpu")]

    assert set(phases) == {"forward", "backward"}
    assert phases == sorted(phases, reverse=True)


def test_levels_grow() -> None:
    """Each level measures all that the one before does, bar the trial's, which is a part."""
    sizes = [set(cases(level)) for level in LEVELS]

    assert sizes[0] < sizes[1] < sizes[2] < sizes[3]


def test_every_kind_with_a_rate_is_measured_at_the_quickest_level() -> None:
    assert {case.name for case in cases("quickest")} >= set(KINDS)


def test_no_held_out_case_is_measured_for_a_rate_too() -> None:
    for level in LEVELS:
        rated = {(c.kernel, c.shape) for c in cases(level) if not c.held_out}
        assert not [c for c in cases(level) if c.held_out and (c.kernel, c.shape) in rated]


def test_no_case_needs_more_than_a_gibibyte() -> None:
    for case in cases("full"):
        if case.table == BANDWIDTH:
            assert 3 * 4 * math.prod(case.shape) < 2**30


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InputError, match="quickest"):
        cases("slow")
