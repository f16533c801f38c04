"""The fingerprint, and its parts read from made-up systems."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from costlab.devices import Cache, Environment, fingerprint
from costlab.devices.limits import Limits, cgroup_limits
from costlab.devices.processor import cpu_caches, cpu_model
from tests.devices.fake_nvml import UUIDS, loaded


def test_fingerprint_is_stable_and_survives_json() -> None:
    environment = fingerprint()
    again = Environment.from_json(json.loads(json.dumps(environment.to_json())))

    assert fingerprint().id == environment.id
    assert again == environment
    assert again.id == environment.id


def test_gpus_of_the_fingerprint_survive_json_and_enter_the_id() -> None:
    """Settings that change what is measured make another environment; live values are not in it."""
    with loaded("mig=1"):
        with_mig = fingerprint()
    with loaded():
        environment = fingerprint()

    assert [gpu.uuid for gpu in environment.gpus] == list(UUIDS)
    assert Environment.from_json(json.loads(json.dumps(environment.to_json()))) == environment
    assert with_mig.id != environment.id
    for field, value in (("power_limit_w", 500.0), ("persistence", False), ("driver", "581.1")):
        changed = dataclasses.replace(environment.gpus[1], **{field: value})  # type: ignore[arg-type]
        gpus = (environment.gpus[0], changed)
        assert dataclasses.replace(environment, gpus=gpus).id != environment.id


def test_a_record_from_before_a_field_existed_is_read() -> None:
    data = fingerprint().to_json()
    data["gpus"] = [{"name": "A", "uuid": "GPU-1", "memory_bytes": 5, "driver": "570"}]

    assert Environment.from_json(data).gpus[0].power_limit_w is None


@pytest.mark.parametrize(
    "variable", ["LD_PRELOAD", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "PYTORCH_ALLOC_CONF"]
)
def test_variables_that_change_what_is_measured_enter_the_id(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    before = fingerprint()
    monkeypatch.setenv(variable, "3")

    assert fingerprint().variables[variable] == "3"
    assert fingerprint().id != before.id


def test_fingerprint_agrees_with_the_system() -> None:
    environment = fingerprint()

    assert environment.python == sys.version.split()[0]
    assert len(environment.affinity) == len(os.sched_getaffinity(0))
    assert environment.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"cpu": "another"}, False),
        ({"torch": "0.1"}, False),
        ({"affinity": (0,)}, False),
        ({"variables": {"OMP_NUM_THREADS": "7"}}, False),
        ({"release": "another kernel"}, True),
        ({"reasons": {"gpus": "other words"}}, True),
    ],
)
def test_only_stable_facts_enter_the_id(change: dict[str, object], same: bool) -> None:
    environment = dataclasses.replace(fingerprint(), affinity=(0, 1, 2))
    changed = dataclasses.replace(environment, **change)  # type: ignore[arg-type]

    assert (changed.id == environment.id) is same


def test_a_kernel_update_that_moves_memory_a_little_keeps_the_id() -> None:
    environment = dataclasses.replace(fingerprint(), memory_bytes=64 * 2**30)
    updated = dataclasses.replace(environment, memory_bytes=64 * 2**30 - 40 * 2**20)

    assert updated.id == environment.id


def test_fingerprint_imports_no_torch() -> None:
    code = "import sys, costlab.devices as d; d.fingerprint(); sys.exit('torch' in sys.modules)"
    root = Path(__file__).parents[2]

    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(root)}, check=False
    )

    assert done.returncode == 0


def test_cpu_model_from_cpuinfo(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Some CPU: 3 GHz\n\nprocessor\t: 1\n")

    assert cpu_model(cpuinfo) == "Some CPU: 3 GHz"
    assert cpu_model(tmp_path / "missing")


def test_caches_leave_instructions_out(tmp_path: Path) -> None:
    for index, (kind, level, size) in enumerate(
        [("Unified", "3", "33M"), ("Instruction", "1", "64K"), ("Data", "1", "48K")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(text + "\n")

    assert cpu_caches(tmp_path) == (Cache(1, 48 * 2**10), Cache(3, 33 * 2**20))
    assert cpu_caches(tmp_path / "missing") == ()


def test_cgroup_v2_takes_the_tightest_of_the_lineage(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("0::/slice/job\n")
    root = tmp_path / "fs"
    job = root / "slice" / "job"
    job.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory\n")
    (root / "slice" / "cpu.max").write_text("150000 100000\n")
    (job / "cpu.max").write_text("max 100000\n")
    (root / "slice" / "memory.max").write_text("max\n")
    (job / "memory.max").write_text("2147483648\n")

    assert cgroup_limits(root, membership) == Limits(1.5, 2**31)


def test_cgroup_v1_quota_and_unlimited_memory(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("4:memory:/job\n3:cpu,cpuacct:/job\n")
    root = tmp_path / "fs"
    (root / "cpu" / "job").mkdir(parents=True)
    (root / "memory" / "job").mkdir(parents=True)
    (root / "cpu" / "job" / "cpu.cfs_quota_us").write_text("250000\n")
    (root / "cpu" / "job" / "cpu.cfs_period_us").write_text("100000\n")
    (root / "memory" / "job" / "memory.limit_in_bytes").write_text("9223372036854771712\n")

    assert cgroup_limits(root, membership) == Limits(2.5, None)


def test_no_control_groups_is_said(tmp_path: Path) -> None:
    assert cgroup_limits(tmp_path, tmp_path / "missing").reason
