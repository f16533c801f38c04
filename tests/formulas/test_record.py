"""Conditions and classes: which formula holds at which sizes."""

from __future__ import annotations

import pytest

from costlab.algebra import symbol
from costlab.errors import InputError, SizeError
from costlab.formulas.record import Condition, CostClass, Derivation, Quantity

n, w = symbol("n"), symbol("w")


@pytest.mark.parametrize(
    ("condition", "text", "inside", "outside"),
    [
        (Condition("divides", "w", "n"), "w divides n", {"n": 12, "w": 4}, {"n": 12, "w": 5}),
        (
            Condition("not divides", "w", "n"), "w does not divide n",
            {"n": 12, "w": 5}, {"n": 12, "w": 4},
        ),
        (Condition(">=", "n", 2), "n >= 2", {"n": 2}, {"n": 1}),
        (Condition("<=", "w", "n"), "w <= n", {"w": 3, "n": 3}, {"w": 4, "n": 3}),
        (Condition("==", "b", 1), "b == 1", {"b": 1}, {"b": 2}),
        (Condition(">=", "n/w", 2), "n/w >= 2", {"n": 8, "w": 4}, {"n": 4, "w": 4}),
    ],
)  # fmt: skip
def test_conditions(
    condition: Condition, text: str, inside: dict[str, int], outside: dict[str, int]
) -> None:
    assert str(condition) == text
    assert condition.holds(inside)
    assert not condition.holds(outside)


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="near"):
        Condition("near", "w", "n").holds({"w": 1, "n": 2})


def made(*domains: tuple[Condition, ...]) -> Derivation:
    classes = tuple(
        CostClass(domain, {"flop": Quantity(n * w + i), "time": Quantity(None, None, "no rate")},
                  (), ())
        for i, domain in enumerate(domains)
    )  # fmt: skip
    return Derivation(
        "window", "forward", "float32", "cpu", "verified", classes, {}, ("n", "w", "h", "d"),
        defaults={"h": 4, "d": 32}, auxiliary={"k": symbol("d") / symbol("h")},
    )  # fmt: skip


EVEN, UNEVEN = (Condition("divides", "w", "n"),), (Condition("not divides", "w", "n"),)


def test_the_first_class_that_holds_is_selected() -> None:
    found = made(EVEN, UNEVEN)
    assert found.select({"n": 12, "w": 4}) is found.classes[0]
    assert found.select({"n": 12, "w": 5}) is found.classes[1]
    overlapping = made((Condition(">=", "n", 2),), ())
    assert overlapping.select({"n": 5, "w": 1}) is overlapping.classes[0]
    assert overlapping.select({"n": 1, "w": 1}) is overlapping.classes[1]


def test_sizes_of_no_class_name_the_domains() -> None:
    with pytest.raises(SizeError) as caught:
        made(EVEN, (Condition(">=", "n", 100),)).select({"n": 12, "w": 5})
    assert "n=12, w=5" in str(caught.value)
    assert "w divides n or n >= 100" in str(caught.value)


def test_complete_fills_defaults_and_auxiliary_sizes() -> None:
    found = made(())
    assert found.complete({"n": 8, "w": 2}) == {"h": 4, "d": 32, "n": 8, "w": 2, "k": 8}
    assert found.complete({"n": 8, "w": 2, "d": 64})["k"] == 16
    assert found.complete({"n": 8, "w": 2, "k": 5})["k"] == 5


def test_a_quantity_without_closed_form_gives_its_reason() -> None:
    found = made(())
    assert found.expression("flop") == n * w
    with pytest.raises(InputError, match="no rate"):
        found.expression("time")
