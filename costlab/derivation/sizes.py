"""The sizes a derivation traces at: sampling, internal variables, and the way back to symbols.

Where one size must divide another (heads the width, the window the length) the two are traced as
a factor and a quotient, so that every dimension stays a polynomial; formulas are then written in
the user's symbols again (``h*k`` is ``d``). Where a window does not divide the length, the number
of blocks is a variable of its own, written ``ceiling(n/w)``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from costlab.algebra import Expr, Size, as_expr, ceil_div, symbol
from costlab.formulas.record import Condition
from costlab.formulas.simplify import rewrite

# Typical sizes: even head counts (an odd one is another program for torch's fused encoder), and
# lengths of at least seven, since fewer passes of a loop cannot be told from a coincidence.
_RANGES: Mapping[str, Sequence[int]] = {
    "b": (2, 3, 4, 5), "n": range(7, 14), "m": range(6, 15), "h": (2, 4, 6), "g": (2, 3),
    "k": (4, 6, 8, 10, 12), "d": range(10, 31, 2), "f": range(9, 30), "w": (2, 3, 4, 5),
    "c": (2, 3, 4, 5), "R": (2, 3, 4), "r": (3, 4, 5), "s": range(3, 9), "e": (4, 6, 8),
    "L": range(6, 10), "V": range(20, 60), "G": (2, 3, 4), "t": (2, 3),
}  # fmt: skip
_FAR: Mapping[str, Sequence[int]] = {
    "b": range(2, 7), "n": range(7, 60), "m": range(7, 60), "h": range(2, 8), "g": range(2, 6),
    "k": range(2, 18), "d": range(11, 60), "f": range(9, 70), "w": range(2, 9), "c": range(2, 9),
    "R": range(2, 6), "r": range(2, 7), "s": range(2, 12), "e": range(3, 9), "L": range(7, 15),
    "V": range(20, 90), "G": range(2, 7), "t": (2, 3, 4),
}  # fmt: skip
_OTHER = range(5, 14)
_QUOTIENTS = range(3, 10)
_CUT_BLOCKS = range(3, 8)
# Passes to trace a loop with; the later ranges where the earlier are too short to settle.
TRIP_RANGES = (range(7, 12), range(12, 18))
LAYER_RANGES = (range(6, 10), *TRIP_RANGES)  # layers are long passes, and settle at once
LAYER_NAMES = ("L", "_layers")
FEW_LAYERS = range(5, 9)  # where their real number is known, and only their pattern is sought


@dataclass(frozen=True, slots=True)
class SizeModel:
    """Which sizes a program class ranges over.

    ``divides`` are (factor, multiple) pairs, ``counted`` (block, total) pairs of which the block
    does *not* divide the total, ``fixed`` symbols that are literally one number in this class,
    ``below`` and ``strictly_below`` (smaller, larger) pairs. ``numbers`` are sizes traced at
    several values whose real one is known, put into the formulas at the end. ``multiples`` are
    symbols that a number must divide.
    """

    symbols: tuple[str, ...]
    divides: tuple[tuple[str, str], ...] = ()
    counted: tuple[tuple[str, str], ...] = ()
    below: tuple[tuple[str, str], ...] = ()
    strictly_below: tuple[tuple[str, str], ...] = ()
    fixed: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)

    def quotient(self, factor: str, multiple: str) -> str:
        return "k" if (factor, multiple) == ("h", "d") else f"_{multiple}_per_{factor}"

    @property
    def variables(self) -> tuple[str, ...]:
        """Internal variables, in which every dimension is a polynomial."""
        multiples = {m for _, m in self.divides}
        names = [s for s in self.symbols if s not in multiples and s not in self.fixed]
        names += [self.quotient(f, m) for f, m in self.divides if m not in self.fixed]
        names += [f"_blocks_{t}_{b}" for b, t in self.counted]
        return tuple(dict.fromkeys(names))

    def sample(
        self,
        rng: random.Random,
        trip: str | None = None,
        passes: Sequence[int] = TRIP_RANGES[0],
        *,
        far: bool = False,
    ) -> dict[str, int]:
        """Random sizes of this class, internal variables included.

        Args:
            rng: the source of chance.
            trip: the size that counts a loop's passes, drawn from ``passes``.
            passes: trip counts to choose from.
            far: draw from wider ranges, odd head counts too, as a check of formulas.
        """
        for _ in range(1000):
            values = self._draw(rng, trip, passes, far)
            if all(c.holds(values) for c in self.domain()):
                return values
        raise AssertionError("the conditions of this class leave no sizes")

    def sample_with(self, rng: random.Random, chosen: Mapping[str, int]) -> dict[str, int] | None:
        """Random sizes with some variables set; None where the class has none such."""
        inner = {self.quotient(f, m): (f, m) for f, m in self.divides}
        if not {m for _, m in self.divides}.isdisjoint(chosen):
            return None
        symbols = {n: v for n, v in chosen.items() if n not in inner or n in self.symbols}
        narrowed = replace(self, fixed={**self.fixed, **symbols})
        for _ in range(100):
            values = narrowed._draw(rng)
            for name in chosen.keys() - symbols.keys():
                factor, multiple = inner[name]
                values[name], values[multiple] = chosen[name], values[factor] * chosen[name]
            if all(c.holds(values) for c in self.domain()):
                return values
        return None

    def narrowing(self, wider: SizeModel) -> dict[str, Size]:
        """What variables of a ``wider`` model are here, where they are none of this one's."""
        values: dict[str, Size] = {}
        for factor, multiple in wider.divides:
            if factor in self.fixed and factor not in wider.fixed:
                whole = self.fixed.get(multiple, symbol(multiple))
                values[wider.quotient(factor, multiple)] = as_expr(whole) / self.fixed[factor]
        return {**values, **self.fixed}

    def written(self, name: str) -> str:
        """An internal variable as the user reads it: a symbol, ``k``, or a quotient ``n/w``."""
        for factor, multiple in self.divides:
            if self.quotient(factor, multiple) == name and name != "k":
                return f"{multiple}/{factor}"
        return name

    def _draw(
        self,
        rng: random.Random,
        trip: str | None = None,
        passes: Sequence[int] = TRIP_RANGES[0],
        far: bool = False,
    ) -> dict[str, int]:
        values: dict[str, int] = dict(self.fixed)
        multiples = {m: f for f, m in self.divides}
        for name in self.symbols:
            if name not in values and name not in multiples:
                values[name] = rng.choice(passes) if name == trip else self._pick(rng, name, far)
        for multiple, factor in multiples.items():
            inner = self.quotient(factor, multiple)
            if multiple in values:
                continue
            choice = (_FAR if far else _RANGES).get(inner, _QUOTIENTS)
            values[inner] = rng.choice(passes if inner == trip else choice)
            values[multiple] = values[factor] * values[inner]
        for smaller, larger in self.strictly_below:
            values[larger] = values[smaller] + rng.randrange(1, 9)
        for block, whole in self.counted:
            if trip == f"_blocks_{whole}_{block}" and whole not in self.fixed:
                # So many blocks; the last is cut short, and not always by one.
                if block not in self.fixed:
                    values[block] = rng.choice(_CUT_BLOCKS)
                short = rng.randrange(1, values[block])
                values[whole] = rng.choice(passes) * values[block] - short
            values[f"_blocks_{whole}_{block}"] = -(-values[whole] // values[block])
        return values

    def _pick(self, rng: random.Random, name: str, far: bool) -> int:
        if name in {whole for _, whole in self.counted}:
            return rng.randrange(7, 80 if far else 40)
        if name in self.numbers and name in LAYER_NAMES:
            return rng.choice(FEW_LAYERS)
        step = self.multiples.get(name, 1)
        choice = (_FAR if far else _RANGES).get(name, _OTHER)
        return rng.choice([x for x in choice if x % step == 0] or [step * x for x in choice])

    def domain(self) -> tuple[Condition, ...]:
        """Conditions under which this class's formulas hold."""
        found: list[Condition] = [Condition("==", s, v) for s, v in self.fixed.items()]
        found += [Condition("divides", f, m) for f, m in self.divides if m not in self.fixed]
        found += [Condition("divides", str(m), s) for s, m in self.multiples.items()]
        found += [Condition("not divides", b, w) for b, w in self.counted]
        found += [Condition("<=", a, b) for a, b in self.below]
        found += [Condition("<", a, b) for a, b in self.strictly_below]
        return tuple(found)

    def public(self, expr: Expr) -> Expr:
        """``expr`` in the user's symbols."""
        pairs = {(f, self.quotient(f, m)): m for f, m in self.divides if m not in self.fixed}
        result = rewrite(expr, pairs) if pairs else expr
        leftovers: dict[str, Expr] = {}
        for factor, multiple in self.divides:
            inner = self.quotient(factor, multiple)
            if inner != "k":
                leftovers[inner] = symbol(multiple) / self.fixed.get(factor, symbol(factor))
        for block, whole in self.counted:
            blocks = ceil_div(symbol(whole), self.fixed.get(block, symbol(block)))
            leftovers[f"_blocks_{whole}_{block}"] = blocks  # type: ignore[assignment]
        return result.subs({**leftovers, **self.numbers})
