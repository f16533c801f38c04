"""Wall and processor time of calls and of whole processes, and a place to run things cold."""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")
_SPIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Took:
    """How long something took, waiting and other programs included, and its processor time."""

    wall_s: float
    cpu_s: float

    def __sub__(self, other: Took) -> Took:
        return Took(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


def shortest(times: Iterable[Took]) -> Took:
    """The least wall time and the least processor time: what other programs disturbed least."""
    found = list(times)
    return Took(min(t.wall_s for t in found), min(t.cpu_s for t in found))


def timed(function: Callable[[], Result]) -> tuple[Took, Result]:
    """Call ``function`` once; how long it took in this process, and what it returned."""
    before = Took(time.perf_counter(), time.process_time())
    result = function()
    return Took(time.perf_counter(), time.process_time()) - before, result


def repeated(function: Callable[[], object], times: int) -> Took:
    """The shortest of ``times`` calls."""
    return shortest(timed(function)[0] for _call in range(times))


def command(argv: Sequence[str]) -> tuple[Took, str]:
    """Run a command in a process of its own; how long it took, its children too, and its output.

    Raises:
        subprocess.CalledProcessError: if it fails.
    """
    before = Took(time.perf_counter(), _children_s())
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return Took(time.perf_counter(), _children_s()) - before, done.stdout


def in_fresh_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Call ``function``, a module's own, in a new interpreter that has imported nothing else."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def stretch() -> float:
    """Wall time over processor time of a loop that never waits: 1 where the machine is idle."""
    took, _none = timed(_spin)
    return took.wall_s / took.cpu_s


def _spin() -> None:
    until_s = time.process_time() + _SPIN_S
    while time.process_time() < until_s:
        pass


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
