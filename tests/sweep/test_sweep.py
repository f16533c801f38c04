"""Sweeps of real processes, cut short and resumed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from costlab.measurement.timing import TimingPlan
from costlab.store import Store
from costlab.sweep import SweepPlan, expand, resume, run_sweep
from costlab.sweep.run import Opener, open_pair

_ROOT = Path(__file__).parents[2]
_FACTORY = """
import torch

def double(n: int):
    return (lambda x: x + x), (torch.randn(n),)
"""
_BRIEF = TimingPlan(warmup_s=0.02, min_samples=3, min_time_s=0.01, max_time_s=0.05)
_SWEEP = """
import json
import sys
from pathlib import Path
from costlab.store import Store
from costlab.sweep import SweepPlan, run_sweep
plan = SweepPlan.from_json(json.loads(sys.argv[2]))
with Store(Path(sys.argv[1])) as store:
    for point in run_sweep(plan, store, "r"):
        print(point.point, flush=True)
"""


def _plan(*targets: str, n: list[int]) -> SweepPlan:
    """A plan whose points take as little time as they can."""
    return SweepPlan(expand(targets, {"n": n}), seed=4, repeats=3, resident=False, timing=_BRIEF)


@pytest.fixture(scope="module")
def opener() -> Iterator[Opener]:
    """Real workers of this machine's CPU that go on from one sweep to the next."""
    with open_pair("cpu", 1) as workers:
        yield lambda _device, _threads: contextlib.nullcontext(workers)


@pytest.fixture
def target(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(_FACTORY)
    return f"{file}:double"


def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path: Path, target: str) -> None:
    path = tmp_path / "runs.sqlite"
    plan = _plan(target, n=[3, 5, 7])
    sweep = subprocess.Popen(
        [sys.executable, "-c", _SWEEP, str(path), json.dumps(plan.to_json())],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert sweep.stdout is not None
    first = sweep.stdout.readline().decode().strip()
    sweep.send_signal(signal.SIGKILL)
    sweep.wait()
    sweep.stdout.close()

    with Store(path) as store:
        before = [point["point"] for point in store.points("r")]
        more = list(resume(store, "r"))
        points = store.points("r", history=True)

    assert before[0] == first
    assert len(before) + len(more) == 3
    assert sorted(point["sizes"]["n"] for point in points) == [3, 5, 7]


def test_points_are_stored_as_they_come_and_a_bad_one_costs_only_itself(
    tmp_path: Path, target: str, opener: Opener
) -> None:
    plan = _plan(target, "no_such_thing", n=[3])
    with Store(tmp_path / "runs.sqlite") as store:
        seen = []
        for result in run_sweep(plan, store, "r", opener=opener):
            seen.append((result.architecture, result.status))
            assert store.statuses("r")[result.point] == result.status
            assert result.run == "r"
        again = list(run_sweep(plan, store, "r", opener=opener))
        failed = list(run_sweep(plan, store, "r", retry_failed=True, opener=opener))
        stored = {point["architecture"]: point for point in store.points("r")}

    assert dict(seen)["no_such_thing"] == "crash"
    assert dict(seen)[target] in ("ok", "noisy")
    assert "no_such_thing" in stored["no_such_thing"]["reasons"]["time_s"]
    assert 3 <= len(stored[target]["processes"]) <= 6
    assert again == []
    assert [result.architecture for result in failed] == ["no_such_thing"]


def test_changed_code_is_measured_again(tmp_path: Path, target: str, opener: Opener) -> None:
    plan = _plan(target, n=[3])
    with Store(tmp_path / "runs.sqlite") as store:
        first = list(run_sweep(plan, store, "r", opener=opener))
        Path(target.rpartition(":")[0]).write_text(_FACTORY.replace("x + x", "x * x"))
        second = list(run_sweep(plan, store, "r", opener=opener))

    assert len(first) == len(second) == 1
    assert first[0].point != second[0].point


def test_a_cancel_ends_the_sweep_and_leaves_the_point_open(
    tmp_path: Path, target: str, opener: Opener
) -> None:
    plan = _plan(target, n=[3, 5])
    with Store(tmp_path / "runs.sqlite") as store:
        cancelled = list(run_sweep(plan, store, "r", cancelled=lambda: True, opener=opener))
        rest = list(run_sweep(plan, store, "r", opener=opener))

    assert [result.status for result in cancelled] == ["cancelled"]
    assert len(rest) == 2


def test_a_spent_budget_ends_the_sweep(tmp_path: Path, target: str) -> None:
    plan = SweepPlan(expand([target], {"n": [3]}), seed=1, budget_s=1e-9)
    start = time.monotonic()
    with Store(tmp_path / "runs.sqlite") as store:
        assert list(run_sweep(plan, store, "r")) == []

    assert time.monotonic() - start < 5
