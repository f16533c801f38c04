"""Completes and checks the sizes of a request against what the formulas hold for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, symbol
from costlab.errors import SizeError
from costlab.formulas.evaluate import class_index, complete_arrays, evaluate
from costlab.formulas.identity import cached_by_identity
from costlab.formulas.record import CostClass, Derivation
from costlab.i18n import _

_SEARCH, _DIVISORS = 1 << 16, 1 << 12  # how far to look for the nearest allowed value


def known_sizes(derivation: Derivation) -> set[str]:
    """Names of the sizes that the program can be given."""
    return {*derivation.sizes, *_auxiliary(derivation)}


def complete_sizes(derivation: Derivation, given: Mapping[str, int]) -> dict[str, int]:
    """``given`` with defaults and auxiliary symbols filled in.

    An auxiliary symbol may be given instead of one it is made of (``k`` instead of ``h`` or
    ``d``); a contradiction is an error that names all of them. Where the module takes it as a
    size of its own (a feed-forward width), it is only a default, and what is given stands.

    Raises:
        SizeError: for an unknown symbol, a size that is no positive integer, a missing one, a
            contradiction, or an auxiliary that is no integer.
    """
    auxiliary = _auxiliary(derivation)
    known = known_sizes(derivation)
    for name, value in given.items():
        if name not in known:
            raise SizeError(
                _("{architecture} has no size of this name").format(
                    architecture=derivation.architecture
                ),
                given=f"{name}={value}",
                allowed=", ".join([*derivation.sizes, *auxiliary]),
            )
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SizeError(
                _("a size is a positive integer"), given=f"{name}={value}", allowed=f"{name} >= 1"
            )
    sizes = dict(given)
    for name, expr in auxiliary.items():
        if name in given and not (name in derivation.sizes and _is_default(expr, given)):
            _solve_auxiliary(derivation, name, expr, sizes)
    full = {**derivation.defaults, **sizes}
    missing = [name for name in derivation.sizes if name not in full]
    if missing:
        raise SizeError(
            _("a size is missing"),
            given=_join(given) or _("nothing"),
            advice=_("add {missing}").format(missing=" ".join(f"{name}=.." for name in missing)),
        )
    for name, expr in auxiliary.items():
        if name in sizes:
            continue
        result = Fraction(expr.evaluate(full))
        if result.denominator != 1 or result < 1:
            raise _not_whole(name, expr, full)
        full[name] = int(result)
    return full


def _is_default(expr: Expr, given: Mapping[str, int]) -> bool:
    """Whether a size of the module's own leaves nothing to solve that it could be made of."""
    product = len(expr.terms) == 1 and all(isinstance(atom, str) for atom in expr.atoms())
    return not product or given.keys() >= expr.symbols()


@cached_by_identity(512)
def _auxiliary(derivation: Derivation) -> Mapping[str, Expr]:
    """The derivation's auxiliary symbols, and the head size of anything that has heads."""
    found = dict(derivation.auxiliary)
    if {"h", "d"} <= set(derivation.sizes) and "k" not in derivation.sizes:
        found.setdefault("k", symbol("d") / symbol("h"))
    return found


def select_class(derivation: Derivation, sizes: Mapping[str, int]) -> CostClass:
    """The class that holds at ``sizes``.

    Raises:
        SizeError: if none does; says what the nearest class asks for and the nearest sizes.
    """
    for candidate in derivation.classes:
        if candidate.holds(sizes):
            return candidate
    failing = min(
        (
            [condition for condition in candidate.domain if not condition.holds(sizes)]
            for candidate in derivation.classes
        ),
        key=len,
    )
    names = dict.fromkeys(
        name
        for condition in failing
        for name in (condition.left, condition.right)
        if isinstance(name, str) and name in derivation.sizes
    )
    nearest = [text for name in names if (text := _nearest(derivation, sizes, name))]
    raise SizeError(
        _("{architecture} has no formula for these sizes").format(
            architecture=derivation.architecture
        ),
        given=_join({name: sizes[name] for name in derivation.sizes if name in sizes}),
        allowed=", ".join(map(str, failing)),
        advice=_("nearest: {sizes}").format(sizes="; ".join(nearest)) if nearest else "",
    )


