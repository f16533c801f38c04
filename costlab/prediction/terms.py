"""Where one term of a formula overtakes all the others together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costlab.algebra import Expr, Func, exact_div
from costlab.errors import AlgebraError, InputError
from costlab.formulas.evaluate import evaluate
from costlab.formulas.record import Derivation
from costlab.formulas.text import candidates
from costlab.i18n import _
from costlab.prediction.grid import METRICS
from costlab.prediction.search import LARGEST, any_size, check_variable
from costlab.prediction.sizes import complete_sizes


@dataclass(frozen=True, slots=True)
class TermTurn:
    """From ``at`` on, the term of the highest power of ``variable`` exceeds all others together.

    ``exact`` is the same as a formula where it has one ("6*d").
    """

    architecture: str
    variable: str
    metric: str
    term: str
    rest: str
    at: float
    exact: str

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "variable": self.variable,
            "metric": self.metric,
            "term": self.term,
            "rest": self.rest,
            "at": self.at,
            "exact": self.exact,
        }


def term_turn(
    derivation: Derivation, over: str, sizes: Mapping[str, int], metric: str = "flop"
) -> TermTurn | None:
    """Where the highest power of ``over`` exceeds the rest; None where it is alone or never does.

    ``metric`` is "flop", "bytes", "memory", or "flop_matmul" for the matrix products alone.

    Raises:
        InputError: for time (its terms are operators, not powers).
    """
    quantities = {**METRICS, "flop_matmul": "flop_matmul"}
    if metric not in quantities or metric == "time":
        allowed = ", ".join(name for name in quantities if name != "time")
        raise InputError(_("terms are powers of a formula"), given=metric, allowed=allowed)
    check_variable(derivation, over)
    quantity = derivation.classes[0].cost.get(quantities[metric])
    if quantity is None or quantity.expr is None:
        return None
    full = complete_sizes(derivation, {over: any_size(derivation, sizes, over), **sizes})
    values = {**full, "threads": 1}
    for candidate in candidates(quantity.expr):
        expr = candidate.subs(dict(derivation.auxiliary))
        turn = _term_turn(derivation, expr, over, values, metric)
        if turn is None:
            continue
        at = {**values, over: turn.at}
        at |= {name: evaluate(e, at) for name, e in derivation.auxiliary.items()}
        if math.isclose(evaluate(candidate, at), evaluate(quantity.expr, at), rel_tol=1e-9):
            return turn
    return None


def _term_turn(
    derivation: Derivation, expr: Expr, over: str, values: Mapping[str, Any], metric: str
) -> TermTurn | None:
    by_power = _powers(expr, over)
    if by_power is None or len(by_power) < 2:
        return None
    top = max(by_power)
    lead, rest = by_power.pop(top), sum(by_power.values(), Expr({}))

    def ahead(value: float) -> bool:
        at = {**values, over: value}
        return bool(evaluate(lead, at) > evaluate(rest, at))

    low, high = 1e-6, float(LARGEST)
    if ahead(low) or not ahead(high):
        return None
    for _step_number in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if ahead(middle) else (middle, high)
    exact = ""
    if len(by_power) == 1 and top - next(iter(by_power)) == 1:
        try:
            exact = str(exact_div(rest * Expr({((over, 1),): 1}), lead))
        except AlgebraError:
            exact = ""
    return TermTurn(derivation.architecture, over, metric, str(lead), str(rest), high, exact)


def _powers(expr: Expr, over: str) -> dict[int, Expr] | None:
    """Terms by their power of ``over``; None where it stands inside a function."""
    found: dict[int, Expr] = {}
    for monomial, coefficient in expr.terms.items():
        power = 0
        for atom, exponent in monomial:
            if atom == over:
                power = exponent
            elif isinstance(atom, Func) and any(over in arg.symbols() for arg in atom.args):
                return None
        found[power] = found.get(power, Expr({})) + Expr({monomial: coefficient})
    return found
