"""The largest size that fits in memory and is fast enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.errors import InputError
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.grid import Array, curve
from costlab.prediction.search import check_variable, first_where, lattice, lattice_step, own_sizes


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The largest size that fits and is fast enough; ``binds`` says which limit it is.

    ``at`` is None where not even the smallest size passes; ``by`` holds the ceiling of each limit
    (None: none below ``LARGEST``).
    """

    architecture: str
    variable: str
    at: int | None
    binds: str
    by: Mapping[str, int | None]

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "variable": self.variable,
            "at": self.at,
            "binds": self.binds,
            "by": dict(self.by),
        }


def ceiling(
    derivation: Derivation,
    over: str,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    *,
    fits_bytes: float | None = None,
    within_s: float | None = None,
) -> Ceiling:
    """The largest ``over`` whose peak fits in ``fits_bytes`` and whose time is ``within_s``.

    Without ``fits_bytes`` the machine's memory is the limit, where it is known.

    Raises:
        InputError: if there is no limit at all.
    """
    check_variable(derivation, over)
    if fits_bytes is None and machine is not None:
        fits_bytes = machine.capacity_bytes
    limits = {"memory": fits_bytes, "time": within_s}
    active = {metric: limit for metric, limit in limits.items() if limit is not None}
    if not active:
        raise InputError(
            _("nothing limits the size"), advice=_("add --fits 24GiB or --within 100ms")
        )
    step = lattice_step(derivation, over, sizes)
    own = own_sizes(derivation, sizes, over)
    by: dict[str, int | None] = {}
    smallest_fails = ""
    for metric, limit in active.items():
        passing = _last_passing(derivation, over, own, metric, limit, machine, step)
        by[metric] = passing or None
        if passing == 0:
            smallest_fails = metric
    if smallest_fails:
        return Ceiling(derivation.architecture, over, None, smallest_fails, by)
    reached = {metric: at for metric, at in by.items() if at is not None}
    if not reached:
        return Ceiling(derivation.architecture, over, None, "", by)
    binds = min(reached, key=lambda metric: reached[metric])
    return Ceiling(derivation.architecture, over, reached[binds], binds, by)


def _last_passing(
    derivation: Derivation,
    over: str,
    own: Mapping[str, int],
    metric: str,
    limit: float,
    machine: Machine | None,
    step: int,
) -> int | None:
    """Largest allowed size within the limit; 0 if none is, None if all are."""

    def exceeds(values: Array) -> NDArray[np.bool_]:
        return np.asarray(curve(derivation, over, values, own, metric, machine).value > limit)

    grid = lattice(step)
    grid = grid[np.isfinite(curve(derivation, over, grid, own, metric, machine).value)]
    good = np.flatnonzero(~exceeds(grid))
    if not good.size:
        return 0
    last = int(good[-1])
    if last == len(grid) - 1:
        return None
    return first_where(exceeds, grid[last], grid[last + 1], step) - step
