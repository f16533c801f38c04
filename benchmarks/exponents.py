"""How time and peak memory grow with n, measured against predicted, over the timed architectures.

``python -m benchmarks.exponents`` sweeps the architectures of ``benchmarks.times``, or those named,
in every mode over five lengths of one width (half an hour on two cores), one after the other, and
compares slopes over the same sizes: of the measured values, and of the predictions by this
machine's newest calibration.
Exit status 1 if a slope of peak memory is off by more than 0.05, if one of time that the noise lets
be told is off by more than 0.15, or if more than a quarter of those of time cannot be told.
``--write`` puts the rows into README.md, in place of those of the same architectures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.swept import swept
from benchmarks.tables import machine, markdown_table, rows_between, write_between
from benchmarks.time_points import timed_architectures
from costlab.arch import registry
from costlab.calibration.choice import load_machine
from costlab.comparison.api import compare
from costlab.comparison.growth import SAME, TOO_WIDE
from costlab.comparison.record import AGREES, CANNOT_TELL, Exponent
from costlab.formulas import store as formulas
from costlab.measurement.timing import TimingPlan
from costlab.prediction.api import predict
from costlab.sweep import expand

LENGTHS = (256, 512, 1024, 2048, 4096)
SIZES = {"b": 1, "d": 128, "h": 4, "w": 32, "f": 256, "L": 2}
# A recurrence of this length and a score matrix of this size take seconds a pass.
_SHORT = (128, 256, 512, 1024, 2048)
_MODES = ("forward", "train", "decode")
_PLAN = TimingPlan(
    warmup_s=0.15,
    min_samples=3,
    max_samples=60,
    min_time_s=0.06,
    max_time_s=0.4,
    patience_s=0.3,
)
_MAY_NOT_TELL = 0.25
# Columns of the verdicts.
_TIME, _PEAK = 6, 9
_HEADER = (
    "architecture", "mode", "time predicted", "measured", "95 % interval", "noise", "verdict",
    "peak predicted", "measured", "verdict",
)  # fmt: skip


def programs() -> list[tuple[str, str]]:
    """Every timed architecture whose cost has an n, in each of its modes."""
    return [
        (name, mode)
        for name in timed_architectures()
        for mode in _MODES
        if mode in registry.spec(name).modes and "n" in formulas.load(name, mode).sizes
    ]


def measure(chosen: Sequence[tuple[str, str]], seed: int) -> list[Exponent]:
    """Sweep the programs, all interleaved, and compare with predictions."""
    device = load_machine("this", "float32", 1)
    points = []
    for name, mode in chosen:
        own = {k: (v,) for k, v in SIZES.items() if k in registry.spec(name).symbols}
        lengths = _SHORT if mode == "train" else LENGTHS
        points += list(expand([name], {**own, "n": lengths}, modes=[mode]))
    found = [result.to_json() for result in swept(points, seed, _PLAN)]
    predictions = [
        predict(formulas.load(p["architecture"], p["mode"]), p["sizes"], device) for p in found
    ]
    return [e for e in compare(found, predictions).exponents if e.variable == "n"]


def rows(found: Sequence[Exponent]) -> list[list[str]]:
    """One row for each program: time, then peak memory."""
    by = {(e.architecture, e.mode, e.metric): e for e in found}
    return [
        [name, mode, *_time(by[name, mode, "time"]), *_peak(by[name, mode, "peak_bytes"])]
        for name, mode in dict.fromkeys((e.architecture, e.mode) for e in found)
    ]


def _time(one: Exponent) -> list[str]:
    low, high = one.interval or (float("nan"),) * 2
    noise = "" if one.noise is None else f"{one.noise:.1%}"
    return [
        f"{one.predicted:.2f}", f"{one.measured:.2f}", f"{low:.2f} to {high:.2f}", noise,
        one.verdict,
    ]  # fmt: skip


def _peak(one: Exponent) -> list[str]:
    return [f"{one.predicted:.3f}", f"{one.measured:.3f}", one.verdict]


def report(table: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """The rows as a table with its summary, and whether the goals are met."""
    times, peaks = ([row[place] for row in table] for place in (_TIME, _PEAK))
    untold, agree, exact = times.count(CANNOT_TELL), times.count(AGREES), peaks.count(AGREES)
    met = (
        exact == len(peaks)
        and agree + untold == len(times)
        and untold <= _MAY_NOT_TELL * len(times)
    )
    text = (
        f"Time: {agree} of {len(times)} within {SAME['time']} of the predicted exponent between "
        f"the same sizes, {len(times) - agree - untold} off, {untold} cannot be told (interval "
        f"wider than {TOO_WIDE}; a quarter may). Peak memory: {exact} of {len(peaks)} within "
        f"{SAME['peak_bytes']}.\n\nSizes: n from {_SHORT[0]} to {LENGTHS[-1]}, "
        + " ".join(f"{k}={v}" for k, v in SIZES.items())
        + f"; float32, 1 thread, five processes a point.\n\n{machine()}."
    )
    return f"{markdown_table(_HEADER, table)}\n\n{text}", met


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exponents", description=__doc__)
    parser.add_argument("architectures", nargs="*", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the order (default 1)")
    parser.add_argument(
        "--write", action="store_true", help="put the rows into README.md, as each is known"
    )
    args = parser.parse_args(arguments)
    chosen = [p for p in programs() if not args.architectures or p[0] in args.architectures]
    known: dict[tuple[str, ...], Sequence[str]] = {}
    if args.write and args.architectures:
        known = {row[:2]: row for row in rows_between("exponents")}
    text, met = "", False
    for name in dict.fromkeys(architecture for architecture, _mode in chosen):
        found = measure([program for program in chosen if program[0] == name], args.seed)
        new = rows(found)
        print(markdown_table(_HEADER, new), flush=True)
        known |= {(row[0], row[1]): row for row in new}
        order = [program for program in programs() if program in known]
        text, met = report([known[program] for program in order])
        if args.write:
            write_between("exponents", text)
    print("\n" + text)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
