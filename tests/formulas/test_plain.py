"""Formulas as a person writes them."""

from __future__ import annotations

import random

import pytest

from costlab.formulas.plain import formula, wrapped
from costlab.formulas.text import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("7", "7"),
        ("24*b*d**2*n + 4*b*d*n**2", "4·b·d·n·(6·d + n)"),
        ("d/h/2", "d/(2·h)"),
        ("n*log(n, 2)/3", "n·log₂(n)/3"),
        ("ceiling(n/w)**12", "ceiling(n/w)¹²"),
        ("1/n", "1/n"),
    ],
)
def test_formula(text: str, expected: str) -> None:
    assert formula(parse(text)) == expected


def test_a_long_sum_breaks_at_signs() -> None:
    text = wrapped(parse(" + ".join(f"{i}*n**{i}*x{i}" for i in range(2, 20))), 60, 8)

    first, *others = text.split("\n")
    assert others
    assert len(first) <= 60 - 8
    for line in others:
        assert line.startswith(" " * 8)
        assert len(line) <= 60
    assert " ".join(text.split()) == formula(
        parse(" + ".join(f"{i}*n**{i}*x{i}" for i in range(2, 20)))
    )


def test_a_long_maximum_has_a_line_for_each_candidate() -> None:
    candidates = [f"{i}*b*n*d + {100 - i}*d**2*x{i}" for i in range(3, 8)]

    text = wrapped(parse(f"Max({', '.join(candidates)})"), 60, 4)

    assert text.count("\n") == len(candidates) - 1


def test_text_has_the_value_of_the_formula(seed: int) -> None:
    """Read back with Python's own operators, the text gives the same number."""
    rng = random.Random(seed)
    names = ["b", "n", "d"]
    digits = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    for _ in range(20):
        terms = [
            f"{rng.choice('+-')} {rng.randint(1, 99)}*"
            + "*".join(f"{name}**{rng.randint(1, 3)}" for name in rng.sample(names, 2))
            for _term in range(rng.randint(2, 6))
        ]
        expr = parse(" ".join(terms).removeprefix("+ "))
        sizes = {name: rng.randint(2, 40) for name in names}
        text = formula(expr).replace("·", "*")
        for raised in "²³⁴⁵⁶⁷⁸⁹":
            text = text.replace(raised, f"**{raised.translate(digits)}")

        assert eval(text, {"__builtins__": {}}, sizes) == expr.evaluate(sizes)
