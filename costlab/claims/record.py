"""A claim, its answer, and where answers take their facts from. No torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from costlab.algebra import Expr
from costlab.formulas import store, structure
from costlab.formulas.document import tie
from costlab.formulas.order import order, order_in
from costlab.i18n import _

HOLDS, HOLDS_IF, NOT_HERE, FAILS = "holds", "holds if", "not here", "fails"


class Missing(Exception):
    """What a claim is about is no entry of the catalogue; the text names it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``verdict`` is one of the four above; ``shown`` are the figures that it rests on.

    ``condition`` is what must be true where the verdict is "holds if"; ``by`` tells whether the
    figures are derived, measured on the real module, or a theorem of the named source.
    """

    number: int
    claim: str
    verdict: str
    shown: str
    condition: str = ""
    by: str = "derived"
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data; what does not apply is null."""
        return {
            "number": self.number,
            "claim": self.claim,
            "verdict": self.verdict,
            "shown": self.shown,
            "condition": self.condition or None,
            "by": self.by,
            "source": self.source or None,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """What was found about a claim: whether it is so, and the figures."""

    so: bool
    shown: str
    condition: str = ""


class Facts:
    """The committed formulas and structures; tests put false ones in their place."""

    def formula(
        self, name: str, quantity: str, mode: str = "forward", scope: str = "layer", **options: bool
    ) -> Expr:
        """A quantity of the main class of an entry, in float32 on the CPU.

        Raises:
            Missing: the catalogue has no such entry.
        """
        if name not in store.names():
            raise Missing(_("the catalogue has no {name} yet").format(name=name))
        derivation = store.load(name, mode, options={k: v for k, v in options.items() if v})
        return tie(derivation.expression(quantity, scope), derivation)

    def order(
        self, name: str, quantity: str, mode: str = "forward", scope: str = "layer", **options: bool
    ) -> Expr:
        """The order of growth of a quantity, on the domain of the main class."""
        expr = self.formula(name, quantity, mode, scope, **options)
        return order(expr, store.load(name, mode).classes[0].domain, ("threads",))

    def power(self, name: str, quantity: str, size: str, mode: str = "forward") -> int:
        """The power of ``size`` with which a quantity grows."""
        return order_in(self.formula(name, quantity, mode), size)[0]

    def structure(self, name: str, *options: str) -> structure.Structure:
        """The committed structure of an entry.

        Raises:
            Missing: the catalogue has no such entry.
        """
        if name not in structure.names():
            raise Missing(_("the catalogue has no {name} yet").format(name=name))
        return next(s for s in structure.load(name) if s.options == options)


Check = Callable[[Facts], Found]


@dataclass(frozen=True, slots=True)
class Claim:
    """A line to answer: its number, our wording, the check, and how and by whom it is known."""

    number: int
    text: str
    check: Check
    by: str
    source: str


CLAIMS: dict[int, Claim] = {}


def claim(
    number: int, text: str, by: str = "derived", source: str = ""
) -> Callable[[Check], Check]:
    """Register the check of a claim."""

    def register(check: Check) -> Check:
        assert number not in CLAIMS
        CLAIMS[number] = Claim(number, text, check, by, source)
        return check

    return register


def answer(item: Claim, facts: Facts) -> Answer:
    """Check one claim now."""
    try:
        found = item.check(facts)
    except Missing as reason:
        return Answer(item.number, item.text, NOT_HERE, str(reason), source=item.source)
    verdict = FAILS
    if found.so:
        verdict = HOLDS_IF if found.condition else HOLDS
    return Answer(
        item.number, item.text, verdict, found.shown, found.condition, item.by, item.source
    )
