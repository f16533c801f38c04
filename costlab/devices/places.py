"""In what kind of place this process runs: it decides which readings a GPU can give."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def places(root: Path = Path("/"), release: str | None = None) -> frozenset[str]:
    """Which of "wsl", "windows", "jetson", "container" this system is.

    Args:
        root: where the system's files are.
        release: the kernel's name; this system's if None.
    """
    release = platform.release() if release is None else release
    found = set()
    if sys.platform == "win32":
        found.add("windows")
    if "microsoft" in release.lower():
        found.add("wsl")
    model = _read(root / "proc/device-tree/model")
    if (root / "etc/nv_tegra_release").exists() or "jetson" in model.lower():
        found.add("jetson")
    if _in_container(root):
        found.add("container")
    return frozenset(found)


def _in_container(root: Path) -> bool:
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return True
    if root == Path("/") and os.environ.get("container"):  # noqa: SIM112 (systemd's lower case)
        return True
    groups = _read(root / "proc/1/cgroup")
    return any(word in groups for word in ("docker", "kubepods", "containerd", "libpod", "lxc"))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
