"""Random sizes for benchmarks: odd ones, inside a domain, with a peak and a run time in bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from costlab.errors import CostLabError
from costlab.formulas.record import CostClass, Derivation

_RANGES: Mapping[str, tuple[int, int]] = {
    "b": (1, 6), "n": (30, 3000), "h": (1, 12), "k": (6, 96), "d": (24, 1400), "f": (50, 1500),
    "w": (10, 300), "c": (10, 150), "R": (1, 4), "r": (3, 6), "L": (1, 4), "s": (4, 32),
}  # fmt: skip
_OTHER = (2, 64)
_ATTEMPTS = 3000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Peaks in bytes (both ends included), and the most work a point may be."""

    peak_least: int = 8 * 2**20
    peak_most: int = 200 * 2**20
    flop: float = 4e9
    launches: int = 6000


def evaluate(found: CostClass, quantity: str, full: Mapping[str, int]) -> float:
    """One quantity's formula at sizes completed with auxiliary symbols and ``threads``."""
    expr = found.cost[quantity].expr
    assert expr is not None, f"{quantity} has no closed form"
    return float(expr.evaluate(full))


def draw_sizes(
    derivation: Derivation, count: int, bounds: Bounds, rng: random.Random
) -> list[dict[str, int]]:
    """``count`` different sizes within ``bounds``; block sizes divide the length half the time.

    Raises:
        RuntimeError: if the bounds leave too few sizes.
    """
    found: list[dict[str, int]] = []
    for _attempt in range(_ATTEMPTS):
        sizes = _draw(derivation.sizes, rng)
        if sizes not in found and _within(derivation, sizes, bounds):
            found.append(sizes)
            if len(found) == count:
                return found
    raise RuntimeError(f"{derivation.architecture}: {len(found)} sizes in bounds, not {count}")


def _draw(symbols: tuple[str, ...], rng: random.Random) -> dict[str, int]:
    sizes = {name: _log_uniform(rng, *_RANGES.get(name, _OTHER)) for name in symbols}
    if "h" in sizes and "d" in sizes:
        sizes["d"] = sizes["h"] * _log_uniform(rng, *_RANGES["k"])
    for block in ("w", "c"):
        if block in sizes and rng.random() < 0.5:
            sizes["n"] = sizes[block] * max(2, sizes["n"] // sizes[block])
    return sizes


def _log_uniform(rng: random.Random, least: int, most: int) -> int:
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def _within(derivation: Derivation, sizes: Mapping[str, int], bounds: Bounds) -> bool:
    full = {**derivation.complete(sizes), "threads": 1}
    try:
        found = derivation.select(full)
    except CostLabError:
        return False
    return (
        bounds.peak_least <= evaluate(found, "peak_bytes", full) <= bounds.peak_most
        and evaluate(found, "flop", full) <= bounds.flop
        and evaluate(found, "launches", full) <= bounds.launches
    )
