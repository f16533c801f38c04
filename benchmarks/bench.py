"""How long CostLab takes: start-up, derivation, evaluation, maps and deep modules.

``python -m benchmarks.bench`` prints each figure beside its target and puts the table into
README.md when all parts ran. ``--only start layer list deep points map tick``; ``--rounds N``
calls of which the shortest counts. Speed is reported: the exit status is 1 only where an answer is
wrong.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import catalogue, deep, evaluation
from benchmarks.clock import Took, command, in_fresh_process, shortest, stretch
from benchmarks.tables import machine, markdown_table, write_between
from costlab.arch import registry
from costlab.units import format_ratio, format_value

_HEADER = ("what", "target", "time", "processor time", "")
_BARE = "pass"
_STARTS = {
    "`import costlab`, over bare Python": "import costlab",
    "`costlab --help`, over bare Python": (
        "from costlab.cli.__main__ import main; main(['--help'])"
    ),
}
_HEAVY = ("numpy", "sympy", "torch")
_STARTS_EACH = 11
_START_S, _LAYER_S, _LIST_S, _POINTS_S, _MAP_S, _TICK_S = 0.3, 5.0, 240.0, 1.0, 0.1, 0.006
_DEEP = 1.5
_QUIET = 1.1


@dataclass(frozen=True, slots=True)
class Figure:
    """A row: what was timed, its target and outcome, and what is wrong with the answer if any."""

    what: str
    target: str
    wall: str
    cpu: str
    met: bool
    wrong: tuple[str, ...] = ()

    @classmethod
    def seconds(cls, what: str, limit_s: float, took: Took, wrong: Sequence[str] = ()) -> Figure:
        """A time, judged by the clock on the wall."""
        return cls(
            what, f"< {limit_s:g} s", format_value(took.wall_s, "s"),
            format_value(took.cpu_s, "s"), took.wall_s < limit_s, tuple(wrong),
        )  # fmt: skip

    def row(self) -> tuple[str, ...]:
        verdict = "WRONG" if self.wrong else "met" if self.met else "missed"
        return (self.what, self.target, self.wall, self.cpu, verdict)


def start(_rounds: int) -> Iterator[Figure]:
    """Start-up beyond bare Python's, each in processes of its own, and what it has imported."""
    codes = [_BARE, *_STARTS.values()]
    times: dict[str, list[Took]] = {code: [] for code in codes}
    for _turn in range(_STARTS_EACH):
        for code in codes:
            times[code].append(command([sys.executable, "-c", code])[0])
    check = f"; import sys; sys.exit(', '.join({set(_HEAVY)} & set(sys.modules)) or 0)"
    for what, code in _STARTS.items():
        took = shortest(times[code]) - shortest(times[_BARE])
        loaded = _complaint([sys.executable, "-c", code + check])
        yield Figure.seconds(what, _START_S, took, [f"{what} loads {loaded}"] if loaded else [])


def layer(_rounds: int) -> Iterator[Figure]:
    """One derivation, torch imported before: the slowest and the median of the catalogue."""
    found = in_fresh_process(catalogue.one_by_one, ("forward", "train"))
    name, mode = slowest = max(found, key=lambda program: found[program].wall_s)
    over = sum(took.wall_s >= _LAYER_S for took in found.values())
    title = f"one layer, slowest of {len(found)}: `{name}` {mode}"
    if over > 1:
        title += f"; {over} take longer than the target"
    yield Figure.seconds(title, _LAYER_S, found[slowest])
    middle = Took(
        statistics.median(took.wall_s for took in found.values()),
        statistics.median(took.cpu_s for took in found.values()),
    )
    yield Figure.seconds("one layer, median", _LAYER_S, middle)


def whole_list(_rounds: int) -> Iterator[Figure]:
    """The whole catalogue in two new processes, their start included."""
    took, _output = command([sys.executable, "-m", "benchmarks.catalogue", "--processes", "2"])
    count = len(catalogue.programs())
    entries = len(registry.names())
    title = f"the whole catalogue, {entries} entries, {count} programs, cold, 2 processes"
    yield Figure.seconds(title, _LIST_S, took)


