"""Kills sweeps at random moments and counts what is lost: ``python -m benchmarks.kills``.

Three kinds of SIGKILL: of the sweep's process at any moment, of that process the moment the
store's log changes (so amid a commit), and of a process that measures. After each, the store must
hold every point that the sweep had acknowledged, unchanged. Every sweep is resumed until it is
complete, failed points are measured again on request, and the results are compared with those of
a sweep that nobody disturbed. Most sweeps have workers that measure nothing, which makes their
results equal to the last digit; the last ones measure. Exit code 1 if anything is lost, twice
there, different, or left running.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.killed_sweep import READY, RUN, stable, started
from costlab.measurement.timing import TimingPlan
from costlab.store import Store
from costlab.sweep import SweepPlan, expand
from costlab.sweep.failures import has_failed

KINDS = ("parent", "store", "child")
_GONE_S = 5.0
_BRIEF = TimingPlan(warmup_s=0.02, min_samples=3, min_time_s=0.01, max_time_s=0.05)
_FACTORY = """
import torch

def double(n: int):
    return (lambda x: x + x), (torch.randn(n),)
"""


@dataclass
class Tally:
    """What the kills have done; everything but ``kills``, ``sweeps`` and ``failed`` must be 0."""

    kills: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    points: int = 0
    failed: int = 0
    lost: int = 0
    changed: int = 0
    duplicated: int = 0
    different: int = 0
    broken: int = 0
    orphans: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong."""
        wrong = (self.lost, self.changed, self.duplicated, self.different, self.broken)
        return not any((*wrong, self.orphans))


class Trial:
    """One store whose sweep is killed again and again, then completed and compared."""

    def __init__(
        self, folder: Path, plan: SweepPlan, real: bool, expected: Mapping[str, str], tally: Tally
    ) -> None:
        self._expected = expected
        self._store = folder / "runs.sqlite"
        self._plan = plan
        self._real = real
        self._tally = tally
        self._acknowledged: set[str] = set()

    def kill(self, kind: str, delay_s: float) -> bool:
        """Start or resume the sweep and kill it after ``delay_s``; False if it ended before."""
        with started(self._store, self._plan, self._real) as (sweep, heard):
            struck = _strike(psutil.Process(sweep.pid), kind, delay_s, self._store)
            sweep.join()
            # Without the process that measured, a sweep goes on and must come to its end; one that
            # ended by itself just before the kill was not killed.
            killed = struck is not None and (kind == "child" or sweep.exitcode == -signal.SIGKILL)
            self._tally.kills[kind] += killed
            self._tally.broken += sweep.exitcode not in (0, -signal.SIGKILL)
            self._hear(heard)
            self._tally.orphans += _left_running(struck or [])
        self._check()
        return killed

    def complete(self) -> None:
        """Let the sweep end, measure failed points again, and compare with an unbroken one."""
        with started(self._store, self._plan, self._real, retry=True) as (sweep, heard):
            sweep.join()
            self._tally.broken += sweep.exitcode != 0
            self._hear(heard)
        self._check()
        found = _results(self._store, self._real)
        self._tally.sweeps += 1
        self._tally.points += len(found)
        self._tally.different += len(self._expected.items() ^ found.items())

    def _hear(self, heard: Path) -> None:
        """Note what the sweep has acknowledged; a line it was killed in does not count."""
        for line in heard.read_bytes().removeprefix(READY).splitlines(keepends=True):
            if line.endswith(b"\n"):
                self._acknowledged.add(_text(json.loads(line)))

    def _check(self) -> None:
        """Compare the store with what was acknowledged."""
        with Store(self._store) as store:
            history = store.points(RUN, history=True)
            latest = {point["point"]: _text(point) for point in store.points(RUN)}
        sound = Counter(point["point"] for point in history if not has_failed(point))
        everything = {_text(point) for point in history}
        self._tally.failed = max(self._tally.failed, len(history) - sound.total())
        self._tally.duplicated += sum(count - 1 for count in sound.values())
        for text in self._acknowledged:
            point = json.loads(text)
            self._tally.lost += text not in everything
            # A failure is history once the point has been measured again.
            if not has_failed(point):
                self._tally.changed += latest.get(point["point"]) != text


def _text(point: dict[str, Any]) -> str:
    """A point as it was printed, to be compared."""
    return json.dumps({name: point[name] for name in point if name != "asked"}, sort_keys=True)


