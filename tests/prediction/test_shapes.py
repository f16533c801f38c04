"""Operands to the shapes that rates depend on."""

from __future__ import annotations

import pytest

from costlab.algebra import as_expr
from costlab.formulas.record import Group
from costlab.hardware.calibration_record import SHAPES
from costlab.prediction.shapes import rate_name, rate_shape


def call(op: str, kind: str, *shapes: tuple[int, ...]) -> Group:
    one = as_expr(1)
    return Group(op, kind, "forward", False, one, one, one, one, shapes)


@pytest.mark.parametrize(
    ("group", "name", "shape"),
    [
        (call("aten.mm.default", "matmul", (7, 5), (5, 3)), "matmul", (1, 7, 5, 3)),
        (call("aten.addmm.default", "matmul", (3,), (7, 5), (5, 3)), "matmul", (1, 7, 5, 3)),
        (call("aten.bmm.default", "matmul", (6, 7, 5), (6, 5, 3)), "matmul", (6, 7, 5, 3)),
        (
            call("aten._scaled_dot_product_flash_attention_for_cpu.default", "attention",
                 (2, 3, 7, 8), (2, 3, 9, 8), (2, 3, 9, 8)),
            "attention",
            (6, 7, 9, 8),
        ),
        (
            # The upstream gradient comes first.
            call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", "attention",
                 (2, 3, 7, 8), (2, 3, 7, 8), (2, 3, 9, 8)),
            "attention_backward",
            (6, 7, 9, 8),
        ),
        (
            call("aten.convolution.default", "convolution", (2, 4, 100), (6, 4, 3)),
            "convolution",
            (2, 4, 6, 100, 3),
        ),
        (
            # An LSTM over 50 steps of batch 2, 4 wide in, 6 hidden: weights (24, 4), (24, 6).
            call("aten.mkldnn_rnn_layer.default", "recurrent", (50, 2, 4), (24, 4), (24, 6)),
            "recurrent",
            (2, 50, 4, 6),
        ),
        (call("aten.softmax.default", "softmax", (2, 3)), "softmax", ()),
        (call("aten.mm.default", "matmul"), "matmul", ()),
    ],
    ids=["mm", "addmm", "bmm", "sdpa", "sdpa-backward", "conv", "lstm", "softmax", "unknown"],
)  # fmt: skip
def test_shape_of_a_call(group: Group, name: str, shape: tuple[int, ...]) -> None:
    assert rate_name(group) == name
    assert rate_shape(group) == shape
    if shape:
        assert len(shape) == len(SHAPES[group.kind])
