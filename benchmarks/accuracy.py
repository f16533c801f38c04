"""Predicted against measured peak memory and time, for the architectures of ``time_points.toml``.

Run ``python -m benchmarks.accuracy`` (``--quick`` for two sizes each; ``--write`` puts the tables
into README.md; ``--only memory`` or ``time``). Times are those of ``benchmarks.times``. Of peak
memory, both numbers count parameters, buffers, inputs and upstream gradients. Predicted
is the formula; measured is the memory pass of ``costlab profile``. The limits: 64 bytes where
all operators are composite, 1 % with fused attention, 5 % with oneDNN RNNs, convolutions and FFT.
Exit status 1 if a point is over its limit or a goal of the times is missed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import costlab
from benchmarks import times
from benchmarks.peaks import measured_peaks
from benchmarks.points import Bounds, draw_sizes, evaluate
from benchmarks.tables import machine, markdown_table, write_between
from benchmarks.time_points import timed_architectures
from costlab.algebra import as_expr, total
from costlab.arch import registry
from costlab.errors import InputError, UnknownNameError
from costlab.formulas import store
from costlab.formulas.record import CostClass, Derivation
from costlab.measurement.point import PointSpec

MODES = ("forward", "train", "decode")
THREADS = (1, 2)
SLACK_BYTES = 64
_FUSED = {"scaled_dot_product": 0.01, "mkldnn": 0.05, "convolution": 0.05, "fft": 0.05}
_HEADER = (
    "architecture", "mode", "points", "peaks, MiB", "limit", "worst", "at", "measured in",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """One point: bytes predicted and measured, and where each says that the peak lies."""

    point: PointSpec
    predicted_bytes: int
    measured_bytes: int
    limit: float
    predicted_at: str
    measured_in: str

    @property
    def error_bytes(self) -> int:
        return self.predicted_bytes - self.measured_bytes

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.error_bytes / self.measured_bytes

    @property
    def over(self) -> bool:
        """Whether the error is beyond the limit of the operators this program is made of."""
        return abs(self.error_bytes) > max(SLACK_BYTES, self.limit * self.measured_bytes)

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value}" for name, value in self.point.sizes.items())
        flags = "".join(f" {name}" for name, value in self.point.options.items() if value)
        return f"{sizes}{flags} {self.point.threads} thread{'s' * (self.point.threads > 1)}"


def formulas(architecture: str, mode: str, dtype: str, options: dict[str, bool]) -> Derivation:
    """The committed formulas, or derived now where none are."""
    try:
        return store.load(architecture, mode, dtype, options=options)
    except (InputError, UnknownNameError):
        return costlab.derive(architecture, mode=mode, dtype=dtype, options=options)


def limit_of(derivation: Derivation) -> float:
    """Largest relative error allowed: 0 (only the slack) where every operator is composite."""
    operators = {group.op for item in derivation.classes for group in item.groups}
    return max((a for key, a in _FUSED.items() if any(key in op for op in operators)), default=0.0)


def planned_points(
    architecture: str, modes: Iterable[str], dtype: str, count: int, bounds: Bounds
) -> list[Outcome]:
    """Every point of one architecture: modes, options, threads, ``count`` random sizes each."""
    return [
        _expected(derivation, sizes, threads)
        for derivation in derivations(architecture, modes, dtype)
        for sizes in draw_sizes(derivation, count, bounds, _seeded(derivation))
        for threads in THREADS
    ]


def outcomes(planned: Sequence[Outcome]) -> Iterator[Outcome]:
    """The points with what was measured, in one child process."""
    answers = measured_peaks(
        [outcome.point for outcome in planned], [outcome.predicted_bytes for outcome in planned]
    )
    for outcome, answer in zip(planned, answers, strict=True):
        if "peak_bytes" not in answer:
            raise RuntimeError(f"{outcome.point.target} {outcome}: {answer['reason']}")
        yield replace(outcome, measured_bytes=answer["peak_bytes"], measured_in=answer["operator"])


def _seeded(derivation: Derivation) -> random.Random:
    return random.Random(f"{derivation.architecture} {derivation.mode} {derivation.options}")


def _expected(derivation: Derivation, sizes: Mapping[str, int], threads: int) -> Outcome:
    """The prediction for one point, with the measurement still missing (0 bytes)."""
    full = {**derivation.complete(sizes), "threads": threads}
    found = derivation.select(full)
    point = PointSpec(
        derivation.architecture, sizes, derivation.mode, derivation.dtype, "cpu", threads,
        derivation.options,
    )  # fmt: skip
    predicted = int(evaluate(found, "peak_bytes", full))
    return Outcome(point, predicted, 0, limit_of(derivation), _moment(found, full), "")


def derivations(architecture: str, modes: Iterable[str], dtype: str) -> Iterator[Derivation]:
    """Formulas of an architecture in those of ``modes`` it has, with each of its options."""
    spec = registry.spec(architecture)
    for mode in modes:
        if mode not in spec.modes:
            continue
        choices = [{}] if mode == "decode" else _choices(spec.options)
        for options in choices:
            yield formulas(architecture, mode, dtype, options)


def _choices(options: Mapping[str, tuple[bool, ...]]) -> list[dict[str, bool]]:
    return [
        dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())
    ]


def _moment(found: CostClass, full: Mapping[str, int]) -> str:
    """Where the formula has its peak: module, phase and operator."""
    label, _bytes = max(
        ((m.label, as_expr(total(m.live.values())).evaluate(full)) for m in found.moments),
        key=lambda pair: pair[1],
    )
    return label


def rows(found: Sequence[Outcome]) -> list[list[str]]:
    """One row of the table for each mode of one architecture, with its worst point."""
    lines = []
    for mode in dict.fromkeys(outcome.point.mode for outcome in found):
        chosen = [outcome for outcome in found if outcome.point.mode == mode]
        worst = max(chosen, key=lambda o: (o.over, abs(o.error_bytes)))
        peaks = [outcome.measured_bytes / 2**20 for outcome in chosen]
        limit = f"{100 * worst.limit:g} %" if worst.limit else f"{SLACK_BYTES} B"
        over = sum(outcome.over for outcome in chosen)
        lines.append([
            worst.point.target,
            mode,
            str(len(chosen)),
            f"{min(peaks):.0f} to {max(peaks):.0f}",
            limit + (f", {over} over" if over else ""),
            f"{worst.error_bytes:+d} B ({100 * worst.error:+.2g} %)" if worst.error_bytes else "0",
            str(worst) if worst.error_bytes else "",
            worst.measured_in if worst.error_bytes else "",
        ])  # fmt: skip
    return lines


def report(found: Sequence[Outcome], took_s: float) -> str:
    """The table in Markdown, with the worst case and the machine."""
    by_name: dict[str, list[Outcome]] = {}
    for outcome in found:
        by_name.setdefault(outcome.point.target, []).append(outcome)
    table = markdown_table(_HEADER, [row for chosen in by_name.values() for row in rows(chosen)])
    over = sum(outcome.over for outcome in found)
    worst = max(found, key=lambda outcome: abs(outcome.error))
    lines = [
        table,
        "",
        f"{len(found)} points (forward and decode without gradients; 1 and 2 threads; with and"
        f" without a causal mask), {over} over their limit.",
        f"Worst: {worst.point.target} {worst.point.mode} at {worst},"
        f" {100 * worst.error:+.3g} % ({worst.error_bytes:+d} B):"
        f" measured in `{worst.measured_in}`, predicted in `{worst.predicted_at}`.",
        "",
        f"{machine()}; {took_s:.0f} s.",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("architectures", nargs="*", help="default: those of the times")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--sizes", type=int, default=6, help="sizes of each (default 6)")
    parser.add_argument("--quick", action="store_true", help="two sizes of each")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    parser.add_argument("--only", choices=("memory", "time"), help="one half (default: both)")
    args = parser.parse_args(arguments)
    status = 0 if args.only == "time" else _memory(args)
    if args.only != "memory":
        chosen = ["--modes", args.modes, *(["--write"] if args.write else [])]
        status |= times.main([*args.architectures, *chosen])
    return status


def _memory(args: argparse.Namespace) -> int:
    start = time.monotonic()
    found: list[Outcome] = []
    for name in args.architectures or timed_architectures():
        count = 2 if args.quick else args.sizes
        planned = planned_points(name, args.modes.split(","), args.dtype, count, Bounds())
        chosen = list(outcomes(planned))
        found += chosen
        for row in rows(chosen):
            print("  ".join(row), flush=True)
        for outcome in chosen:
            if outcome.over:
                print(f"    over: {outcome.point.mode} {outcome}: {outcome.error_bytes:+d} B"
                      f" ({100 * outcome.error:+.3g} %), measured in {outcome.measured_in},"
                      f" predicted in {outcome.predicted_at}", flush=True)  # fmt: skip
    text = report(found, time.monotonic() - start)
    print("\n" + text)
    if args.write:
        write_between("accuracy", text)
    return int(any(outcome.over for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
