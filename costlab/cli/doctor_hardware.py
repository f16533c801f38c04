"""What ``costlab doctor`` says of GPUs, NVML and energy counters, and how to repair it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.doctor import FAIL, PASS, WARN, Check
from costlab.i18n import _
from costlab.units import format_value

if TYPE_CHECKING:
    from costlab.devices import Environment, Gpu
    from costlab.devices.readers import DeviceReader
    from costlab.devices.readings import Reading

# Distributions that install another module of the name `pynvml`.
_RIVALS = ("pynvml", "nvidia-ml-py3")
_DRIVER_MARKS = ("proc/driver/nvidia/version", "dev/nvidiactl")
_READABLE = ("energy", "power", "sm_clock", "throttle", "temperature", "memory_used", "processes")


def hardware_checks(
    environment: Environment, *, nvml: Any = None, root: Path = Path("/")
) -> Iterator[Check]:
    """The checks, in the order in which they are printed.

    Args:
        environment: of this machine.
        nvml: a module with pynvml's functions; None loads pynvml.
        root: where the system's files are.
    """
    yield from _binding(_installed(_RIVALS))
    yield from _gpus(environment, nvml, root)
    yield _cpu_energy(root / "sys/class/powercap")


def _installed(names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        found.append(name)
    return found


def _binding(rivals: list[str]) -> Iterator[Check]:
    try:
        version = metadata.version("nvidia-ml-py")
    except metadata.PackageNotFoundError:
        yield Check(_("NVML binding"), WARN, _("not installed"), "pip install nvidia-ml-py")
        return
    if rivals:
        names = " ".join(rivals)
        found = _("{names} is installed too and may replace the module pynvml").format(names=names)
        fix = f"pip uninstall -y {names} && pip install --force-reinstall nvidia-ml-py"
        yield Check(_("NVML binding"), WARN, found, fix)
    else:
        yield Check(_("NVML binding"), PASS, f"nvidia-ml-py {version}")


def _gpus(environment: Environment, nvml: Any, root: Path) -> Iterator[Check]:
    from costlab.devices.gpu import open_gpus
    from costlab.devices.nvml_session import NvmlUnavailable

    try:
        readers = open_gpus(nvml)
    except NvmlUnavailable as unavailable:
        yield _no_gpu(unavailable.reason, unavailable.text, root)
        return
    try:
        identities = {gpu.uuid: gpu for gpu in environment.gpus}
        for reader in readers:
            yield from _gpu(reader, identities.get(reader.id), environment)
    finally:
        for reader in reversed(readers):
            reader.close()
    yield from _order([reader.id for reader in readers])


def _no_gpu(reason: str, text: str, root: Path) -> Check:
    """No GPU is fine where there is no driver; a driver that does not work is not."""
    if reason == "no_binding":
        return Check("GPU", WARN, text, "pip install nvidia-ml-py")
    has_driver = any((root / mark).exists() for mark in _DRIVER_MARKS)
    if reason in ("no_library", "no_gpu", "jetson") and not has_driver:
        return Check("GPU", PASS, _("none usable ({reason}); CPU only").format(reason=text))
    fixes = {
        "driver_mismatch": _("reboot, or: sudo rmmod nvidia_uvm nvidia && sudo modprobe nvidia"),
        "no_driver": "sudo modprobe nvidia && nvidia-smi",
        "no_library": _("install the driver's libraries, or start the container with `--gpus all`"),
        "reset_required": "sudo nvidia-smi --gpu-reset",
        "gpu_lost": "sudo reboot",
        "no_permission": _("let this user read /dev/nvidia*: ls -l /dev/nvidia*"),
    }
    return Check("GPU", FAIL, text, fixes.get(reason, "nvidia-smi"))


def _gpu(reader: DeviceReader, gpu: Gpu | None, environment: Environment) -> Iterator[Check]:
    readings = reader.read().readings
    broken = _broken(readings["sm_clock"], readings["power"], readings["memory_total"])
    if gpu is None or broken:
        text = broken or readings["sm_clock"].text
        yield Check(reader.name, FAIL, text, _("sudo nvidia-smi --gpu-reset, or reboot"))
        return
    found = _("{uuid}, driver {driver}").format(uuid=gpu.uuid, driver=gpu.driver)
    if gpu.memory_bytes is not None:
        found += ", " + format_value(gpu.memory_bytes, "B")
    if environment.torch and environment.torch.endswith("+cpu"):
        yield Check(
            gpu.name, WARN, _("{found}, but this torch has no CUDA").format(found=found),
            _("install a CUDA build of torch: https://pytorch.org/get-started/locally"),
        )  # fmt: skip
    else:
        yield Check(gpu.name, PASS, found)
    yield _readable(gpu.name, readings)
    if gpu.mig:
        yield Check(
            f"{gpu.name} MIG", WARN, _("on: power and energy of an instance cannot be measured"),
            _("sudo nvidia-smi -i {uuid} -mig 0, if the whole card is yours").format(uuid=gpu.uuid),
        )  # fmt: skip
    if gpu.persistence is False:
        yield Check(
            _("{name} persistence").format(name=gpu.name), WARN,
            _("off: the driver unloads between processes, which slows every start"),
            f"sudo nvidia-smi -i {gpu.uuid} -pm 1",
        )  # fmt: skip


def _broken(*readings: Reading) -> str:
    """Why the GPU is unusable; "" if it is not."""
    for reading in readings:
        if reading.reason in ("gpu_lost", "reset_required"):
            return reading.text
    return ""


def _readable(name: str, readings: Any) -> Check:
    """Which readings a measurement on this GPU will have."""
    title = _("{name} readings").format(name=name)
    lacking = [key for key in _READABLE if readings[key].value is None]
    if not lacking:
        return Check(title, PASS, f"{', '.join(_READABLE)} ({readings['power'].source})")
    reasons = "; ".join(f"{key}: {readings[key].text}" for key in lacking)
    if readings["energy"].value is None and readings["power"].value is None:
        return Check(title, WARN, reasons, _("energy will be null; measure time and memory"))
    return Check(title, WARN, reasons, _("these will be null with this reason; the rest is there"))


def _order(uuids: list[str]) -> Iterator[Check]:
    from costlab.devices.cuda_order import cuda_order

    order = cuda_order(uuids, os.environ)
    if order.uuids is None:
        yield Check(_("GPU order"), WARN, order.text, "export CUDA_DEVICE_ORDER=PCI_BUS_ID")
    elif not order.uuids:
        yield Check(
            _("GPU order"), WARN, _("CUDA_VISIBLE_DEVICES hides every GPU"),
            "unset CUDA_VISIBLE_DEVICES",
        )  # fmt: skip


def _cpu_energy(powercap: Path) -> Check:
    from costlab.devices.rapl import Rapl

    name = _("CPU energy")
    reading = Rapl(powercap).read()
    if reading.value is not None:
        return Check(name, PASS, reading.source)
    if reading.reason == "powercap_root":
        return Check(name, WARN, reading.text, f"sudo chmod a+r {powercap}/*/energy_uj")
    if reading.reason == "powercap_masked":
        fix = _("run outside the container, or mount {path} into it").format(path=powercap)
        return Check(name, WARN, reading.text, fix)
    return Check(name, PASS, _("none: {reason}").format(reason=reading.text))
