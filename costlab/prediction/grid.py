"""A metric over arrays of sizes: curves, maps and searches evaluate through here.

Time over very many sizes is evaluated on a grid of nodes, even in the logarithm, and interpolated
in log-log between them: rates by shape are smooth, and a million sizes then take a fraction of a
second. FLOP, bytes and memory are always exact up to float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.errors import InputError
from costlab.formulas.evaluate import complete_arrays, evaluate
from costlab.formulas.record import CostClass, Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.compiled_class import compiled
from costlab.prediction.compiled_time import times_of
from costlab.prediction.placing import Part, parts_along
from costlab.prediction.timing import Times

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


@dataclass(frozen=True, slots=True)
class Wanted:
    """A curve: a program, the values of the size that varies, and its other sizes."""

    derivation: Derivation
    values: Array
    sizes: Mapping[str, int]


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
    wanted = Wanted(derivation, np.asarray(values, dtype=float), sizes)
    found = curves([wanted], over, (metric,), machine, hands=hands)[0][metric]
    if isinstance(found, InputError):
        raise found
    return found


def curves(
    wanted: Sequence[Wanted],
    over: str,
    metrics: Sequence[str],
    machine: Machine | None,
    *,
    hands: float | None = None,
) -> list[dict[str, Values | InputError]]:
    """Several metrics of several programs: what :func:`curve` gives one by one, in one go.

    Returns, for each curve, its values by metric, or the error where it has no closed form.

    Raises:
        InputError: for time without a machine.
    """
    if "time" in metrics and machine is None:
        raise InputError(_("time needs a machine"), advice=_("add --device"))
    found: list[dict[str, Values | InputError]] = []
    timed: list[_Piece] = []
    for item in wanted:
        values = np.asarray(item.values, dtype=float)
        full, parts = parts_along(item.derivation, over, values, at_threads(item.sizes, machine))
        results: dict[str, Values | InputError] = {}
        found.append(results)
        for part in parts:
            piece = _Piece(item, part, values.shape, {**full, **part.arrays}, results)
            if math.prod(part.shape) > 4 * _NODES:
                piece.fill_long(over, metrics, machine, hands)
            else:
                piece.fill(metrics, machine)
                timed.append(piece)
        for metric in metrics:
            if metric not in results:
                results[metric] = Values(*np.full((3, *values.shape), np.nan))
    if "time" in metrics and machine is not None:
        times = times_of([(piece.compiled, piece.evaluated) for piece in timed], machine)
        for piece, own_times in zip(timed, times, strict=True):
            piece.put("time", _time_values(own_times, machine, hands, piece.shape))
    return found


class _Piece:
    """The part of a curve that lies in one class."""

    def __init__(
        self,
        wanted: Wanted,
        part: Part,
        whole: tuple[int, ...],
        full: Mapping[str, Any],
        results: dict[str, Values | InputError],
    ) -> None:
        self._wanted, self._class = wanted, wanted.derivation.classes[part.index]
        self._mask, self._whole, self.shape = part.mask, whole, part.shape
        self._full, self._results = full, results

    def fill(self, metrics: Sequence[str], machine: Machine | None) -> None:
        """Evaluate all that is asked for but time, and what time depends on."""
        timed = machine if "time" in metrics else None
        self.compiled = compiled(self._class, timed, self._wanted.derivation.mode)
        self.evaluated = self.compiled.at(self._full)
        for metric in metrics:
            if metric != "time":
                self._try(metric, self.evaluated)

    def fill_long(
        self, over: str, metrics: Sequence[str], machine: Machine | None, hands: float | None
    ) -> None:
        """The same one by one, with time interpolated between nodes."""
        wanted = self._wanted
        for metric in metrics:
            if metric != "time":
                self._try(metric, self._full)
                continue
            own = self._full[over]
            nodes = np.geomspace(own.min(), own.max(), _NODES)
            at_nodes = complete_arrays(
                wanted.derivation, at_threads({**wanted.sizes, over: nodes}, machine)
            )
            known = evaluate_class(wanted.derivation, self._class, at_nodes, metric, machine, hands)
            self.put(metric, _interpolate(known, nodes, own))

    def put(self, metric: str, found: Values) -> None:
        if self._mask is None:
            self._results[metric] = found
            return
        known = self._results.get(metric)
        if known is None:
            known = Values(*np.full((3, *self._whole), np.nan))
            self._results[metric] = known
        if isinstance(known, Values):
            for target, source in (
                (known.value, found.value), (known.low, found.low), (known.high, found.high)
            ):  # fmt: skip
                target[self._mask] = source

    def _try(self, metric: str, values: Mapping[str, Any]) -> None:
        try:
            found = _formula_values(
                self._wanted.derivation, self._class, values, metric, self.shape
            )
        except InputError as error:
            self._results[metric] = error
            return
        self.put(metric, found)


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
    if metric != "time":
        return _formula_values(derivation, cost_class, full, metric, _shape(full))
    if machine is None:
        raise InputError(_("time needs a machine"), advice=_("add --device"))
    program = compiled(cost_class, machine, derivation.mode)
    times = times_of([(program, program.at(full))], machine)[0]
    return _time_values(times, machine, hands, _shape(full))


def _shape(full: Mapping[str, Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(value) for value in full.values()))


def _time_values(
    times: Times, machine: Machine, hands: float | None, shape: tuple[int, ...]
) -> Values:
    scale: Any = 1.0
    if hands is not None:
        scale = 1.0 - times.work_s / times.total_s * (1.0 - machine.width / hands)
    return Values(
        *(
            _filled(part if hands is None else part * scale, shape)
            for part in (times.total_s, times.low_s, times.high_s)
        )
    )


def _formula_values(
    derivation: Derivation,
    cost_class: CostClass,
    full: Mapping[str, Any],
    metric: str,
    shape: tuple[int, ...],
) -> Values:
    quantity = cost_class.cost.get(METRICS[metric])
    if quantity is None or quantity.expr is None:
        reason = quantity.reason if quantity else ""
        raise InputError(
            _("{name} has no closed form of this metric").format(name=derivation.architecture),
            given=f"{metric}: {reason}" if reason else metric,
        )
    value = _filled(evaluate(quantity.expr, full), shape)
    return Values(value, value, value)


def _filled(value: Any, shape: tuple[int, ...]) -> Array:
    """``value`` as an array of this shape: what does not depend on a size is one number."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    found = np.empty(shape)
    found[...] = value
    return found


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
