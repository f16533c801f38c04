"""The JSON of ``costlab derive``: every formula with terms, orders and LaTeX, claims compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from costlab.algebra import Expr, Size, as_expr
from costlab.arch.spec import Claim
from costlab.formulas.latex import latex
from costlab.formulas.order import comparable, order, order_in_expr
from costlab.formulas.record import (
    CONVENTION,
    QUANTITIES,
    SCHEMA,
    Condition,
    CostClass,
    Derivation,
    Quantity,
)
from costlab.formulas.simplify import pretty
from costlab.formulas.text import terms
from costlab.i18n import _

_NO_CORE = _("not taken apart, or the module has no part named core")
_MACHINE = ("P_", "t_launch", "t_step", "W", "threads")


def document(
    derivation: Derivation, *, scope: str = "layer", by: str | None = None, latex_too: bool = True
) -> dict[str, Any]:
    """The document that CONTRACT's ``derive`` command prints with ``--json``."""
    main = derivation.classes[0]
    return {
        "schema": SCHEMA,
        "architecture": derivation.architecture,
        "mode": derivation.mode,
        "dtype": derivation.dtype,
        "backend": derivation.backend,
        "options": dict(derivation.options),
        "scope": scope,
        "derived": derivation.derived,
        "rerolled": list(derivation.rerolled),
        "verified_at": [dict(at) for at in main.verified_at],
        "symbols": dict(derivation.symbols),
        "defaults": dict(derivation.defaults),
        "auxiliary": {k: str(v) for k, v in derivation.auxiliary.items()},
        "domain": [str(c) for c in main.domain],
        "gaps": list(derivation.gaps),
        "notes": list(derivation.notes),
        "proof": list(derivation.proof),
        "convention": CONVENTION,
        "cost": cost_document(derivation, main, scope, latex_too),
        "classes": [
            {
                "domain": [str(c) for c in item.domain],
                "verified_at": [dict(at) for at in item.verified_at],
                "cost": cost_document(derivation, item, scope, latex_too),
            }
            for item in derivation.classes[1:]
        ],
        "claims": [claim_document(derivation, claim) for claim in derivation.claims],
        **({"by": by, "parts": parts_document(main, by)} if by else {}),
    }


def cost_document(
    derivation: Derivation, item: CostClass, scope: str, latex_too: bool
) -> dict[str, Any]:
    """Every quantity of one class, layer or core."""
    claims = {
        c.quantity: c for c in derivation.claims if c.scope == scope and _applies(derivation, c)
    }
    found: dict[str, Any] = {}
    for name in (q for q in QUANTITIES if q in item.cost):
        entry = quantity_document(item.cost[name], item.domain, derivation, scope, latex_too)
        claim = claims.get(name)
        if claim is not None:
            entry.update(claim_document(derivation, claim, item))
        found[name] = entry
    return found


def quantity_document(
    quantity: Quantity,
    domain: Sequence[Condition],
    derivation: Derivation,
    scope: str,
    latex_too: bool,
) -> dict[str, Any]:
    """One quantity: ``{expr, terms, order, order_in, core, latex}`` or ``{expr: null, reason}``."""
    expr = quantity.expr if scope == "layer" else quantity.core
    if expr is None:
        return {"expr": None, "reason": quantity.reason or _NO_CORE}
    tied = tie(expr, derivation)
    core = quantity.core
    variables = [s for s in derivation.sizes if s in tied.symbols()]
    return {
        "expr": pretty(expr),
        "terms": terms(expr),
        "order": str(order(tied, tied_domain(domain, derivation), machine_symbols(tied))),
        "order_in": {v: str(order_in_expr(tied, v)) for v in variables},
        "core": pretty(core) if core is not None and scope == "layer" else None,
        **({"latex": latex(expr)} if latex_too else {}),
    }


def tie(expr: Size, derivation: Derivation) -> Expr:
    """``expr`` with sizes that follow from others (hash bits from the length) put in."""
    ties = {k: v for k, v in derivation.auxiliary.items() if k in derivation.sizes}
    return as_expr(expr).subs(ties)


def tied_domain(domain: Sequence[Condition], derivation: Derivation) -> tuple[Condition, ...]:
    """``domain`` for the orders of tied formulas: where a size is d/h, h divides d."""
    found = list(domain)
    for name, expr in derivation.auxiliary.items():
        if name in derivation.sizes and len(expr.terms) == 1:
            ((monomial, _coefficient),) = expr.terms.items()
            powers = {power: atom for atom, power in monomial if isinstance(atom, str)}
            if powers.keys() == {-1, 1}:
                found.append(Condition("divides", powers[-1], powers[1]))
    return tuple(found)


def machine_symbols(expr: Expr) -> frozenset[str]:
    """Symbols of the machine: constants where orders of growth are concerned."""
    return frozenset(s for s in expr.symbols() if s.startswith("P_") or s in _MACHINE)


def _applies(derivation: Derivation, claim: Claim) -> bool:
    return claim.mode == derivation.mode


def claim_document(
    derivation: Derivation, claim: Claim, item: CostClass | None = None
) -> dict[str, Any]:
    """A paper's claim beside the derived order, and whether they agree (null in another mode)."""
    item = item or derivation.classes[0]
    quantity = item.cost[claim.quantity]
    expr = quantity.core if claim.scope == "core" else quantity.expr
    entry: dict[str, Any] = {
        "claim": {
            "quantity": claim.quantity,
            "scope": claim.scope,
            "order": claim.order,
            "variables": list(claim.variables),
            "conditions": list(claim.conditions),
            "source": claim.source,
            "differs": claim.differs,
        },
        "derived_order": None,
        "agrees": None,
    }
    if expr is not None and _applies(derivation, claim):
        domain = tied_domain(item.domain, derivation)
        ours, theirs = comparable(tie(expr, derivation), claim, domain)
        entry["derived_order"] = str(ours)
        entry["agrees"] = ours == theirs
    return entry


def parts_document(item: CostClass, by: str) -> list[dict[str, Any]]:
    """Counted quantities per operator or module; the parts add up to the whole."""
    rows: dict[str, dict[str, Expr]] = {}
    for module, op, row in item.parts:
        key = op if by == "op" else module
        into = rows.setdefault(key, {})
        for name, value in row.items():
            into[name] = into.get(name, as_expr(0)) + value
    return [
        {"name": key, **{name: pretty(value) for name, value in row.items()}}
        for key, row in rows.items()
    ]


def totals_of_parts(item: CostClass) -> Mapping[str, Expr]:
    """The sum of all parts, which equals the class's own totals."""
    found: dict[str, Expr] = {}
    for _module, _op, row in item.parts:
        for name, value in row.items():
            found[name] = found.get(name, as_expr(0)) + value
    return found
