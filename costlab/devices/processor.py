"""CPU model name and cache sizes, read from /proc and /sys where they exist."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Cache:
    """One data cache as one CPU sees it: level 1, 2, 3 and its size."""

    level: int
    size_bytes: int


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Model name of the processor, the architecture's name where none is known."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return platform.processor() or platform.machine()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def cpu_caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[Cache, ...]:
    """Data and unified caches of the first CPU, smallest level first; empty where unknown."""
    caches = []
    for folder in sorted(root.glob("index*")):
        try:
            kind = (folder / "type").read_text().strip()
            level = int((folder / "level").read_text())
            size = (folder / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        if kind != "Instruction":
            caches.append(Cache(level, _parse_size(size)))
    return tuple(sorted(caches, key=lambda cache: cache.level))


def _parse_size(text: str) -> int:
    if text[-1:] in _UNITS:
        return int(text[:-1]) * _UNITS[text[-1]]
    return int(text)
