"""The sweeps that ``benchmarks.kills`` kills: in a process of their own, real or with workers that
measure nothing.

Those workers are forked, which takes milliseconds, and their answers are the same every time, so
that the results of a sweep that was killed can be compared with those of one that was not.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from costlab.devices import fingerprint
from costlab.measurement.process import Cancelled, Outcome, death, memory_state, outcome_of
from costlab.measurement.worker import die_with_parent
from costlab.store import Store
from costlab.sweep import SweepPlan, run_sweep
from costlab.sweep.run import WorkerPair, open_pair

RUN = "r"
READY = b"ready\n"
_PASS_S = 0.005
# Sweeps are forked from a server that has imported what they need and runs no thread.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["benchmarks.killed_sweep"])


class FakeWorkers:
    """Runs each request in a process of its own."""

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        memory = memory_state()
        parent = os.getpid()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            die_with_parent(parent)
            time.sleep(_PASS_S)
            os.write(writing, json.dumps(answer(request)).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            content = pipe.read()
        _pid, status = os.waitpid(pid, 0)
        if not content:
            return death(os.waitstatus_to_exitcode(status), "", memory)
        return outcome_of(json.loads(content))


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The message of one pass; times in seconds."""
    kind, spec = request["pass"], request["spec"]
    n = spec["sizes"]["n"]
    if kind == "describe":
        return {"kind": kind, "sizes": spec["sizes"], "code": "code"}
    if kind == "timing":
        timing = {
            "median_s": n / 1000, "samples_s": [n / 1000] * 100, "first_call_s": n / 500,
            "warmup_calls": 6, "calls_per_sample": 1, "cpu_share": 1.0, "drift": 0.0,
            "relative_iqr": 0.0,
        }  # fmt: skip
        check: dict[str, Any] = {
            "before": [], "after": [], "varied": None, "varied_s": [], "same_s": [],
            "constant_inputs": False,
        }  # fmt: skip
        return {"kind": kind, "timing": timing, "sound": True, "check": check}
    return {"kind": kind, "peak_bytes": 64 * n, "rss_peak_bytes": 4096 * n}


_OF_THE_MOMENT = ("timed_at", "wall_s", "passes")
_OF_OTHERS = frozenset({"other_load", "other_costlab"})


def stable(point: Mapping[str, Any]) -> dict[str, Any]:
    """A stored point without what depends on when it was measured and on who else was there."""
    kept = {name: value for name, value in point.items() if name not in _OF_THE_MOMENT}
    return {**kept, "flags": [flag for flag in point["flags"] if flag not in _OF_OTHERS]}


@contextmanager
def open_fake(_device: str, _threads: int) -> Iterator[WorkerPair]:
    """Workers that measure nothing."""
    workers = FakeWorkers()
    yield workers, workers


@contextmanager
def started(
    store: Path, plan: SweepPlan, real: bool, *, retry: bool = False
) -> Iterator[tuple[BaseProcess, Path]]:
    """A process that runs or resumes the sweep, and the file of the points it acknowledges."""
    handle, name = tempfile.mkstemp(dir=store.parent)
    os.close(handle)
    process = _CONTEXT.Process(target=_sweep, args=(store, plan, real, retry, Path(name)))
    process.start()
    try:
        # A kill amid imports would show nothing.
        while not Path(name).stat().st_size and process.is_alive():
            time.sleep(0.005)
        yield process, Path(name)
    finally:
        process.kill()
        process.join()


def _sweep(path: Path, plan: SweepPlan, real: bool, retry: bool, heard: Path) -> None:
    """Run or resume the sweep and write down each point that is yielded."""
    with heard.open("ab", buffering=0) as acknowledged, Store(path) as store:
        store.start_run(RUN, plan.to_json(), fingerprint().to_json())
        acknowledged.write(READY)
        opener = open_pair if real else open_fake
        for result in run_sweep(plan, store, RUN, retry_failed=retry, opener=opener):
            acknowledged.write(json.dumps(result.to_json(raw=True)).encode() + b"\n")