def deep_modules(rounds: int) -> Iterator[Figure]:
    """96 layers against 6, and the formulas of 96 against a counted run of 96."""
    for title in deep.CASES:
        for found in in_fresh_process(deep.depths, title, rounds, time.time_ns()):
            proof = "" if found.proof else " without proof"
            yield Figure(
                f"{title}, {found.mode}{proof}: {deep.MANY} layers over {deep.FEW}",
                f"<= {_DEEP:g}x",
                f"{format_ratio(found.many.wall_s / found.few.wall_s)}"
                f" ({format_value(found.many.wall_s, 's')})",
                f"{format_ratio(found.ratio)} ({format_value(found.many.cpu_s, 's')})",
                found.ratio <= _DEEP,
                tuple(f"{title}: {miss}" for miss in found.miscounts),
            )


def points(rounds: int) -> Iterator[Figure]:
    """A million points of one formula."""
    for found in in_fresh_process(evaluation.million_points, rounds):
        yield Figure.seconds(found.what, _POINTS_S, found.took, found.wrong)


def maps(rounds: int) -> Iterator[Figure]:
    """A winner map, on a machine of published peaks and on this one if it is calibrated."""
    for found in in_fresh_process(evaluation.winner_maps, rounds):
        yield Figure.seconds(found.what, _MAP_S, found.took, found.wrong)


def ticks(rounds: int) -> Iterator[Figure]:
    """What a move of a slider evaluates in the app."""
    for found in in_fresh_process(evaluation.ticks, rounds):
        yield Figure.seconds(found.what, _TICK_S, found.took, found.wrong)


PARTS: Mapping[str, Callable[[int], Iterator[Figure]]] = {
    "start": start,
    "layer": layer,
    "list": whole_list,
    "deep": deep_modules,
    "points": points,
    "map": maps,
    "tick": ticks,
}


def _complaint(argv: Sequence[str]) -> str:
    """The last line a failing command wrote to stderr, "" where it succeeded."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["?"])[-1] if done.returncode else ""


def report(figures: Sequence[Figure], stretched: float, took_s: float) -> str:
    """The table in Markdown, with how it was made."""
    met = sum(figure.met and not figure.wrong for figure in figures)
    text = (
        f"{met} of {len(figures)} targets met, judged by time; ratios by processor time. Each is"
        " the shortest of several, a layer and the list excepted."
    )
    wrong = sum(bool(figure.wrong) for figure in figures)
    if wrong:
        text += f" {wrong} ANSWERS ARE WRONG."
    elif any(str(deep.MANY) in figure.what for figure in figures):
        text += (
            f" In each case the formulas equal what a real run of all {deep.MANY} layers counts:"
            f" {', '.join(deep.COUNTS)}, peak_bytes."
        )
    lines = [
        markdown_table(_HEADER, [figure.row() for figure in figures]),
        "",
        text,
        "",
        f"{machine()}; {took_s:.0f} s.",
    ]
    if stretched > _QUIET:
        lines[-1] += (
            f" Other programs were running: a loop that never waits took {stretched:.2f} times its"
            " processor time, so times are longer than on a quiet machine."
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time every part, print the figures, write the table; 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], metavar="PART")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    args = parser.parse_args(arguments)
    began, stretched = time.monotonic(), stretch()
    figures: list[Figure] = []
    for name in args.only or PARTS:
        for figure in PARTS[name](args.rounds):
            figures.append(figure)
            print("  ".join(figure.row()), flush=True)
            for wrong in figure.wrong:
                print(f"    WRONG {wrong}", flush=True)
    text = report(figures, max(stretched, stretch()), time.monotonic() - began)
    print("\n" + text)
    if not args.only:
        write_between("bench", text)
    return int(any(figure.wrong for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
