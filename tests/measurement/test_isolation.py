"""Processes of their own: what a parent holds, kills, out of memory, hogs, and orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from costlab.measurement.api import measure, open_workers
from costlab.measurement.point import PointSpec
from costlab.measurement.process import GRACE_S, SpawnedWorkers, Workers
from costlab.measurement.requests import request_of
from costlab.measurement.timing import TimingPlan

_PROGRAMS = Path(__file__).with_name("programs.py")
_ROOT = Path(__file__).parents[2]
_BRIEF = TimingPlan(warmup_s=0.02, min_samples=3, min_time_s=0.01, max_time_s=0.05)
_MIB = 2**20


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs leave their notes, each under its name."""
    return tmp_path_factory.mktemp("notes")


@pytest.fixture(scope="module")
def workers(notes: Path) -> Iterator[Workers]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOTE_FOLDER", str(notes))
        with open_workers() as opened:
            yield opened


def _target(factory: str) -> str:
    return f"{_PROGRAMS}:{factory}"


def test_what_the_parent_holds_is_not_in_the_childs_peak() -> None:
    """A plain fork, or getrusage in any child, would show the parent's 500 MiB."""
    held = bytearray(os.urandom(_MIB) * 500)
    outcome = SpawnedWorkers(1).run(
        request_of("resident", PointSpec(_target("square"), {"n": 1003})), 120.0
    )
    peak, baseline = (outcome.message[f"rss_{name}_bytes"] for name in ("peak", "baseline"))

    assert len(held) == 500 * _MIB
    assert 20 * _MIB < baseline <= peak < 480 * _MIB
    # A factory's 4 kB, and what the first call of an operator sets up.
    assert peak - baseline < 80 * _MIB


def test_every_repeat_and_every_pass_has_a_process_of_its_own(
    workers: Workers, notes: Path
) -> None:
    point = measure(
        _target("logs_its_process"), {"n": 3}, plan=_BRIEF, workers=workers, repeats=3,
        resident=False,
    )  # fmt: skip
    lines = (notes / "logs_its_process").read_text().split()

    # Timed processes (more than three where cores are shared) and the memory pass; the profiler
    # is on in the last alone.
    timed = len(point.processes)
    assert 3 <= timed <= 6
    assert len({line.split(":")[0] for line in lines}) == timed + 1
    assert sorted(line.split(":")[1] for line in lines) == ["off"] * timed + ["off", "on"]
    names = ["describe", "timing", "memory"] + ["timing"] * (timed - 1)
    assert [one.name for one in point.passes] == names
    assert [one.profiled for one in point.passes if one.name == "timing"] == [False] * timed


def test_a_process_stuck_in_c_code_is_gone_in_time_and_grace(workers: Workers, notes: Path) -> None:
    """It has a handler for SIGTERM, which Python runs only after the C call has returned."""
    workers.run(request_of("describe", PointSpec(_target("square"), {"n": 3})), 60.0)
    start = time.monotonic()
    outcome = workers.run(
        {**request_of("timing", PointSpec(_target("stuck_in_c"), {"n": 3})), "plan": {}}, 2.0
    )
    gone_after_s = time.monotonic() - start

    assert outcome.status == "timeout"
    assert not Path(f"/proc/{int((notes / 'stuck_in_c').read_text())}").exists()
    # Room for a machine that is busy; the call itself would take hours.
    assert 2.0 + GRACE_S <= gone_after_s < 2.0 + GRACE_S + 3.0


def test_a_child_at_its_memory_limit_is_out_of_memory(workers: Workers) -> None:
    point = measure(
        _target("limited"), {"n": 64}, plan=_BRIEF, workers=workers, repeats=3, resident=False
    )

    assert (point.status, point.time_s) == ("oom", None)


def test_a_failure_is_tried_once(workers: Workers, notes: Path) -> None:
    point = measure(_target("logs_and_dies"), {"n": 3}, plan=_BRIEF, workers=workers, repeats=3)

    assert point.status == "crash"
    assert len((notes / "logs_and_dies").read_text().split()) == 1


def test_the_parent_idles_while_a_worker_runs(workers: Workers) -> None:
    workers.run(request_of("describe", PointSpec(_target("square"), {"n": 3})), 60.0)
    cpu_s, begin_s = time.process_time(), time.monotonic()

    measure(_target("sleeper"), {"n": 3}, workers=workers, repeats=3, timeout_s=2.0)

    assert time.monotonic() - begin_s >= 2.0
    assert time.process_time() - cpu_s < 0.5


def test_a_hog_that_starts_midway_flags_the_row(workers: Workers) -> None:
    hogs: list[subprocess.Popen[bytes]] = []

    def start_hogs(_text: str, share: float) -> None:
        if share > 0.3 and not hogs:
            spin = [sys.executable, "-c", "while True: pass"]
            hogs.extend(subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1)))

    plan = TimingPlan(warmup_s=0.05, min_samples=3, min_time_s=0.5, max_time_s=1.0)
    try:
        point = measure(
            _target("square"), {"n": 100_003}, plan=plan, workers=workers, repeats=3,
            resident=False, progress=start_hogs,
        )  # fmt: skip
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()

    assert hogs
    assert "other_load" in point.flags
    timed = [one.others_cpus for one in point.passes if one.name == "timing"]
    assert timed[-1] is not None and timed[-1] > 0.3


def test_a_killed_parent_leaves_no_process(tmp_path: Path) -> None:
    note = tmp_path / "says_its_pid_and_sleeps"
    code = (
        "from costlab.measurement.api import measure\n"
        f"measure({_target('says_its_pid_and_sleeps')!r}, {{'n': 3}})\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", code], start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT), "NOTE_FOLDER": str(tmp_path)},
    )  # fmt: skip
    try:
        _until(lambda: note.exists() and note.read_text().endswith("\n"))
        worker, server = map(int, note.read_text().split())
        assert _alive(worker) and _alive(server)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        _until(lambda: not _alive(worker) and not _alive(server))
    finally:
        parent.kill()


def _alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(done: object) -> None:
    assert callable(done)
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_harness_overhead_is_on_the_row(workers: Workers) -> None:
    """The null point: all that a point takes beside the calls of its program."""
    point = measure(
        _target("square"), {"n": 3}, plan=_BRIEF, workers=workers, repeats=3, resident=False
    )

    assert point.wall_s is not None and point.called_s is not None
    assert 0 < point.called_s < point.wall_s
    assert sum(one.wall_s for one in point.passes) <= point.wall_s
    assert all(one.watch_cpu_s < 0.5 for one in point.passes)
    assert all(timing.timer_share is not None for timing in point.processes)
