"""What machine this is and how it is doing: fingerprint, readings, judgement. No torch."""

from costlab.devices.environment import Environment, fingerprint
from costlab.devices.nvml import Gpu
from costlab.devices.processor import Cache

__all__ = ["Cache", "Environment", "Gpu", "fingerprint"]
