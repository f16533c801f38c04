"""What CostLab's measurements are worth: overhead, coverage, false alarms, power, other load.

``python -m benchmarks.measuring`` prints a table; ``--only overhead coverage aa slowdown hog``
runs parts of it, each within 12 minutes on a quiet machine; ``--write`` puts the table into
README.md, in place of the rows of the same parts. The exit status is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.others import Study, pyperf_study, torch_study
from benchmarks.swept import swept
from benchmarks.tables import machine, markdown_table, rows_between, write_between
from costlab.comparison.difference import FALSE_ALARMS, verdict
from costlab.comparison.runs import compared_samples
from costlab.measurement.api import DEFAULT_REPEATS, measure, open_workers
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.process import Workers
from costlab.measurement.timing import TimingPlan
from costlab.sweep import expand
from costlab.units import format_value

_TIGHT = 0.02
_BRIEF = TimingPlan(warmup_s=0.3, min_samples=10, min_time_s=0.15, max_time_s=1.0, patience_s=0.5)
_TARGETS = ("full_attention", "sliding_window", "linear_attention", "lstm", "transformer_block")
_LENGTHS = (96, 160, 224)
_WIDTH = 64
_PAIRS, _SLOWED, _HOGGED = 40, 20, 5
_A_SIDE = 12  # processes: on a shared machine seven find a change of 5 % three times of four
_ROUNDS, _MORE_ROUNDS = 100, 105
_HEADER = ("what", "goal", "came out", "")
_PROGRAMS = Path(__file__).with_name("measured.py")


@dataclass(frozen=True, slots=True)
class Figure:
    """A row; ``met`` is None where there is no goal."""

    what: str
    goal: str
    outcome: str
    met: bool | None = None

    def row(self) -> tuple[str, ...]:
        word = {True: "met", False: "missed", None: ""}[self.met]
        return (self.what, self.goal, self.outcome, word)


def _point(workers: Workers, target: str, sizes: Mapping[str, int], **more: Any) -> PointResult:
    return measure(target, sizes, workers=workers, resident=False, energy=False, **more)


def overhead() -> Iterator[Figure]:
    """What a point costs besides its calls, and the time to 2 % beside two other tools."""
    with open_workers() as workers:
        _point(workers, "full_attention", {"n": 32, "d": 16}, plan=_BRIEF, repeats=3)
        point = _point(workers, f"{_PROGRAMS}:attention", {}, repeats=DEFAULT_REPEATS)
        assert point.wall_s is not None and point.called_s is not None
        spent_s = point.wall_s - point.called_s
        yield Figure(
            f"overhead of a point of {DEFAULT_REPEATS} timed processes, resident pass apart", "",
            f"{format_value(spent_s, 's')}, {format_value(spent_s / DEFAULT_REPEATS, 's')} each; "
            f"beside {format_value(point.called_s, 's')} of calls",
        )  # fmt: skip
        timer = max(one.timer_share or 0.0 for one in point.processes)
        yield Figure(
            "timer's share of a sample", "<= 0.01 %", f"{timer:.4%}", timer <= 1.05e-4
        )  # fmt: skip
        watching = sum(one.watch_cpu_s for one in point.passes)
        yield Figure("CPU time of watching the point", "", format_value(watching, "s"))
    for study in (_costlab_study, pyperf_study, torch_study):
        first, second = study(_TIGHT), study(_TIGHT)
        yield _beside(first, second)


def _costlab_study(limit: float) -> Study:
    begin = time.perf_counter()
    with open_workers() as workers:
        point = _point(workers, f"{_PROGRAMS}:attention", {}, budget_s=60.0)
    wall_s = time.perf_counter() - begin
    assert point.time_s is not None and point.time_interval_s is not None
    tight = (point.time_interval_s[1] - point.time_interval_s[0]) / 2 <= limit * point.time_s
    return Study(
        "CostLab", point.time_s, point.time_interval_s, len(point.samples), wall_s,
        point.called_s or 0.0, tight,
    )  # fmt: skip


def _beside(first: Study, second: Study) -> Figure:
    low, high = first.interval_s
    reach = (high - low) / 2 / first.middle_s
    inside = "inside" if low <= second.middle_s <= high else "outside"
    end = "to" if first.tight else "ended without"
    return Figure(
        f"time {end} an interval of 2 %: {first.tool}", "",
        f"{format_value(first.wall_s, 's')}, {first.processes} processes, "
        f"{format_value(first.called_s, 's')} of calls; {format_value(first.middle_s, 's')} "
        f"± {reach:.1%}, its second study {second.middle_s / first.middle_s - 1:+.1%}: {inside}",
    )  # fmt: skip


def coverage() -> Iterator[Figure]:
    """Thirty points swept twice: how often the interval holds the second study's median."""
    points = [
        point
        for mode in ("forward", "train")
        for point in expand(_TARGETS, {"b": (1,), "n": _LENGTHS, "d": (_WIDTH,)}, modes=[mode])
    ]
    first, second = _study(points, seed=1), _study(points, seed=2)
    held = sum(_holds(first[key], second[key]) for key in first)
    widths = sorted(_reach(one) for one in first.values())
    yield Figure(
        f"the interval holds the median of a second study, {len(points)} points", ">= 90 %",
        f"{held} of {len(points)}; typical reach ± {widths[len(widths) // 2]:.1%}",
        held >= 0.9 * len(points),
    )  # fmt: skip


