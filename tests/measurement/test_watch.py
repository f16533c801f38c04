"""Watching the machine: with fakes for each fact, and once for real."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from costlab.devices.readers import ReplayReader
from costlab.devices.readings import Reading, Sample
from costlab.measurement.watch import Observation, Senses, Watch, other_costlabs, too_busy

_ROOT = Path(__file__).parents[2]


class Machine:
    """A clock that tests move, and CPU time that all processes together have spent."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.busy_s = 5000.0
        self.costlabs: list[int] = []

    def senses(self) -> Senses:
        return Senses(lambda: self.busy_s, lambda: self.costlabs, lambda: self.now_s)

    def pass_by(self, seconds: float, cpus: float) -> None:
        self.now_s += seconds
        self.busy_s += seconds * cpus


def test_the_workers_own_time_is_no_other_load() -> None:
    machine = Machine()
    watch = Watch(senses=machine.senses())
    machine.pass_by(2.0, cpus=1.0)

    assert watch.stop(own_cpu_s=2.0).others_cpus == pytest.approx(0.0)


def test_a_hog_that_starts_midway_is_seen() -> None:
    machine = Machine()
    watch = Watch(senses=machine.senses())
    machine.pass_by(1.0, cpus=1.0)
    machine.pass_by(1.0, cpus=2.0)
    observation = watch.stop(own_cpu_s=2.0)

    assert observation.others_cpus == pytest.approx(0.5)
    assert too_busy([Observation(others_cpus=0.0), observation], cpus=2)


def test_a_worker_that_did_not_live_to_tell_leaves_the_load_unknown() -> None:
    machine = Machine()
    watch = Watch(senses=machine.senses())
    machine.pass_by(2.0, cpus=2.0)

    assert watch.stop(own_cpu_s=None).others_cpus is None


def test_a_pass_too_short_for_the_counters_says_nothing() -> None:
    machine = Machine()
    watch = Watch(senses=machine.senses())
    machine.pass_by(0.1, cpus=2.0)

    assert watch.stop(own_cpu_s=0.1).others_cpus is None


def test_the_limit_grows_with_the_machine_but_not_below_two_cpus() -> None:
    seen = [Observation(others_cpus=0.5)]

    assert too_busy(seen, cpus=1)
    assert too_busy(seen, cpus=4)
    assert not too_busy(seen, cpus=8)
    assert not too_busy([Observation()], cpus=1)


def test_other_costlabs_are_looked_for_before_during_and_after() -> None:
    for moment in ("before", "during", "after"):
        machine = Machine()
        machine.costlabs = [7] if moment == "before" else []
        watch = Watch(senses=machine.senses())
        machine.pass_by(3.0, cpus=1.0)
        machine.costlabs = [7] if moment == "during" else []
        watch.poll()
        machine.costlabs = [7] if moment == "after" else []

        assert watch.stop(own_cpu_s=3.0).costlabs == (7,), moment


def test_the_device_is_read_before_during_and_after_but_not_at_every_poll() -> None:
    machine = Machine()
    samples = [Sample(float(i), 0.0, "g", {"t": Reading(i, "°C")}) for i in range(9)]
    watch = Watch(ReplayReader(samples, id="g", name="G", kind="gpu"), machine.senses())
    for _ in range(10):
        machine.pass_by(0.025, cpus=1.0)
        watch.poll()

    assert [one.readings["t"].value for one in watch.stop(0.25).samples] == [0, 1, 2, 3]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A CostLab worker of somebody else: its parent is a shell that has ended."""
    # Waits for its request until stdin ends.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "costlab.measurement.worker"],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    yield process
    assert process.stdin is not None
    process.stdin.close()
    process.kill()
    process.wait()


def test_a_measuring_costlab_is_found_by_others_and_not_by_its_parent(
    stranger: subprocess.Popen[bytes],
) -> None:
    code = "import json, sys; from costlab.measurement.watch import other_costlabs as o; print(o())"
    for _attempt in itertools.count():
        seen = subprocess.run(
            [sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(_ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        # Between fork and exec the child still has this process's command line.
        if str(stranger.pid) in seen.stdout or _attempt == 20:
            break

    assert str(stranger.pid) in seen.stdout
    assert stranger.pid not in other_costlabs()
