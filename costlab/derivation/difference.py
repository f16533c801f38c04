"""The symbolic difference of two derivations: which terms came, went, or changed their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from costlab.algebra import Coefficient, Expr, Func, Monomial
from costlab.formulas.record import QUANTITIES, Derivation
from costlab.i18n import _


@dataclass(frozen=True, slots=True)
class Term:
    """A product of symbol powers and its coefficient in either formula (0 where it is absent)."""

    monomial: Monomial
    a: Coefficient
    b: Coefficient

    def side(self, which: str) -> Expr:
        """The term as it stands in formula ``a`` or ``b``."""
        return Expr({self.monomial: self.a if which == "a" else self.b})


@dataclass(frozen=True, slots=True)
class QuantityDifference:
    """How one quantity differs between two programs.

    A formula that is the larger of several has one *alternative* for each: those that only one
    program has are listed whole. Terms are compared one by one where both formulas are plain
    sums, or where exactly one alternative of each is left after the equal ones are set aside.
    ``reason`` says why there is nothing to compare.
    """

    quantity: str
    a: Expr | None
    b: Expr | None
    only_a: tuple[Term, ...] = ()
    only_b: tuple[Term, ...] = ()
    changed: tuple[Term, ...] = ()
    alternatives_only_a: tuple[Expr, ...] = ()
    alternatives_only_b: tuple[Expr, ...] = ()
    reason: str = ""

    @property
    def equal(self) -> bool:
        """Whether both formulas are known and the same."""
        return self.a is not None and self.a == self.b


def difference(a: Derivation, b: Derivation) -> tuple[QuantityDifference, ...]:
    """Compare the main classes of ``a`` and ``b``, in the order of ``QUANTITIES``.

    Auxiliary symbols (``k`` for ``d/h``) are replaced first, so that both speak of the same
    sizes. A quantity that neither derivation has is left out.
    """
    return tuple(_compare(a, b))


def lines(differences: tuple[QuantityDifference, ...]) -> Iterator[str]:
    """The differences as text: ``-`` for a's terms, ``+`` for b's, ``~`` for changed ones."""
    for one in differences:
        if one.reason:
            yield f"{one.quantity}: {one.reason}"
            continue
        if one.equal:
            yield f"{one.quantity}: " + _("equal")
            continue
        yield f"{one.quantity}:"
        for alternative in one.alternatives_only_a:
            yield f"  - {alternative}"
        for alternative in one.alternatives_only_b:
            yield f"  + {alternative}"
        for term in one.only_a:
            yield f"  - {term.side('a')}"
        for term in one.only_b:
            yield f"  + {term.side('b')}"
        for term in one.changed:
            yield f"  ~ {term.side('a')} -> {term.side('b')}"


def _compare(a: Derivation, b: Derivation) -> Iterator[QuantityDifference]:
    for quantity in QUANTITIES:
        sides = [d.classes[0].cost.get(quantity) for d in (a, b)]
        if sides[0] is None and sides[1] is None:
            continue
        exprs = [
            None if side is None or side.expr is None else side.expr.subs(derivation.auxiliary)
            for side, derivation in zip(sides, (a, b), strict=True)
        ]
        reasons = [
            f"{derivation.architecture}: " + ((side.reason if side else "") or _("no closed form"))
            for side, derivation, expr in zip(sides, (a, b), exprs, strict=True)
            if expr is None
        ]
        left, right = exprs
        if left is None or right is None:
            yield QuantityDifference(quantity, left, right, reason="; ".join(reasons))
        else:
            yield _terms(quantity, left, right)


def _terms(quantity: str, a: Expr, b: Expr) -> QuantityDifference:
    """Term by term if a single alternative is left on both sides, else whole alternatives."""
    in_a, in_b = _alternatives(a), _alternatives(b)
    left = [x for x in in_a if x not in in_b]
    right = [x for x in in_b if x not in in_a]
    if len(left) != 1 or len(right) != 1:
        return QuantityDifference(
            quantity, a, b, alternatives_only_a=tuple(left), alternatives_only_b=tuple(right)
        )
    here, there = left[0].terms, right[0].terms
    terms = [Term(m, here.get(m, 0), there.get(m, 0)) for m in {**here, **there}]
    return QuantityDifference(
        quantity,
        a,
        b,
        only_a=tuple(term for term in terms if term.b == 0),
        only_b=tuple(term for term in terms if term.a == 0),
        changed=tuple(term for term in terms if term.a and term.b and term.a != term.b),
    )


def _alternatives(expr: Expr) -> tuple[Expr, ...]:
    """The sums of which ``expr`` is the larger; itself if it is a plain sum."""
    for monomial, coefficient in expr:
        match monomial:
            case ((Func(name="Max", args=args), 1),) if coefficient == 1:
                rest = expr - Expr({monomial: 1})
                return tuple(found for arg in args for found in _alternatives(arg + rest))
    return (expr,)