def _study(points: Sequence[PointSpec], seed: int) -> dict[tuple[Any, ...], PointResult]:
    """The points as a sweep measures them: processes of a dozen in turns, so that each point sees
    the machine at several moments.
    """
    found = swept(points, seed, _BRIEF)
    return {(one.architecture, one.mode, one.sizes["n"]): one for one in found}


def _holds(one: PointResult, other: PointResult) -> bool:
    interval = one.time_interval_s
    return (
        interval is not None and other.time_s is not None
        and interval[0] <= other.time_s <= interval[1]
    )  # fmt: skip


def _reach(point: PointResult) -> float:
    if point.time_interval_s is None or not point.time_s:
        return float("inf")
    return (point.time_interval_s[1] - point.time_interval_s[0]) / 2 / point.time_s


def aa() -> Iterator[Figure]:
    """Equal programs compared: how many pairs are called different."""
    found = _verdicts(_PAIRS, _ROUNDS)
    different = sum(found.get(word, 0) for word in ("faster", "slower"))
    yield Figure(
        f"A/A: pairs of {_PAIRS} called different (rate set: {FALSE_ALARMS:.0%})",
        "<= 5 %", f"{different} ({_words(found)})", different <= 0.05 * _PAIRS,
    )  # fmt: skip


def slowdown() -> Iterator[Figure]:
    """A program with 5 % more work: how many pairs are called slower."""
    found = _verdicts(_SLOWED, _MORE_ROUNDS)
    slower = found.get("slower", 0)
    yield Figure(
        f"5 % more work called slower, of {_SLOWED}", ">= 90 %",
        f"{slower} ({_words(found)})", slower >= 0.9 * _SLOWED,
    )  # fmt: skip


def _verdicts(pairs: int, rounds: int) -> dict[str, int]:
    found: dict[str, int] = {}
    with open_workers() as workers:
        for pair in range(pairs):
            # Which side goes first alternates, so that a drift speaks for neither.
            order = (_ROUNDS, rounds) if pair % 2 == 0 else (rounds, _ROUNDS)
            sides = [
                _point(
                    workers, f"{_PROGRAMS}:rounds", {"n": size}, plan=_BRIEF, repeats=_A_SIDE
                ).to_json()
                for size in order
            ]
            before, after = sides if pair % 2 == 0 else sides[::-1]
            word = verdict(*compared_samples(before, after)).verdict
            found[word] = found.get(word, 0) + 1
            print(f"  {pair + 1:3} {word}", file=sys.stderr)
    return found


def _words(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(found.items()))


def hog() -> Iterator[Figure]:
    """A program that takes every CPU, started after the first processes of a point."""
    flagged = 0
    for _ in range(_HOGGED):
        hogs: list[subprocess.Popen[bytes]] = []

        def start(_text: str, share: float, hogs: list[subprocess.Popen[bytes]] = hogs) -> None:
            if share > 0.4 and not hogs:
                hogs.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))

        try:
            with open_workers() as workers:
                point = _point(
                    workers, f"{_PROGRAMS}:rounds", {}, plan=_BRIEF, progress=start, repeats=5
                )
            flagged += "other_load" in point.flags
        finally:
            for process in hogs:
                process.kill()
                process.wait()
    yield Figure(
        f"one CPU taken midway: points of {_HOGGED} flagged", "all", str(flagged),
        flagged == _HOGGED,
    )  # fmt: skip


PARTS: Mapping[str, Callable[[], Iterator[Figure]]] = {
    "overhead": overhead, "coverage": coverage, "aa": aa, "slowdown": slowdown, "hog": hog,
}  # fmt: skip


# How the rows of a part begin; all others are of the first.
_BEGINNINGS = {
    "coverage": "the interval holds", "aa": "A/A", "slowdown": "5 % more", "hog": "one CPU",
}  # fmt: skip


def part_of(what: str) -> str:
    """The part that a row of the table is from, by its first cell."""
    return next((name for name, text in _BEGINNINGS.items() if what.startswith(text)), "overhead")


def main() -> int:
    """Run the parts asked for; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args()
    figures = []
    for name in args.only:
        begin = time.perf_counter()
        for figure in PARTS[name]():
            figures.append(figure)
            print("  ".join(figure.row()), flush=True)
        print(f"  {name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    rows = [figure.row() for figure in figures]
    print(markdown_table(_HEADER, rows))
    if args.write:
        kept = [row for row in rows_between("measuring") if part_of(row[0]) not in args.only]
        rows = sorted([*kept, *rows], key=lambda row: list(PARTS).index(part_of(row[0])))
        write_between("measuring", f"\n{markdown_table(_HEADER, rows)}\n\n{machine()}.\n\n")
    return 1 if any(figure.met is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
