"""CPU and memory limits that a control group (container, batch job) puts on this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Number = TypeVar("Number", int, float)

# cgroup v1 writes a page-rounded 2**63 - 1 for "no limit".
_UNLIMITED = 2**60


@dataclass(frozen=True, slots=True)
class Limits:
    """``cpus`` in whole CPUs and ``memory_bytes``; None is "no limit", or unknown by ``reason``."""

    cpus: float | None
    memory_bytes: int | None
    reason: str = ""


def cgroup_limits(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> Limits:
    """The tightest limits of this process's control group and its parents (v2, else v1)."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return Limits(None, None, "no control groups on this system")
    if not root.is_dir():
        return Limits(None, None, "the control group file system is not mounted")
    paths = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path.lstrip("/")
    if (root / "cgroup.controllers").exists():
        folders = _lineage(root, paths.get("", ""))
        return Limits(
            _least([_v2_cpus(folder) for folder in folders]),
            _least([_number(folder / "memory.max") for folder in folders]),
        )
    cpu_folders = _lineage(root / "cpu", paths.get("cpu", ""))
    memory_folders = _lineage(root / "memory", paths.get("memory", ""))
    return Limits(
        _least([_v1_cpus(folder) for folder in cpu_folders]),
        _least([_number(folder / "memory.limit_in_bytes") for folder in memory_folders]),
    )


def _lineage(root: Path, path: str) -> list[Path]:
    """``root`` and every folder below it on the way to ``path``.

    Inside a container the path may be the host's, which does not exist here: the root then holds
    the container's own limits.
    """
    folders = [root]
    for part in Path(path).parts:
        folders.append(folders[-1] / part)
    return [folder for folder in folders if folder.is_dir()]


def _least(values: Sequence[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text.isdigit() and int(text) < _UNLIMITED else None


def _v2_cpus(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _v1_cpus(folder: Path) -> float | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and period else None
