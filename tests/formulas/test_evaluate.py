"""Formulas at numbers and at arrays, the right class chosen for each size."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.algebra import Expr, Size, as_expr, symbol
from costlab.arch.spec import Claim
from costlab.errors import AlgebraError, InputError, SizeError
from costlab.formulas.evaluate import evaluate, evaluate_together
from costlab.formulas.record import Condition, CostClass, Derivation, Quantity

n, w = symbol("n"), symbol("w")


def _class(domain: tuple[Condition, ...], flop: Expr) -> CostClass:
    return CostClass(
        domain,
        {
            "flop": Quantity(flop, core=flop),
            "state_bytes": Quantity(None, None, "this mode carries no state"),
            "time": Quantity(flop / symbol("P_matmul")),
        },
        (),
        (),
    )


@pytest.fixture
def derivation() -> Derivation:
    """2nw where w divides n, 3nw where it does not; nothing below n = 4."""
    enough = Condition(">=", "n", 4)
    return Derivation(
        "window", "forward", "float32", "cpu", "verified",
        (
            _class((Condition("divides", "w", "n"), enough), 2 * n * w),
            _class((Condition("not divides", "w", "n"), enough), 3 * n * w),
        ),
        {"n": "", "w": ""},
        ("n", "w"),
        defaults={"w": 3},
        claims=(Claim("flop", "core", "n*w", "nobody"),),
    )  # fmt: skip


def test_numbers_are_exact(derivation: Derivation) -> None:
    assert derivation.evaluate("flop", n=3 * 10**18, w=3) == {"flop": 18 * 10**18}


def test_arrays_take_each_size_in_its_class(derivation: Derivation) -> None:
    found = derivation.evaluate("flop", n=np.array([3, 6, 7, 9]))["flop"]

    np.testing.assert_array_equal(found, [np.nan, 36, 63, 54])


def test_several_sizes_together_equal_each_alone() -> None:
    sizes: tuple[Size, ...] = (7, as_expr(5), 2 * n * w, n + 3, 2 * n * w)
    values = {"n": np.array([[6.0], [7.0]]), "w": np.array([2, 3])}

    found = evaluate_together(sizes, values)

    assert found[:2] == [7, 5]
    for value, size in zip(found, sizes, strict=True):
        np.testing.assert_array_equal(value, np.broadcast_to(evaluate(size, values), (2, 2)))


def test_several_sizes_at_numbers_are_exact() -> None:
    assert evaluate_together((n * w, as_expr(1)), {"n": 10**18, "w": 3}) == [3 * 10**18, 1]
    with pytest.raises(AlgebraError, match="w"):
        evaluate_together((n, w), {"n": 2})


def test_two_arrays_broadcast(derivation: Derivation) -> None:
    lengths, windows = np.array([[6], [7]]), np.array([2, 3])
    found = derivation.evaluate("flop", n=lengths, w=windows)["flop"]

    np.testing.assert_array_equal(found, [[24, 36], [42, 63]])


def test_time_takes_the_machine_as_sizes(derivation: Derivation) -> None:
    assert derivation.evaluate("time", n=6, P_matmul=4)["time"] == 9


def test_without_names_all_that_needs_no_machine(derivation: Derivation) -> None:
    assert derivation.evaluate(n=6) == {"flop": 36}


def test_outside_every_domain(derivation: Derivation) -> None:
    with pytest.raises(SizeError, match="n >= 4"):
        derivation.evaluate("flop", n=3)


def test_no_closed_form(derivation: Derivation) -> None:
    with pytest.raises(InputError, match="carries no state"):
        derivation.evaluate("state_bytes", n=6)


def test_order_latex_and_document(derivation: Derivation) -> None:
    assert str(derivation.order("flop")) == "n*w"
    assert derivation.latex("flop", "core") == "2 n w"
    assert derivation.to_json()["claims"][0]["agrees"] is True
