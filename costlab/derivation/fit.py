"""Fits integers seen at several sizes by exact polynomials of the sizes.

Candidates are tried from the simplest up: a constant, one monomial, sums of two and three
monomials. Every candidate must reproduce every point exactly, so a fit with t terms on m points
is checked m - t times over; where nothing fits the answer is None, never an approximation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Monomial, Number, Size

_SINGLE_DEGREE = 6
_PAIR_DEGREE = 3
_TRIPLE_DEGREE = 2
_SEARCH_POINTS = 24
_DENSE_POINTS = 9  # distinct points for six unknowns

_Basis = tuple[Sequence[Monomial], NDArray[np.float64]]  # values at the points, a row for each


class Fitter:
    """Fits value vectors over fixed ``points`` (one mapping of sizes per value); memoised.

    ``known`` expressions are tried before the search: those of a program much like this one.
    """

    def __init__(
        self,
        points: Sequence[Mapping[str, int]],
        names: Sequence[str],
        known: Iterable[Expr] = (),
    ) -> None:
        self.points = list(points)
        self.names = [n for n in names if len({p[n] for p in points}) > 1]
        # The search looks at some points only; a candidate must then reproduce them all.
        step = max(1, len(self.points) // _SEARCH_POINTS)
        self._chosen = range(0, len(self.points), step)
        searched = [self.points[i] for i in self._chosen]
        self._count = len(searched)
        self._columns = {
            n: np.array([p[n] for p in searched], dtype=np.float64) for n in self.names
        }
        self._cache: dict[tuple[int, ...], Expr | None] = {}
        self._evaluated: dict[Expr, tuple[Number, ...]] = {}
        for expr in known:
            found = self._values(expr)
            if all(type(value) is int for value in found):
                self._cache.setdefault(found, expr)  # type: ignore[arg-type]

    @cached_property
    def _single(self) -> _Basis:
        return self._basis(_SINGLE_DEGREE, max_power=3)

    @cached_property
    def _pair(self) -> _Basis:
        return self._basis(_PAIR_DEGREE, max_power=2)

    @cached_property
    def _triple(self) -> _Basis:
        return self._basis(_TRIPLE_DEGREE, max_power=2)

    def _basis(self, degree: int, max_power: int) -> _Basis:
        monomials, powers = _monomials(tuple(self.names), degree, max_power)
        rows = np.ones((len(monomials), self._count))
        for i, name in enumerate(self.names):
            table = self._columns[name] ** np.arange(max_power + 1)[:, None]
            rows *= table[powers[:, i]]
        return monomials, rows

    def found(self) -> Iterator[Expr]:
        """Every expression that was fitted or learned."""
        return (expr for expr in self._cache.values() if expr is not None)

    def recall(self, values: Sequence[int]) -> Size | None:
        """What :meth:`fit` gives where that takes no search."""
        first = values[0]
        return first if all(v == first for v in values) else self._cache.get(tuple(values))

    def fit(self, values: Sequence[int]) -> Size | None:
        """The simplest exact polynomial through ``values``, or None."""
        first = values[0]
        if all(v == first for v in values):
            return first
        key = tuple(values)
        if key not in self._cache:
            self._cache[key] = self._search(key)
        return self._cache[key]

    def learn(self, expr: Size) -> None:
        """Remember ``expr`` for values that no polynomial gives (a kernel's own block sizes)."""
        if isinstance(expr, Expr):
            values = self._values(expr)
            self._cache[tuple(int(v) for v in values)] = expr

    def recognise(self, expr: Size) -> None:
        """Take ``expr`` for its values where nothing has been found for them yet."""
        if isinstance(expr, Expr):
            self._cache.setdefault(self._values(expr), expr)  # type: ignore[arg-type]

    def matches(self, expr: Size, values: Sequence[int]) -> bool:
        """Whether ``expr`` equals every value at its point."""
        if isinstance(expr, int):
            return all(v == expr for v in values)
        return self._values(expr) == tuple(values)

    def _values(self, expr: Expr) -> tuple[Number, ...]:
        """The expression at every point; remembered, since dimensions recur."""
        found = self._evaluated.get(expr)
        if found is None:
            found = tuple(expr.evaluate(p) for p in self.points)
            self._evaluated[expr] = found
        return found

    def _search(self, values: tuple[int, ...]) -> Expr | None:
        vector = np.array([values[i] for i in self._chosen], dtype=np.float64)
        for candidate in itertools.chain(self._one(vector), self._two(vector), self._three(vector)):
            if candidate is not None and self.matches(candidate, values):
                return candidate
        return None

    def _one(self, vector: NDArray[np.float64]) -> Iterator[Expr | None]:
        monomials, rows = self._single
        crossed = rows * vector[0] - rows[:, :1] * vector
        scale = np.abs(rows * vector[0]).max(axis=1) + 1
        for i in np.flatnonzero(np.abs(crossed).max(axis=1) <= 1e-9 * scale):
            yield Expr({monomials[int(i)]: Fraction(int(vector[0]), int(rows[i, 0]))})

    def _two(self, vector: NDArray[np.float64]) -> Iterator[Expr | None]:
        monomials, rows = self._pair
        i, j = _pairs(len(monomials))
        yield from self._combination(vector, monomials, rows, np.stack([i, j], axis=1))

    def _three(self, vector: NDArray[np.float64]) -> Iterator[Expr | None]:
        monomials, rows = self._triple
        combos = np.array(list(itertools.combinations(range(len(monomials)), 3)))
        if self._count >= 5 and len(combos):
            yield from self._combination(vector, monomials, rows, combos)

    def _combination(
        self,
        vector: NDArray[np.float64],
        monomials: Sequence[Monomial],
        rows: NDArray[np.float64],
        combos: NDArray[np.int64],
    ) -> Iterator[Expr | None]:
        """Combinations whose least-squares residual vanishes, small coefficients first."""
        if not len(combos):
            return
        matrix = rows[combos].transpose(0, 2, 1)
        norms = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
        q, _ = np.linalg.qr(matrix / norms)
        projection = np.einsum("cpk,p->ck", q, vector)
        residual = vector - np.einsum("cpk,ck->cp", q, projection)
        good = np.flatnonzero(np.abs(residual).max(axis=1) <= 1e-8 * np.abs(vector).max())
        found = []
        for index in good:
            columns = [monomials[m] for m in combos[index]]
            expr = self._solve(columns, rows[combos[index]], vector)
            if expr is not None:
                found.append(expr)
        yield from sorted(found, key=_complexity)

    def _solve(
        self, columns: Sequence[Monomial], rows: NDArray[np.float64], vector: NDArray[np.float64]
    ) -> Expr | None:
        solution, *_ = np.linalg.lstsq(rows.T, vector, rcond=None)
        return Expr(
            {
                m: Fraction(float(c)).limit_denominator(720)
                for m, c in zip(columns, solution, strict=True)
            }
        )

    def fit_dense(self, values: Sequence[int], names: Sequence[str]) -> Expr | None:
        """All monomials to degree two of two of ``names``, solved at once (counts of a mask)."""
        vector = np.array(values, dtype=np.float64)
        for pair in itertools.combinations(names, 2):
            points = [(p[pair[0]], p[pair[1]]) for p in self.points]
            if len(set(points)) < _DENSE_POINTS:
                continue
            x, y = np.array(points, dtype=np.float64).T
            rows = np.array([np.ones_like(x), x, y, x * x, x * y, y * y])
            solution, *_ = np.linalg.lstsq(rows.T, vector, rcond=None)
            if np.abs(rows.T @ solution - vector).max() > 1e-6 * (1 + np.abs(vector).max()):
                continue
            monomials: list[Monomial] = [
                (), ((pair[0], 1),), ((pair[1], 1),), ((pair[0], 2),),
                tuple(sorted(((pair[0], 1), (pair[1], 1)))), ((pair[1], 2),),
            ]  # fmt: skip
            found = Expr(
                {
                    m: Fraction(float(c)).limit_denominator(12)
                    for m, c in zip(monomials, solution, strict=True)
                }
            )
            if self.matches(found, values):
                return found
        return None


def _complexity(expr: Expr) -> tuple[int, int, str]:
    weight = sum(
        Fraction(c).denominator + abs(Fraction(c).numerator) + sum(abs(p) for _, p in m)
        for m, c in expr
    )
    return (len(expr.terms), int(weight), str(expr))


@lru_cache(maxsize=64)
def _monomials(
    names: tuple[str, ...], degree: int, max_power: int
) -> tuple[tuple[Monomial, ...], NDArray[np.int64]]:
    """Monomials of ``names`` up to a degree, and the power of each name in each."""
    powers = list(_powers(len(names), degree, max_power))
    monomials = tuple(
        tuple((n, p) for n, p in sorted(zip(names, row, strict=True)) if p) for row in powers
    )
    return monomials, np.array(powers, dtype=np.int64).reshape(len(powers), len(names))


def _powers(count: int, degree: int, max_power: int) -> Iterator[tuple[int, ...]]:
    if count == 0:
        yield ()
        return
    for power in range(min(degree, max_power) + 1):
        for rest in _powers(count - 1, degree - power, max_power):
            yield (power, *rest)


def _pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    i, j = np.triu_indices(count, k=1)
    return i, j