def _results(path: Path, real: bool) -> dict[str, str]:
    """What a sweep must give whether it was killed or not, by point."""
    with Store(path) as store:
        points = store.points(RUN)
    if real:
        # Times differ from run to run; which points there are and what they take up does not.
        kept = ("sizes", "mode", "threads", "peak_bytes")
        return {
            point["point"]: _text(
                {name: point[name] for name in kept} | {"ok": bool(point["time_s"])}
            )
            for point in points
        }
    return {point["point"]: _text(stable(point)) for point in points}


def _strike(
    parent: psutil.Process, kind: str, delay_s: float, store: Path
) -> list[psutil.Process] | None:
    """Kill, and return the sweep's processes as they were; None if it had ended."""
    end = time.monotonic() + delay_s
    log = store.with_name(store.name + "-wal")
    try:
        while time.monotonic() < end:
            if not _running(parent):
                return None
            time.sleep(0.005)
        if kind == "child":
            return _kill_child(parent)
        if kind == "store":
            before = _state(log)
            while _state(log) == before:
                if not _running(parent):
                    return None
        family = parent.children(recursive=True)
        parent.kill()
        return family
    except psutil.NoSuchProcess:
        return None


def _kill_child(parent: psutil.Process) -> list[psutil.Process] | None:
    while _running(parent):
        # The youngest measures: a fork server is older than the workers it has forked.
        children = parent.children(recursive=True)
        if children:
            with contextlib.suppress(psutil.NoSuchProcess):
                max(children, key=psutil.Process.create_time).kill()
                return children
    return None


def _running(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _state(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _left_running(processes: Sequence[psutil.Process]) -> int:
    end = time.monotonic() + _GONE_S
    while any(map(_running, processes)) and time.monotonic() < end:
        time.sleep(0.02)
    return sum(map(_running, processes))


def unbroken(folder: Path, plan: SweepPlan, real: bool) -> dict[str, str]:
    """The results of the sweep that nobody disturbs."""
    path = folder / f"unbroken-{real}.sqlite"
    with started(path, plan, real) as (sweep, _heard):
        sweep.join()
    return _results(path, real)


def run(kills: int, real: int, seed: int) -> Tally:
    """Kill sweeps ``kills`` times, ``real`` of them sweeps that measure."""
    rng = random.Random(seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        factory = folder / "mine.py"
        factory.write_text(_FACTORY)
        for measured, count in ((False, kills - real), (True, real)):
            target, sizes = (f"{factory}:double", 4) if measured else ("fake", 8)
            points = expand([target], {"n": [3 + 2 * place for place in range(sizes)]})
            plan = SweepPlan(points, seed, repeats=3, resident=not measured, timing=_BRIEF, block=6)
            expected = unbroken(folder, plan, measured) if count else {}
            last = tally.kills.total() + count
            while tally.kills.total() < last:
                plan = replace(plan, seed=rng.randrange(2**31))
                home = Path(tempfile.mkdtemp(dir=folder))
                trial = Trial(home, plan, measured, expected, tally)
                for _kill in range(min(rng.randint(2, 6), last - tally.kills.total())):
                    kind = KINDS[tally.kills.total() % len(KINDS)]
                    if not trial.kill(kind, rng.uniform(0, 5.0 if measured else 0.6)):
                        break
                trial.complete()
    return tally


def main(argv: Sequence[str] | None = None) -> int:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--real", type=int, default=8, help="kills of sweeps that measure")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    args = parser.parse_args(argv)
    start = time.monotonic()
    tally = run(args.kills, args.real, args.seed)
    kinds = ", ".join(f"{tally.kills[kind]} of the {kind}" for kind in KINDS)
    print(f"seed {args.seed}: {tally.kills.total()} kills ({kinds}) over {tally.sweeps} sweeps")
    print(f"{tally.points} points complete, {tally.lost} lost, {tally.changed} changed, "
          f"{tally.duplicated} duplicated, {tally.different} unlike an unbroken sweep's, "
          f"{tally.broken} sweeps broken off, {tally.orphans} processes left running; "
          f"{time.monotonic() - start:.0f} s")  # fmt: skip
    return 0 if tally.sound else 1


if __name__ == "__main__":
    sys.exit(main())
