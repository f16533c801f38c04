"""Every answer rests on the facts it names: false ones turn it over."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from costlab.algebra import Expr, symbol
from costlab.claims.api import answers
from costlab.claims.record import CLAIMS, FAILS, HOLDS, HOLDS_IF, NOT_HERE, Facts
from costlab.cli.__main__ import main
from costlab.errors import InputError
from costlab.formulas.structure import Structure

ARITHMETIC = {24, 35, 30}  # of graphs, number formats and links: nothing of the catalogue


class _False(Facts):
    """The true facts, but for one: the ``at``-th asked for grows as another power."""

    def __init__(self, at: int) -> None:
        self.at, self.asked = at, 0

    def _is_wrong(self) -> bool:
        self.asked += 1
        return self.asked - 1 == self.at

    def formula(self, name: str, quantity: str, *args: Any, **options: Any) -> Expr:
        found = super().formula(name, quantity, *args, **options)
        factor = symbol("n") ** 3 * symbol("d") ** 2
        return found * factor if self._is_wrong() else found

    def structure(self, name: str, *options: str) -> Structure:
        found = super().structure(name, *options)
        if not self._is_wrong():
            return found
        alone = tuple(
            replace(p, rows=tuple(tuple(i == j for j in range(len(p.rows))) for i in
                                  range(len(p.rows))))
            for p in found.patterns
        )  # fmt: skip
        other = "1" if found.chain_order == "n" else "n"
        chains = tuple((n, n**2 if other == "n" else 7) for n, _chain in found.chains)
        flat = {k: tuple((at, 0.05) for at, _share in c) for k, c in found.gradients.items()}
        return replace(found, patterns=alone, chains=chains, gradients=flat)


def test_all_41_are_answered_and_none_fails() -> None:
    found = answers()

    assert [a.number for a in found] == list(range(1, 42))
    assert {a.verdict for a in found} <= {HOLDS, HOLDS_IF, NOT_HERE}
    for item in found:
        assert item.shown
        assert (item.verdict == HOLDS_IF) == bool(item.condition)


@pytest.mark.parametrize(
    "number", [a.number for a in answers() if a.verdict != NOT_HERE and a.number not in ARITHMETIC]
)
def test_a_false_fact_turns_an_answer(number: int) -> None:
    """Whichever of the facts is false, unless the claim only shows it beside another."""
    truth = _False(-1)
    answers([number], truth)
    assert truth.asked

    turned = [answers([number], _False(at))[0].verdict == FAILS for at in range(truth.asked)]

    assert any(turned)
    # Of two ceilings the lower may fall further.
    assert turned[0] or number == 19, "the first fact of a claim is what it is about"


def test_what_is_not_in_the_catalogue_is_said() -> None:
    class Empty(Facts):
        def formula(self, name: str, quantity: str, *args: Any, **options: Any) -> Expr:
            return super().formula("no_" + name, quantity, *args, **options)

    (found,) = answers([14], Empty())

    assert (found.verdict, found.shown) == (NOT_HERE, "the catalogue has no no_full_attention yet")


def test_unknown_number() -> None:
    with pytest.raises(InputError, match="1 - 41"):
        answers([42])


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "14", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["claims"]
    assert (entry["number"], entry["verdict"]) == (14, HOLDS)
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    assert all(f"{number:>2} " in text for number in CLAIMS)
