"""Orders, the paper's claims and other classes of a formula: exact, and slower than a frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from costlab.algebra import Expr
from costlab.errors import CostLabError
from costlab.formulas.document import claim_document, machine_symbols, tie, tied_domain
from costlab.formulas.order import order, order_in_expr
from costlab.formulas.plain import formula
from costlab.formulas.text import candidates, parse
from costlab.i18n import _
from costlab_gui.model.formula import expression, shown_class
from costlab_gui.model.place import Place, Same
from costlab_gui.model.terms import split, summed
from costlab_gui.model.wording import conditions

_ORDERED = ("flop", "flop_matmul", "flop_useful", "peak_bytes", "saved_bytes", "state_bytes",
            "steps", "bytes", "launches", "parameters", "peak_bytes_step")  # fmt: skip
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Verdict:
    """A paper's claim beside what was derived; ``agrees`` is None where it speaks of other modes.

    ``short`` is for a card, ``text`` says all of it.
    """

    agrees: bool | None
    short: str
    text: str
    scope: str


@dataclass(frozen=True, slots=True)
class OtherClass:
    """Another class of the program: where it holds, its formula, and whether it holds now."""

    domain: str
    formula: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What is true of a formula at all sizes of its class.

    Attributes:
        order: leading terms without coefficients, "" where the quantity has none.
        order_in: by size, the highest power of it.
        verdicts: claims of the paper about this quantity, those of the shown scope first.
        classes: every class with its formula, in the order they are tried.
    """

    order: str
    order_in: Mapping[str, str]
    verdicts: tuple[Verdict, ...]
    classes: tuple[OtherClass, ...]


def key(place: Place, quantity: str, scope: str) -> Hashable:
    """Equal where :func:`facts` are."""
    return (Same(place.derivation), place.index, quantity, scope)


def facts(place: Place, quantity: str, scope: str) -> Facts:
    """All facts; takes up to a second for a large maximum, so call it in a thread."""
    expr, _reason = expression(place, quantity, scope)
    derivation = place.derivation
    leading, powers = "", {}
    if expr is not None and quantity in _ORDERED:
        tied = tie(expr, derivation)
        domain = tied_domain(shown_class(place, quantity, scope).domain, derivation)
        leading = summed(split(order(tied, domain, machine_symbols(tied))))
        powers = {
            name: summed(split(order_in_expr(tied, name)))
            for name in derivation.sizes
            if name in tied.symbols()
        }
    return Facts(
        leading, powers, _verdicts(place, quantity, scope), _classes(place, quantity, scope)
    )


def _verdicts(place: Place, quantity: str, scope: str) -> tuple[Verdict, ...]:
    found = []
    for claim in place.derivation.claims:
        if claim.quantity != quantity:
            continue
        try:
            entry = claim_document(place.derivation, claim)
        except CostLabError:
            continue
        found.append(_verdict(entry))
    return tuple(sorted(found, key=lambda verdict: verdict.scope != scope))


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    claim, agrees = entry["claim"], entry["agrees"]
    claimed = summed(split(parse(claim["order"])))
    scope = _("core") if claim["scope"] == "core" else _("layer")
    text = _("{scope}: of order {order}").format(scope=scope, order=claimed)
    if claim["variables"]:
        text += _(" in {names}").format(names=", ".join(claim["variables"]))
    if claim["conditions"]:
        text += _(" ({conditions})").format(conditions=", ".join(claim["conditions"]))
    text += f". {claim['source']}"
    if agrees is None:
        short = _("the paper speaks of another mode")
    elif agrees:
        short = (
            _("agrees with the paper") if scope == _("layer") else _("core agrees with the paper")
        )
    else:
        derived = summed(split(parse(entry["derived_order"])))
        short = _("differs from the paper: derived {derived}, claimed {claimed}").format(
            derived=derived, claimed=claimed
        )
        text += _(" Derived: {derived}.").format(derived=derived)
        text += f" {claim['differs']}" if claim["differs"] else ""
    return Verdict(agrees, short, text, claim["scope"])


def _classes(place: Place, quantity: str, scope: str) -> tuple[OtherClass, ...]:
    found = []
    for index, item in enumerate(place.derivation.classes):
        entry = item.cost.get(quantity)
        expr = None if entry is None else entry.expr if scope == "layer" else entry.core
        holds = index == place.index and not place.problem
        found.append(OtherClass(conditions(item.domain), _short(expr), holds))
    return tuple(found)


def _short(expr: Expr | None) -> str:
    if expr is None:
        return _("no formula")
    several = candidates(expr)
    if len(several) > 3:
        return _("the largest of {count} moments").format(count=len(several))
    if len(expr.terms) > 40:
        return _("a sum of {count} terms").format(count=len(expr.terms))
    text = formula(expr)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