def _solve_auxiliary(derivation: Derivation, name: str, expr: Expr, sizes: dict[str, int]) -> None:
    """Turn a given auxiliary (k = d/h) into the size it leaves open, or check it."""
    value = sizes.pop(name)
    parts = [part for part in derivation.sizes if part in expr.symbols()]
    free = [part for part in parts if part not in sizes]
    if not free:
        if expr.evaluate({**derivation.defaults, **sizes}) != value:
            raise SizeError(
                _("sizes contradict each other"),
                given=_join({**{part: sizes[part] for part in parts}, name: value}),
                allowed=f"{name} = {expr}",
                advice=_("give two of them"),
            )
        return
    # The size without a default is the open one; with several, the last to have a default gives.
    open_symbol = next((s for s in free if s not in derivation.defaults), free[0])
    rest = {**derivation.defaults, **sizes}
    missing = [s for s in parts if s != open_symbol and s not in rest]
    if missing:
        raise SizeError(
            _("sizes leave more than one open"),
            given=_join({**sizes, name: value}),
            allowed=f"{name} = {expr}",
            advice=_("add {missing}").format(missing=" ".join(f"{s}=.." for s in missing)),
        )
    solution = _solve_monomial(expr, open_symbol, rest, value)
    if solution is None or solution.denominator != 1 or solution < 1:
        raise _not_whole(open_symbol, expr, {**rest, name: value})
    sizes[open_symbol] = int(solution)


def _solve_monomial(expr: Expr, name: str, sizes: Mapping[str, int], value: int) -> Fraction | None:
    """Solve ``expr == value`` for ``name`` where expr is one term linear in it or its inverse."""
    if len(expr.terms) != 1:
        return None
    ((monomial, _coefficient),) = expr.terms.items()
    power = dict(monomial).get(name, 0)
    unit = Fraction(expr.evaluate({**sizes, name: 1}))
    if power == 1:
        return Fraction(value) / unit
    if power == -1:
        return unit / value
    return None


def _not_whole(name: str, expr: Expr, sizes: Mapping[str, int]) -> SizeError:
    involved = {part: sizes[part] for part in sorted(expr.symbols()) if part in sizes}
    return SizeError(
        _("{name} would not be a positive integer").format(name=name),
        given=_join(involved),
        allowed=_("values that make {expr} an integer").format(expr=expr),
        advice=_nearest_divisor(expr, involved),
    )


def _nearest_divisor(expr: Expr, sizes: Mapping[str, int]) -> str:
    """Nearest values of each symbol alone that make ``expr`` a positive integer."""
    found: list[str] = []
    for name, start in sizes.items():
        tried = _around(start, _DIVISORS)
        result = evaluate(expr, {**sizes, name: tried})
        allowed = tried[(result == np.floor(result)) & (result >= 1)]
        if sides := _beside(allowed, start):
            found.append(f"{name}={','.join(sides)}")
    return _("nearest: {sizes}").format(sizes="; ".join(found)) if found else ""


def _nearest(derivation: Derivation, sizes: Mapping[str, int], name: str) -> str:
    """Allowed values of ``name`` next to the one given, all else equal, as text."""
    tried = _around(sizes[name], _SEARCH)
    own = {k: v for k, v in sizes.items() if k not in derivation.auxiliary}
    full = complete_arrays(derivation, {**own, name: tried})
    allowed = tried[np.broadcast_to(class_index(derivation, full), tried.shape) >= 0]
    sides = _beside(allowed, sizes[name])
    return f"{name}={_(' or ').join(sides)}" if sides else ""


def _around(start: int, distance: int) -> NDArray[np.float64]:
    return np.arange(max(start - distance, 1), start + distance, dtype=float)


def _beside(allowed: NDArray[np.float64], start: int) -> list[str]:
    """The values next to ``start`` below and above, as far as there are any."""
    sides = (*allowed[allowed < start][-1:], *allowed[allowed > start][:1])
    return [str(int(value)) for value in sides]


def _join(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())
