"""A stored point as the tests of the store need it."""

from __future__ import annotations

from typing import Any


def point(name: str, time_s: float | None = 1.0, status: str = "ok") -> dict[str, Any]:
    """A point of hash ``name`` with two sizes, flags, a reason and raw samples."""
    return {
        "point": name, "status": status, "architecture": "a", "mode": "forward",
        "sizes": {"n": 3, "d": 5}, "time_s": time_s, "time_interval_s": [0.5, 1.5],
        "samples": [1.0], "flags": ["drift", "interference"], "reasons": {"energy_j": "none"},
        "processes": [{"samples_s": [1.0, 1.25]}],
    }  # fmt: skip
