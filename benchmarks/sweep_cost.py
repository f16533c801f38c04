"""What a sweep takes of each point beside its processes: ``python -m benchmarks.sweep_cost``.

The workers answer at once, so all that is left is planning, watching, judging and the store. A
point has six passes (one described, three timed, two for memory), each committed to disk.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.killed_sweep import RUN, answer
from costlab.measurement.process import Cancelled, Outcome, outcome_of
from costlab.store import Store
from costlab.sweep import SweepPlan, expand, run_sweep
from costlab.sweep.run import WorkerPair
from costlab.units import format_value


class _Instant:
    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        return outcome_of(answer(request))


@contextmanager
def _open_instant(_device: str, _threads: int) -> Iterator[WorkerPair]:
    yield _Instant(), _Instant()


class _TimedStore(Store):
    """A store that adds up the time in which it commits."""

    took_s = 0.0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        start = time.perf_counter()
        with super()._transaction():
            yield
        self.took_s += time.perf_counter() - start


def cost(points: int) -> dict[str, float]:
    """Seconds per point: all of it, of a CPU, in the store, and to find that it is done."""
    plan = SweepPlan(expand(["fake"], {"n": range(1, points + 1)}), seed=1, repeats=3)
    with tempfile.TemporaryDirectory() as folder, _TimedStore(Path(folder) / "runs") as store:
        start, cpu = time.perf_counter(), time.process_time()
        done = len(list(run_sweep(plan, store, RUN, opener=_open_instant)))
        whole_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu
        store_s = store.took_s
        start = time.perf_counter()
        left = len(list(run_sweep(plan, store, RUN, opener=_open_instant)))
        again_s = time.perf_counter() - start
    if (done, left) != (points, 0):
        raise RuntimeError(f"{done} points and {left} again, not {points} and 0")
    seconds = {"whole": whole_s, "processor": cpu_s, "store": store_s, "resume": again_s}
    return {name: value / points for name, value in seconds.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=60)
    found = cost(parser.parse_args(argv).points)
    for name, text in (
        ("whole", "beside its processes a point takes"),
        ("processor", "of a processor"),
        ("store", "in the store"),
        ("resume", "to find that it is done already"),
    ):
        print(f"{text:36} {format_value(found[name], 's')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
