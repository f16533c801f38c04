"""Energy of CPU packages from Linux's powercap (RAPL), with the counters' wrap undone.

Only the top zones "package-N" are added up: cores and uncore lie inside a package, and "psys"
holds the packages, so adding these would count twice. Intel and AMD share the interface.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from costlab.devices.readings import Reading, missing

POWERCAP = Path("/sys/class/powercap")
_MICRO = 1e-6
# A package can take a kilowatt, and the smallest counter holds 262 kJ (2**32 units of 61 µJ): a
# longer pause between reads may hide a whole turn of the counter.
_MOST_PAUSE_S = 240.0


class Rapl:
    """Counts the energy of all packages since it was made."""

    def __init__(self, root: Path = POWERCAP, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._zones = _packages(root)
        self._reason = "" if self._zones else _why_none(root)
        self._last: dict[Path, int] = {}
        self._last_s = clock()
        self._total_uj = 0
        if self._zones:
            self._reason = self._advance()

    def read(self) -> Reading:
        """Joules of all packages since this object was made."""
        if self._zones and not self._reason:
            self._reason = self._advance()
        if self._reason:
            return missing("J", self._reason)
        names = ", ".join((zone / "name").read_text().strip() for zone in self._zones)
        return Reading(self._total_uj * _MICRO, "J", f"powercap {names}")

    def _advance(self) -> str:
        """Add what the counters gained; the reason if they cannot be read."""
        now_s = self._clock()
        for zone in self._zones:
            try:
                value = int((zone / "energy_uj").read_text())
                limit = int((zone / "max_energy_range_uj").read_text())
            except PermissionError:
                return "powercap_root"
            except (OSError, ValueError):
                return "unreadable"
            last = self._last.get(zone, value)
            if value < last and now_s - self._last_s > _MOST_PAUSE_S:
                return "counter_reset"
            self._total_uj += value - last if value >= last else value + limit + 1 - last
            self._last[zone] = value
        self._last_s = now_s
        return ""


def _packages(root: Path) -> list[Path]:
    zones = []
    for zone in sorted(root.glob("*:*")):
        try:
            name = (zone / "name").read_text().strip()
        except OSError:
            continue
        # intel-rapl-mmio shows the same packages a second time.
        if name.startswith("package-") and not zone.name.startswith("intel-rapl-mmio"):
            zones.append(zone)
    return zones


def _why_none(root: Path) -> str:
    if not root.is_dir():
        return "no_powercap"
    return "powercap_masked"
