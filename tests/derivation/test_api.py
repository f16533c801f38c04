"""What ``derive`` says of modules that fail, have no closed form, or call unknown operators."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import costlab
from costlab.errors import DerivationError, InputError, ModuleError, UnknownNameError
from costlab.formulas.document import document
from costlab.formulas.text import parse

Made = tuple[nn.Module, tuple[Tensor, ...]]
HERE = Path(__file__).name


@torch.library.custom_op("costlabtest::mystery", mutates_args=())
def mystery(x: Tensor) -> Tensor:
    """An operator that CostLab has no rule for."""
    return x @ x.mT @ x


@mystery.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Mystery(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.after(mystery(self.before(x)))
        return y


class Wandering(nn.Module):
    """As many steps as the data say."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(int(x.abs().sum() * 1000) % 17):
            x = x.sin()
        return x.exp()


class Choosing(nn.Module):
    """One of two operators as the data say."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.sin()
        return y.exp() if float(x.detach()[0, 0, 0]) > 0 else y.cos()


class Halving(nn.Module):
    """A shape that no polynomial of the sizes gives."""

    def forward(self, x: Tensor) -> Tensor:
        kept = [1, 2, 4, 3, 1, 5, 2, 7][x.shape[1] % 8]
        return x[:, :kept].exp()


class Square(nn.Module):
    """A double loop: its operators grow with the square of a size."""

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for i in range(x.shape[1]):
            for _ in range(i):
                y = y.sin()
        return y


class Refusing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise ArithmeticError("this never works")


def wandering(*, b: int, n: int, d: int) -> Made:
    return Wandering(), (torch.randn(b, n, d),)


def choosing(*, b: int, n: int, d: int) -> Made:
    return Choosing(), (torch.randn(b, n, d),)


def halving(*, b: int, n: int, d: int) -> Made:
    return Halving(), (torch.randn(b, n, d),)


def square(*, b: int, n: int) -> Made:
    return Square(), (torch.randn(b, n),)


def refusing(*, b: int, n: int) -> Made:
    return Refusing(), (torch.randn(b, n),)


def broken(*, b: int, n: int) -> Made:
    raise KeyError("no such layer")


def unknown(*, b: int, n: int, d: int) -> Made:
    return Mystery(d), (torch.randn(b, n, d),)


def line_of(thing: type, text: str) -> str:
    lines, start = inspect.getsourcelines(thing)
    (number,) = (i for i, line in enumerate(lines) if text in line)
    return f"{HERE}:{start + number}"


@pytest.mark.parametrize(
    ("factory", "operators", "lines"),
    [
        (wandering, {"aten.sin.default", "aten.exp.default"}, ["x = x.sin()", "x.exp()"]),
        (choosing, {"aten.exp.default", "aten.cos.default"}, ["y.exp() if"]),
        (halving, {"aten.exp.default"}, ["x[:, :kept]"]),
        (square, {"aten.sin.default"}, ["y = y.sin()"]),
    ],
)
@pytest.mark.parametrize("mode", ["forward", "train"])
def test_no_closed_form_names_operator_and_line(
    factory: object, operators: set[str], lines: list[str], mode: str
) -> None:
    assert callable(factory)
    module = factory(**dict.fromkeys(inspect.signature(factory).parameters, 3))[0]
    with pytest.raises(DerivationError) as caught:
        costlab.derive(factory, mode=mode)
    assert caught.value.operator in operators
    assert Path(caught.value.where).name in [line_of(type(module), line) for line in lines]
    assert caught.value.operator in str(caught.value)
    assert caught.value.where in str(caught.value)


def test_a_factory_that_raises_is_the_modules_error() -> None:
    with pytest.raises(ModuleError, match="KeyError") as caught:
        costlab.derive(broken)
    assert "no such layer" in str(caught.value)
    assert HERE in str(caught.value)


def test_a_module_that_raises_is_the_modules_error() -> None:
    with pytest.raises(ModuleError, match="ArithmeticError") as caught:
        costlab.derive(refusing)
    assert "this never works" in str(caught.value)
    assert "n=" in caught.value.given


def test_an_operator_without_a_rule_is_a_gap() -> None:
    found = costlab.derive(unknown)
    assert found.gaps == ("costlabtest.mystery.default",)
    assert document(found)["gaps"] == ["costlabtest.mystery.default"]
    # It runs with symbolic sizes, but what is left out is not proved.
    assert found.derived == "verified"
    assert found.proof == ("not proved: no rule for costlabtest.mystery.default",)
    # The two projections alone: nothing is made up for what has no rule.
    cost = found.classes[0].cost
    assert cost["flop"].expr == cost["flop_matmul"].expr == parse("4*b*n*d**2")
    assert "costlabtest.mystery.default" in {op for _, op, _ in found.classes[0].parts}


def test_a_gap_still_counts_in_memory() -> None:
    """Its result is a tensor like any other: two products and it are alive at most in pairs."""
    peak = costlab.derive(unknown).classes[0].cost["peak_bytes"].expr
    assert peak == parse("12*b*n*d + 8*d**2")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"target": "ful_attention"}, UnknownNameError, "full_attention"),
        ({"target": "full_attention", "mode": "backward"}, InputError, "train"),
        ({"target": "full_attention", "backend": "tpu"}, InputError, "cuda"),
        ({"target": "full_attention", "dtype": "int3"}, InputError, "bfloat16"),
        ({"target": "full_attention", "sizes": {"q": 3}}, UnknownNameError, "q"),
        ({"target": "full_attention", "sizes": {"n": 0}}, InputError, "n=0"),
        ({"target": "full_attention", "options": {"caulsal": True}}, InputError, "causal"),
        ({"target": "missing.py:make"}, InputError, "missing.py"),
    ],
)
def test_wrong_input_says_what_is_allowed(
    wrong: dict[str, object], error: type[InputError], said: str
) -> None:
    with pytest.raises(error) as caught:
        costlab.derive(**wrong)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_decode_without_a_state_says_so() -> None:
    with pytest.raises(ModuleError, match="state"):
        costlab.derive(unknown, mode="decode")


def test_sizes_kept_at_a_number() -> None:
    found = costlab.derive(unknown, sizes={"d": 12})
    assert found.sizes == ("b", "n")
    assert found.classes[0].cost["flop"].expr == parse("4*b*n*144")


def test_the_generators_state_is_left_as_it_was() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    costlab.derive(unknown)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_dropout_is_the_modes_business() -> None:
    def factory(*, b: int, d: int) -> Made:
        return nn.Sequential(nn.Linear(d, d), nn.Dropout(0.5)), (torch.randn(b, d),)

    forward, train = (costlab.derive(factory, mode=m) for m in ("forward", "train"))
    assert {op for _, op, _ in forward.classes[0].parts} == {"aten.addmm.default"}
    assert len({op for _, op, _ in train.classes[0].parts}) > 3


def test_half_precision_has_its_own_bytes() -> None:
    def factory(*, b: int, d: int) -> Made:
        return nn.Linear(d, d, bias=False), (torch.randn(b, d),)

    full, half = (costlab.derive(factory, dtype=t) for t in ("float32", "bfloat16"))
    for quantity in ("bytes", "peak_bytes"):
        ours, theirs = (x.classes[0].cost[quantity].expr for x in (half, full))
        assert ours is not None
        assert ours * 2 == theirs


def test_the_math_backend_keeps_scores_in_memory() -> None:
    def factory(*, b: int, n: int, h: int, k: int) -> tuple[object, tuple[Tensor, ...]]:
        q = torch.randn(b, h, n, k)
        return F.scaled_dot_product_attention, (q, torch.randn_like(q), torch.randn_like(q))

    fused, unfused = (costlab.derive(factory, backend=x).classes[0].cost for x in ("cpu", "math"))
    assert fused["flop_matmul"].expr == unfused["flop_matmul"].expr == parse("4*b*h*n**2*k")
    tall = {"b": 2, "h": 4, "k": 8, "n": 4096, "threads": 1}
    small, large = (c["peak_bytes"].expr for c in (fused, unfused))
    assert small is not None
    assert large is not None
    assert large.evaluate(tall) > 4 * 2 * 4 * 4096**2 > small.evaluate(tall)
