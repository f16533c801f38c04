"""A metric over arrays of sizes: curves, maps and searches evaluate through here.

Time over very many sizes is evaluated on a grid of nodes, even in the logarithm, and interpolated
in log-log between them: rates by shape are smooth, and a million sizes then take a fraction of a
second. FLOP, bytes and memory are always exact up to float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.errors import InputError
from costlab.formulas.evaluate import class_index, complete_arrays, evaluate
from costlab.formulas.record import CostClass, Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.timing import time_of

Array = NDArray[np.float64]
METRICS = {
    "time": "time",
    "flop": "flop",
    "bytes": "bytes",
    "memory": "peak_bytes",
    "state": "state_bytes",
}
_NODES = 513


@dataclass(frozen=True, slots=True)
class Values:
    """A metric over arrays of sizes, with its interval; NaN where no formula holds."""

    value: Array
    low: Array
    high: Array


def check_metric(metric: str) -> None:
    """Raise ``InputError`` unless ``metric`` can be predicted."""
    if metric == "energy":
        raise InputError(
            _("energy cannot be predicted yet"),
            given=metric,
            allowed=", ".join(METRICS),
            advice=_("costlab profile measures it where the device has a meter"),
        )
    if metric not in METRICS:
        raise InputError(_("unknown metric"), given=metric, allowed=", ".join(METRICS))


def curve(
    derivation: Derivation,
    over: str,
    values: Array,
    sizes: Mapping[str, int],
    metric: str,
    machine: Machine | None,
    *,
    hands: float | None = None,
) -> Values:
    """``metric`` of ``derivation`` at every one of ``values`` of the size ``over``.

    Args:
        derivation: formulas.
        over: the size that varies.
        values: positive whole numbers, in any order.
        sizes: the other sizes; what is left out takes its default.
        metric: a key of ``METRICS``.
        machine: needed for time only.
        hands: how many hands share the work (see :mod:`costlab.prediction.width`); None: the
            machine's own number.
    """
    values = np.asarray(values, dtype=float)
    full = complete_arrays(derivation, at_threads({**sizes, over: values}, machine))
    chosen = class_index(derivation, full)
    result = Values(*(np.full(values.shape, np.nan) for _part in range(3)))
    for index, cost_class in enumerate(derivation.classes):
        mask = chosen == index
        if not mask.any():
            continue
        own = {k: v[mask] if isinstance(v, np.ndarray) else v for k, v in full.items()}
        if metric == "time" and mask.sum() > 4 * _NODES:
            nodes = np.geomspace(own[over].min(), own[over].max(), _NODES)
            at_nodes = complete_arrays(derivation, at_threads({**sizes, over: nodes}, machine))
            known = evaluate_class(derivation, cost_class, at_nodes, metric, machine, hands)
            found = _interpolate(known, nodes, own[over])
        else:
            found = evaluate_class(derivation, cost_class, own, metric, machine, hands)
        for target, source in (
            (result.value, found.value), (result.low, found.low), (result.high, found.high)
        ):  # fmt: skip
            target[mask] = source
    return result


def at_threads(sizes: Mapping[str, Any], machine: Machine | None) -> dict[str, Any]:
    """``sizes`` with the threads that a machine runs with."""
    return {"threads": 1 if machine is None else machine.threads, **sizes}


def evaluate_class(
    derivation: Derivation,
    cost_class: CostClass,
    full: Mapping[str, Any],
    metric: str,
    machine: Machine | None,
    hands: float | None = None,
) -> Values:
    """``metric`` of one class at complete sizes, wherever these lie."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in full.values()))
    if metric == "time":
        if machine is None:
            raise InputError(_("time needs a machine"), advice=_("add --device"))
        times = time_of(cost_class, full, machine, derivation.mode)
        scale: Any = 1.0
        if hands is not None:
            scale = 1.0 - times.work_s / times.total_s * (1.0 - machine.width / hands)
        return Values(
            *(
                np.array(np.broadcast_to(part * scale, shape), dtype=float)
                for part in (times.total_s, times.low_s, times.high_s)
            )
        )
    quantity = cost_class.cost.get(METRICS[metric])
    if quantity is None or quantity.expr is None:
        reason = quantity.reason if quantity else ""
        raise InputError(
            _("{name} has no closed form of this metric").format(name=derivation.architecture),
            given=f"{metric}: {reason}" if reason else metric,
        )
    value = np.array(np.broadcast_to(evaluate(quantity.expr, full), shape), dtype=float)
    return Values(value, value, value)


def _interpolate(at_nodes: Values, nodes: Array, wanted: Array) -> Values:
    positions = (np.log(wanted) - np.log(nodes[0])) * (
        (len(nodes) - 1) / np.log(nodes[-1] / nodes[0])
    )
    below = np.minimum(positions.astype(np.int64), len(nodes) - 2)
    share = positions - below

    def between(values: Array) -> Array:
        logs = np.log(values)
        return np.asarray(np.exp(logs[below] + share * (logs[below + 1] - logs[below])))

    high = at_nodes.high
    return Values(
        between(at_nodes.value),
        between(at_nodes.low),
        between(high) if np.isfinite(high).all() else np.full(wanted.shape, np.inf),
    )
