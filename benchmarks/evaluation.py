"""Time of evaluating formulas: a million points of a curve, and maps of who is cheapest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.clock import Took, repeated, timed
from costlab.arch import registry
from costlab.calibration.records import load_latest
from costlab.errors import InputError, UnknownNameError
from costlab.formulas import store
from costlab.formulas.compiled import compile_expr
from costlab.formulas.record import Derivation
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine
from costlab.prediction.grid import Wanted, curves
from costlab.prediction.maps import winner_map
from costlab.units import format_count, format_value

POINTS = 1_000_000
CELLS = 256
PROGRAMS = 12
_SIZES = {"b": 2, "h": 8, "d": 512}
_MACHINE = {"P": 5e10, "W": 1e10, "t": 2e-6}  # a rate, a bandwidth, a latency, by first letter
_CHECKED = 20
_LENGTHS = 438  # of which about 256 differ once they are multiples of the window
_TICK_SIZES = {"b": 1, "h": 8, "w": 64, "c": 64, "f": 2048, "R": 2, "L": 2}
_EXACT = 1e-12


@dataclass(frozen=True, slots=True)
class Timing:
    """What was evaluated, how long it took, and where the answer is wrong."""

    what: str
    took: Took
    wrong: tuple[str, ...] = ()


def program(name: str, mode: str = "forward", *flags: str) -> Derivation:
    """The committed formulas of an architecture, or derived now where none are."""
    options = dict.fromkeys(flags, True)
    try:
        return store.load(name, mode, options=options)
    except (InputError, UnknownNameError):
        import costlab

        return costlab.derive(name, mode=mode, options=options)


def million_points(rounds: int) -> list[Timing]:
    """The time of a training step of full attention: the formula alone, then the public call."""
    found = program("full_attention", "train")
    expr = found.expression("time")
    draw = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "n": draw.integers(2, 65537, POINTS).astype(np.float64),
        "d": 8.0 * draw.integers(1, 1025, POINTS),
    }
    names = sorted(expr.symbols())
    numbers = {name: _MACHINE.get(name[0], 1) for name in names} | _SIZES
    timings = []
    for varying in (("n",), ("n", "d")):
        function = compile_expr(expr, names)
        values = {**numbers, **{name: columns[name] for name in varying}}
        given = [values[name] for name in names]
        result = np.asarray(function(*given))
        took = repeated(partial(function, *given), rounds)
        wrong = []
        for at in draw.integers(0, POINTS, _CHECKED):
            point = {**numbers, **{name: int(columns[name][at]) for name in varying}}
            exact = float(expr.evaluate({name: point[name] for name in names}))
            if abs(result[at] - exact) > _EXACT * exact:
                wrong.append(f"time at {point}: {result[at]} where it is {exact}")
        where = f"{format_count(POINTS)} points of {' and '.join(varying)}"
        timings.append(Timing(f"`full_attention` train, time at {where}", took, tuple(wrong)))
    public = partial(found.evaluate, "time", **{**numbers, "n": columns["n"]})
    took = repeated(public, rounds)
    timings.append(Timing("the same by `Derivation.evaluate`, classes chosen by size", took))
    return timings


def ticks(rounds: int) -> list[Timing]:
    """All that one move of a slider evaluates: time, memory and FLOP of 12 curves."""
    record = load_latest(stale=True)
    machine = (
        Machine.from_calibration(record)
        if record is not None
        else Machine.from_profile(load_profile("cpu-2core"))
    )
    lengths = np.unique(np.round(np.geomspace(2, 1024, _LENGTHS)) * 64)
    timings = []
    for mode in ("forward", "train"):
        programs = [program(name, mode) for name in registry.names()]
        programs.append(program("full_attention", mode, "causal"))

        def tick(width: int, programs: list[Derivation] = programs) -> list[Any]:
            sizes = {**_TICK_SIZES, "d": width}
            wanted = [
                Wanted(p, lengths, {k: v for k, v in sizes.items() if k in p.sizes})
                for p in programs[:PROGRAMS]
            ]
            return curves(wanted, "n", ("time", "memory", "flop"), machine)

        tick(512)
        took = repeated(partial(tick, 768), rounds)
        what = (
            f"one move of a slider: 3 metrics of {len(programs)} curves, {len(lengths)} sizes each"
        )
        timings.append(Timing(f"{what}, {mode}", took))
    return timings


def winner_maps(rounds: int) -> list[Timing]:
    """A map over n and d by time: with published peaks, and with this machine's calibration."""
    causal = [name for name in registry.names() if "causal" in registry.spec(name).options]
    programs = [program(name) for name in registry.names()]
    programs += [program(name, "forward", "causal") for name in reversed(causal)]
    programs = programs[:PROGRAMS]
    machines = {"published peaks": Machine.from_profile(load_profile("cpu-2core"))}
    record = load_latest()
    if record is not None:
        machines["this machine's calibration"] = Machine.from_calibration(record)
    x, y = np.geomspace(16, 65536, CELLS), np.geomspace(16, 8192, CELLS)
    timings = []
    for basis, machine in machines.items():
        draw = partial(winner_map, programs, ("n", "d"), x, y, {}, machine)
        first, _found = timed(draw)
        timings.append(
            Timing(
                f"winner map, {len(programs)} programs, {CELLS} x {CELLS} cells, {basis}"
                f" (first call {format_value(first.wall_s, 's')})",
                repeated(draw, rounds),
            )
        )
    return timings
