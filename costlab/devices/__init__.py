"""What machine this is and how it is doing: fingerprint, readings, judgement. No torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from costlab.devices.environment import Environment, fingerprint
    from costlab.devices.nvml import Gpu
    from costlab.devices.processor import Cache

__all__ = ["Cache", "Environment", "Gpu", "fingerprint"]

_HOMES = {"Cache": "processor", "Environment": "environment", "Gpu": "nvml",
          "fingerprint": "environment"}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the module of a name when it is first wanted: readings need no fingerprint."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
