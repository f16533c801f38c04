"""Pointwise counts against the published formulas, each operation counted while it is done."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from costlab.rules.elementwise import (
    GELU_BACKWARD_OPERATIONS,
    GELU_OPERATIONS,
    GLU_BACKWARD_OPERATIONS,
    OPERATIONS_PER_ELEMENT,
)
from tests.rules.counting import Counter, Number, erf, exp, log1p, tanh
from tests.rules.recorder import cost_of, only, record

POINTS = (-1.7, -0.2, 0.6, 2.3)
TANH_SCALE, CUBE = math.sqrt(2 / math.pi), 0.044715


def _sigmoid(x: Number) -> Number:
    return 1 / (exp(-x) + 1)


def _gelu(x: Number) -> Number:
    return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1)


def _gelu_tanh(x: Number) -> Number:
    return 0.5 * x * (tanh(TANH_SCALE * (x + CUBE * (x * x * x))) + 1)


def _softplus(x: Number) -> Number:
    """``log1p(exp(b * x)) / b`` below the threshold."""
    scaled = x * 1.0
    assert not scaled.above(20)
    return log1p(exp(scaled)) / 1.0


def _log_sigmoid(x: Number) -> Number:
    return x.min(0.0) - log1p(exp(-abs(x)))


FORWARD: dict[
    str, tuple[Callable[[Number], Number], Callable[[torch.Tensor], torch.Tensor], int]
] = {
    "sigmoid": (_sigmoid, torch.sigmoid, OPERATIONS_PER_ELEMENT["sigmoid"]),
    "silu": (lambda x: x * _sigmoid(x), F.silu, OPERATIONS_PER_ELEMENT["silu"]),
    "gelu": (_gelu, F.gelu, GELU_OPERATIONS["none"]),
    "gelu tanh": (_gelu_tanh, lambda x: F.gelu(x, approximate="tanh"), GELU_OPERATIONS["tanh"]),
    "softplus": (_softplus, F.softplus, OPERATIONS_PER_ELEMENT["softplus"]),
    "mish": (lambda x: x * tanh(log1p(exp(x))), F.mish, OPERATIONS_PER_ELEMENT["mish"]),
    "log sigmoid": (_log_sigmoid, F.logsigmoid, OPERATIONS_PER_ELEMENT["log_sigmoid_forward"]),
    "hardsigmoid": (
        lambda x: (x + 3).max(0.0).min(6.0) / 6,
        F.hardsigmoid,
        OPERATIONS_PER_ELEMENT["hardsigmoid"],
    ),
    "hardswish": (
        lambda x: x * (x + 3).max(0.0).min(6.0) / 6,
        F.hardswish,
        OPERATIONS_PER_ELEMENT["hardswish"],
    ),
}


def _silu_gradient(x: Number) -> Number:
    s = _sigmoid(x)
    return 1.0 * s * (x * (1 - s) + 1)


def _gelu_gradient(x: Number) -> Number:
    cdf = 0.5 * (erf(x * math.sqrt(0.5)) + 1)
    pdf = exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return 1.0 * (cdf + x * pdf)


def _gelu_tanh_gradient(x: Number) -> Number:
    square = x * x
    t = tanh(TANH_SCALE * (x + CUBE * (square * x)))
    left, right = 0.5 * x, t + 1
    inner = TANH_SCALE * (3 * CUBE * square + 1)
    return 1.0 * (0.5 * right + left * (1 - t * t) * inner)


def _mish_gradient(x: Number) -> Number:
    t, s = tanh(log1p(exp(x))), _sigmoid(x)
    return 1.0 * (t + x * s * (1 - t * t))


def _softplus_gradient(x: Number) -> Number:
    scaled = x * 1.0
    assert not scaled.above(20)
    z = exp(scaled)
    return 1.0 * z / (z + 1)


BACKWARD: dict[
    str, tuple[Callable[[Number], Number], Callable[[torch.Tensor], torch.Tensor], int]
] = {
    "silu": (_silu_gradient, F.silu, OPERATIONS_PER_ELEMENT["silu_backward"]),
    "gelu": (_gelu_gradient, F.gelu, GELU_BACKWARD_OPERATIONS["none"]),
    "gelu tanh": (
        _gelu_tanh_gradient,
        lambda x: F.gelu(x, approximate="tanh"),
        GELU_BACKWARD_OPERATIONS["tanh"],
    ),
    "mish": (_mish_gradient, F.mish, OPERATIONS_PER_ELEMENT["mish_backward"]),
    "softplus": (_softplus_gradient, F.softplus, OPERATIONS_PER_ELEMENT["softplus_backward"]),
}


@pytest.mark.parametrize("name", FORWARD)
def test_function_takes_as_many_operations_as_its_formula(name: str) -> None:
    formula, function, operations = FORWARD[name]
    for point in POINTS:
        counter = Counter()
        result = formula(Number(point, counter))
        assert result.value == pytest.approx(function(torch.tensor(point)).item(), abs=1e-6)
        assert counter.operations == operations


@pytest.mark.parametrize("name", BACKWARD)
def test_gradient_takes_as_many_operations_as_its_formula(name: str) -> None:
    formula, function, operations = BACKWARD[name]
    for point in POINTS:
        counter = Counter()
        x = torch.tensor(point, requires_grad=True)
        (expected,) = torch.autograd.grad(function(x), x)
        assert formula(Number(point, counter)).value == pytest.approx(expected.item(), abs=1e-5)
        assert counter.operations == operations


def test_gradients_from_the_output() -> None:
    counter = Counter()
    y, g = counter.numbers([0.3, 2.0])
    _ = g * (1 - y) * y
    assert counter.operations == OPERATIONS_PER_ELEMENT["sigmoid_backward"]
    counter.operations = 0
    _ = g * (1 - y * y)
    assert counter.operations == OPERATIONS_PER_ELEMENT["tanh_backward"]


def test_gated_linear_unit() -> None:
    counter = Counter()
    a, b, g = counter.numbers([0.3, 0.7, 2.0])
    _ = a * _sigmoid(b)
    assert counter.operations == OPERATIONS_PER_ELEMENT["glu"]
    counter.operations = 0
    s = _sigmoid(b)
    _ = s * g, (1 - s) * s * g * a
    assert counter.operations == GLU_BACKWARD_OPERATIONS
    x = torch.rand(3, 10, requires_grad=True)
    found, cost = only(lambda: F.glu(x).backward(torch.ones(3, 5)), "aten.glu_backward")
    assert found.outputs[0].shape == (3, 10)
    assert cost.flop_other == 15 * GLU_BACKWARD_OPERATIONS


def test_broadcast_work_is_that_of_the_output() -> None:
    x, bias = torch.rand(3, 7, 5), torch.rand(7, 1)
    _, cost = only(lambda: x + bias, "aten.add")
    assert cost.flop_other == 105
    assert (cost.bytes_read, cost.bytes_written) == ((105 + 7) * 4, 105 * 4)


def test_expanded_operand_is_read_as_addressed() -> None:
    _, cost = only(lambda: torch.rand(3, 5) + torch.rand(5).expand(3, 5), "aten.add")
    assert cost.bytes_read == 2 * 15 * 4


def test_in_place_reads_and_writes_itself() -> None:
    x = torch.rand(3, 5)
    _, cost = only(lambda: x.mul_(2.0), "aten.mul_")
    assert (cost.flop_other, cost.bytes_read, cost.bytes_written) == (15, 60, 60)
    out = torch.empty(3, 5)
    _, cost = only(lambda: torch.add(x, x, out=out), "aten.add")
    assert (cost.bytes_read, cost.bytes_written) == (120, 60)


def test_scale_is_one_more_multiplication() -> None:
    x = torch.rand(3, 5)
    assert only(lambda: torch.add(x, x, alpha=2), "aten.add")[1].flop_other == 30
    assert only(lambda: torch.addcmul(x, x, x), "aten.addcmul")[1].flop_other == 30
    assert only(lambda: torch.addcmul(x, x, x, value=0.5), "aten.addcmul")[1].flop_other == 45


def test_clamp_compares_with_the_bounds_given() -> None:
    x = torch.rand(3, 5)
    assert only(lambda: x.clamp(0, 1), "aten.clamp")[1].flop_other == 30
    assert only(lambda: x.clamp(min=0), "aten.clamp")[1].flop_other == 15


def test_selection_reads_mask_and_both_sides() -> None:
    x, mask = torch.rand(3, 5), torch.rand(3, 5) > 0.5
    _, cost = only(lambda: torch.where(mask, x, x), "aten.where")
    assert (cost.flop_other, cost.bytes_read) == (15, 15 + 120)


def test_complex_product_is_six_real_operations() -> None:
    """Four products, two sums; a real factor takes two products."""
    z = torch.view_as_complex(torch.rand(3, 5, 2))
    assert only(lambda: z * z, "aten.mul")[1].flop_other == 6 * 15
    assert only(lambda: z * torch.rand(3, 5), "aten.mul")[1].flop_other == 2 * 15
    assert only(lambda: z + z, "aten.add")[1].flop_other == 2 * 15
    assert only(lambda: torch.polar(z.real, z.imag), "aten.polar")[1].flop_other == 4 * 15


def test_lists_are_their_members() -> None:
    xs = [torch.rand(3, 5), torch.rand(7)]

    def apart() -> None:
        for x in xs:
            x.addcdiv_(x, x, value=0.1)

    [together] = record(lambda: torch._foreach_addcdiv_(xs, xs, xs, value=0.1))
    cost = cost_of(together.call)
    members = [cost_of(r.call) for r in record(apart)]
    for name in ("flop_other", "bytes_read", "bytes_written", "launches"):
        assert getattr(cost, name) == sum(getattr(m, name) for m in members), name


def test_every_tabled_operator_exists() -> None:
    names = [n for n in OPERATIONS_PER_ELEMENT if not hasattr(torch.ops.aten, n)]
    assert names == []
