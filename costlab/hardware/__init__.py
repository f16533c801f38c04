"""Device profiles, calibration records and the machine that predictions are made for."""

from costlab.hardware.catalogue import load_profile, profile_names
from costlab.hardware.machine import Machine
from costlab.hardware.profile import Constant, DeviceProfile, Source

__all__ = ["Constant", "DeviceProfile", "Machine", "Source", "load_profile", "profile_names"]
