"""Whether a decode step keeps up with tokens that arrive at a steady rate, and up to where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from costlab.errors import InputError
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.ceilings import ceiling
from costlab.prediction.grid import Array, Values, curve
from costlab.prediction.record import Prediction
from costlab.prediction.search import first_where, lattice, own_sizes

Side = Literal["value", "low", "high"]


@dataclass(frozen=True, slots=True)
class Stream:
    """Tokens at a steady rate, one decode step each.

    Attributes:
        rate_per_s: tokens of each sequence that arrive in a second.
        context: the context asked about.
        step_s: seconds of the step there.
        keeps_up: whether it takes at most ``1 / rate_per_s``.
        falls_behind_from: the smallest context from which on a step takes longer; None if none
            does.
        interval: the same for the slow and the fast end of the step's interval; the first is None
            where no longest time is known.
        memory_ends_at: the largest context that the machine's memory holds; None if unknown or
            without end.
    """

    rate_per_s: float
    context: int
    step_s: float
    keeps_up: bool
    falls_behind_from: int | None
    interval: tuple[int | None, int | None]
    memory_ends_at: int | None

    @property
    def budget_s(self) -> float:
        """Seconds between two tokens."""
        return 1 / self.rate_per_s

    def to_json(self) -> dict[str, Any]:
        """What stands under ``stream`` at a point of schema ``costlab.predict/1``."""
        return {
            "rate_per_s": self.rate_per_s,
            "budget_s": self.budget_s,
            "keeps_up": self.keeps_up,
            "falls_behind_from": self.falls_behind_from,
            "interval": list(self.interval),
            "memory_ends_at": self.memory_ends_at,
        }


def stream(decode: Derivation, at: Prediction, machine: Machine, rate_per_s: float) -> Stream:
    """Compare the step predicted ``at`` a context with the time between two tokens.

    Args:
        decode: formulas of the mode "decode".
        at: its prediction on ``machine``; its sizes are kept, and only the context n grows.
        machine: where it runs.
        rate_per_s: tokens of each sequence per second.

    Raises:
        InputError: for another mode, or if the module has no context n.
    """
    if decode.mode != "decode" or "n" not in decode.sizes:
        raise InputError(
            _("a stream of tokens needs decode steps at a context n"),
            given=f"{decode.architecture}, {decode.mode}",
            advice=_("add --mode decode"),
        )
    others = {name: size for name, size in at.sizes.items() if name != "n"}
    follows = {
        name
        for name, expr in decode.auxiliary.items()
        if name in others and "n" in expr.symbols() and expr.evaluate(at.sizes) == others[name]
    }
    others = {name: size for name, size in others.items() if name not in follows}
    budget_s = 1 / rate_per_s
    fall = {side: _falls_behind(decode, others, machine, budget_s, side) for side in _SIDES}
    memory = None
    if machine.capacity_bytes is not None:
        memory = ceiling(decode, "n", others, machine).by["memory"]
    return Stream(
        rate_per_s=rate_per_s,
        context=at.sizes["n"],
        step_s=at.time_s,
        keeps_up=at.time_s <= budget_s,
        falls_behind_from=fall["value"],
        interval=(fall["high"], fall["low"]),
        memory_ends_at=memory,
    )


_SIDES: tuple[Side, ...] = ("value", "high", "low")


def _falls_behind(
    decode: Derivation, sizes: Mapping[str, int], machine: Machine, budget_s: float, side: Side
) -> int | None:
    """The smallest context from which on a step takes longer than ``budget_s``."""
    own = own_sizes(decode, sizes, "n")

    def late(values: Array) -> NDArray[np.bool_]:
        found: Values = curve(decode, "n", values, own, "time", machine)
        return np.asarray(getattr(found, side) > budget_s)

    grid = lattice(1)
    if side == "high" and not np.isfinite(curve(decode, "n", grid[:1], own, "time", machine).high):
        return None
    grid = grid[np.isfinite(curve(decode, "n", grid, own, "time", machine).value)]
    in_time = np.flatnonzero(~late(grid))
    if not in_time.size:
        return int(grid[0])
    last = int(in_time[-1])
    if last == len(grid) - 1:
        return None
    return first_where(late, grid[last], grid[last + 1], 1)
