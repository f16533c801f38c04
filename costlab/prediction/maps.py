"""Winner maps: the cheapest architecture in each cell of a grid over two sizes.

Time is evaluated on a coarse grid, even in both logarithms, and interpolated to the cells; where
formulas hold only if one size divides another, a map takes divisibility for granted. Where only
bounds are known, bounds are compared, and only equal ones are undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.errors import SizeError
from costlab.formulas.evaluate import class_index, complete_arrays
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import PERIOD
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.grid import Array, Values, at_threads, check_metric, evaluate_class

SCHEMA = "costlab.map/1"
UNDECIDED, NOBODY = -1, -2
_NODES = 25


@dataclass(frozen=True, slots=True)
class WinnerMap:
    """Who wins in each cell, as an index into ``names``; rows go with ``y``.

    ``winner[row, column]`` is -1 where undecided and -2 where nobody has a formula;
    ``best[row, column]`` is the winner whether or not intervals overlap.
    """

    names: tuple[str, ...]
    x_name: str
    y_name: str
    x: Array
    y: Array
    winner: NDArray[np.int64]
    best: NDArray[np.int64]
    metric: str

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "architectures": list(self.names),
            "over": [self.x_name, self.y_name],
            "metric": self.metric,
            self.x_name: self.x.tolist(),
            self.y_name: self.y.tolist(),
            "winner": self.winner.tolist(),
            "codes": {"undecided": UNDECIDED, "nobody": NOBODY},
        }


def winner_map(
    derivations: Sequence[Derivation],
    over: tuple[str, str],
    x: Array,
    y: Array,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    metric: str = "time",
) -> WinnerMap:
    """The cheapest of ``derivations`` at every (x, y).

    Args:
        derivations: at least one program; each takes the sizes it has.
        over: names of the two sizes that vary, x first.
        x: ascending positive sizes.
        y: likewise.
        sizes: the other sizes.
        machine: needed for time.
        metric: "time", "flop", "bytes" or "memory".

    Raises:
        SizeError: if a program has neither of the two sizes, or misses another.
    """
    check_metric(metric)
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    found = [_surface(d, over, x, y, sizes, machine, metric) for d in derivations]
    value = np.stack([surface.value for surface in found])
    best = np.argmin(value, axis=0)
    lowest = value.min(axis=0)
    # Undecided: another one could be cheaper than the winner at its worst.
    top = np.take_along_axis(np.stack([s.high for s in found]), best[None], axis=0)[0]
    rivals = np.stack([surface.low for surface in found])
    np.put_along_axis(rivals, best[None], np.inf, axis=0)
    winner = np.where(rivals.min(axis=0) < top, UNDECIDED, best)
    nobody = ~np.isfinite(lowest)
    return WinnerMap(
        names=tuple(d.architecture for d in derivations),
        x_name=over[0],
        y_name=over[1],
        x=x,
        y=y,
        winner=np.where(nobody, NOBODY, winner),
        best=np.where(nobody, NOBODY, best),
        metric=metric,
    )


def _surface(
    derivation: Derivation,
    over: tuple[str, str],
    x: Array,
    y: Array,
    sizes: Mapping[str, int],
    machine: Machine | None,
    metric: str,
) -> Values:
    """The logarithm of ``metric`` on the grid (rows y, columns x); infinite where none holds."""
    varying = [name for name in over if name in derivation.sizes]
    own = {name: value for name, value in sizes.items() if name in derivation.sizes}
    missing = [
        name for name in derivation.sizes if name not in {*own, *varying, *derivation.defaults}
    ]
    if missing or not varying:
        raise SizeError(
            _("{name} cannot be placed on this map").format(name=derivation.architecture),
            given=", ".join(over),
            advice=_("add {missing}").format(missing=" ".join(f"{m}=.." for m in missing)),
        )
    own_axes = dict(zip(over, (x[None, :], y[:, None]), strict=True))
    cells = complete_arrays(
        derivation, at_threads({**own, **{v: own_axes[v] for v in varying}}, machine)
    )
    shape = (len(y), len(x))
    chosen = np.broadcast_to(class_index(derivation, cells, smooth=True), shape)
    result = Values(*(np.full(shape, np.inf) for _part in range(3)))
    nodes_x, nodes_y = _nodes(x), _nodes(y)
    axes = dict(zip(over, (nodes_x[None, :], nodes_y[:, None]), strict=True))
    sampled = complete_arrays(
        derivation, at_threads({**own, **{v: axes[v] for v in varying}}, machine)
    )
    for index, cost_class in enumerate(derivation.classes):
        mask = chosen == index
        if not mask.any():
            continue
        found = evaluate_class(derivation, cost_class, sampled, metric, machine)
        value, low, high = (
            np.broadcast_to(part, (len(nodes_y), len(nodes_x)))
            for part in (found.value, found.low, found.high)
        )
        high = np.where(np.isfinite(high), high, value)
        middle = _to_cells(value, nodes_x, nodes_y, x, y)
        np.copyto(result.value, middle, where=mask)
        for target, part in ((result.low, low), (result.high, high)):
            same = np.array_equal(part, value)
            cells_part = middle if same else _to_cells(part, nodes_x, nodes_y, x, y)
            np.copyto(target, cells_part, where=mask)
    return result


def _to_cells(values: Array, nodes_x: Array, nodes_y: Array, x: Array, y: Array) -> Array:
    """Logarithms of values at the nodes (rows y, columns x), to the cells, linear in both logs."""
    logs = np.log(np.maximum(values, 1e-300))
    return _along(_along(logs.T, nodes_x, x).T, nodes_y, y)


def _along(values: Array, nodes: Array, wanted: Array) -> Array:
    """Rows of ``values`` at ``nodes`` to rows at ``wanted``."""
    if len(nodes) == 1:
        return np.repeat(values, len(wanted), axis=0)
    logs, at = np.log(nodes), np.log(wanted)
    below = np.clip(np.searchsorted(logs, at, side="right") - 1, 0, len(nodes) - 2)
    share = ((at - logs[below]) / (logs[below + 1] - logs[below]))[:, None]
    found: Array = np.diff(values, axis=0)[below]
    found *= share
    found += values[below]
    return found


def _nodes(values: Array) -> Array:
    if len(values) <= _NODES:
        return values
    nodes = np.geomspace(values[0], values[-1], _NODES)
    # Widths that do not fill vectors take longer: between such nodes nothing could be interpolated.
    whole = np.where(nodes >= 2 * PERIOD, np.round(nodes / PERIOD) * PERIOD, nodes)
    return np.unique(whole)
