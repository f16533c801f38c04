"""What doctor says of GPUs, NVML and energy counters on machines that are made up."""

from __future__ import annotations

import dataclasses
import sys
from importlib import metadata
from pathlib import Path

import pytest

from costlab.cli.doctor import Check
from costlab.cli.doctor_hardware import hardware_checks
from costlab.devices import fingerprint
from tests.devices.fake_nvml import UUIDS, loaded
from tests.devices.test_rapl import zone


def checks(
    root: Path, setup: str = "", torch: str = "2.13.0+cu130", **variables: str
) -> dict[str, Check]:
    """Doctor's checks by name on a machine set up by ``setup``."""
    with loaded(setup), pytest.MonkeyPatch.context() as patch:
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        environment = dataclasses.replace(fingerprint(), torch=torch)
        found = list(hardware_checks(environment, root=root))
    assert all(check.fix for check in found if check.verdict != "PASS")
    return {check.name: check for check in found}


def test_two_gpus_that_work(tmp_path: Path) -> None:
    found = checks(tmp_path, CUDA_DEVICE_ORDER="PCI_BUS_ID")

    assert {check.verdict for check in found.values()} == {"PASS"}
    assert UUIDS[1] in found["Fast GPU"].found
    assert "580.65.06" in found["Fast GPU"].found
    assert "instant" in found["Fast GPU readings"].found


@pytest.mark.parametrize(
    ("setup", "torch", "name", "verdict", "says", "fix"),
    [
        ("", "2.13.0+cpu", "Fast GPU", "WARN", "no CUDA", "pytorch.org"),
        ("mig=1", "2.13.0", "Fast GPU MIG", "WARN", "energy", f"-i {UUIDS[1]} -mig 0"),
        ("fail=nvmlDeviceGetTotalEnergyConsumption:3", "2.13.0", "Fast GPU readings", "WARN",
         "Volta", "null"),
        ("fail=nvmlDeviceGetClockInfo:15", "2.13.0", "Fast GPU", "FAIL", "off the bus", "reboot"),
        ("fail=nvmlDeviceGetClockInfo:16", "2.13.0", "Slow GPU", "FAIL", "reset", "reset"),
        ("fail=nvmlDeviceGetName:15", "2.13.0", "GPU", "FAIL", "off the bus", "reboot"),
        ("", "2.13.0", "GPU order", "WARN", "fastest", "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
    ],
)  # fmt: skip
def test_a_gpu_with_a_problem(
    tmp_path: Path, setup: str, torch: str, name: str, verdict: str, says: str, fix: str
) -> None:
    check = checks(tmp_path, setup, torch)[name]

    assert check.verdict == verdict
    assert says in check.found
    assert fix in check.fix


def test_persistence_that_is_off_is_named_with_its_command(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tests.devices.fake_nvml.FakeLibrary._nvmlDeviceGetPersistenceMode",
            lambda self, handle, value: None,
        )
        check = checks(tmp_path)["Fast GPU persistence"]

    assert check.verdict == "WARN"
    assert check.fix == f"sudo nvidia-smi -i {UUIDS[1]} -pm 1"


def test_gpus_that_are_hidden(tmp_path: Path) -> None:
    found = checks(tmp_path, CUDA_VISIBLE_DEVICES="-1")

    assert found["GPU order"].fix == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("code", "driver", "verdict", "fix"),
    [
        (12, False, "PASS", ""),
        (12, True, "FAIL", "--gpus all"),
        (9, False, "FAIL", "modprobe"),
        (18, True, "FAIL", "reboot"),
        (4, True, "FAIL", "/dev/nvidia"),
        (999, True, "FAIL", "nvidia-smi"),
    ],
)
def test_no_gpu_is_fine_and_a_broken_driver_is_not(
    tmp_path: Path, code: int, driver: bool, verdict: str, fix: str
) -> None:
    if driver:
        (tmp_path / "dev").mkdir()
        (tmp_path / "dev" / "nvidiactl").touch()

    check = checks(tmp_path, f"fail=nvmlInitWithFlags:{code}")["GPU"]

    assert check.verdict == verdict
    assert fix in check.fix


@pytest.mark.parametrize("rival", ["pynvml", "nvidia-ml-py3"])
def test_a_rival_of_the_binding_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rival: str
) -> None:
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1" if name == rival else version(name))

    check = checks(tmp_path)["NVML binding"]

    assert check.verdict == "WARN"
    assert f"pip uninstall -y {rival}" in check.fix


def test_a_missing_binding_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setitem(sys.modules, "pynvml", None)

    found = {check.name: check for check in hardware_checks(fingerprint(), root=tmp_path)}

    assert found["NVML binding"].fix == found["GPU"].fix == "pip install nvidia-ml-py"


def test_cpu_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    powercap = tmp_path / "sys" / "class" / "powercap"
    assert checks(tmp_path)["CPU energy"].verdict == "PASS"

    powercap.mkdir(parents=True)
    assert "container" in checks(tmp_path)["CPU energy"].fix

    zone(powercap, "intel-rapl:0", "package-0", 5)
    assert checks(tmp_path)["CPU energy"].found == "powercap package-0"

    read_text = Path.read_text

    def refuse(path: Path, *args: str, **options: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError
        return read_text(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    check = checks(tmp_path)["CPU energy"]
    assert check.verdict == "WARN"
    assert check.fix.startswith("sudo chmod a+r")
