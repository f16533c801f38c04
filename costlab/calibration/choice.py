"""Which machine a device's name means: this one by its calibration, or a published profile."""

from __future__ import annotations

from costlab.calibration.records import load_latest, staleness
from costlab.errors import InputError
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.hardware.machine import Machine
from costlab.i18n import _


def load_machine(device: str, dtype: str, threads: int | None) -> Machine:
    """The machine called ``device``: this one by its calibration, or a device profile.

    Raises:
        InputError: if this machine has no calibration that fits.
        UnknownNameError: if there is no such profile.
    """
    if device not in ("this", "cpu") and not device.startswith("cuda"):
        return Machine.from_profile(load_profile(device), dtype)
    device = "cpu" if device == "this" else device
    for wanted in dict.fromkeys((dtype, "float32")):
        for count in dict.fromkeys((threads or 1, 1)):
            record = load_latest(device, count, wanted)
            if record is not None:
                return Machine.from_calibration(record)
    stale = load_latest(device, threads or 1, dtype, stale=True)
    raise InputError(
        _("the calibration of this machine no longer holds: {changes}").format(
            changes=", ".join(staleness(stale))
        )
        if stale is not None
        else _("no calibration of this machine fits"),
        given=f"{device}, {dtype}, {threads or 1} thread(s)",
        allowed=_("profiles: {names}").format(names=", ".join(profile_names())),
        advice=_("run `costlab calibrate --quick`, or name a profile with --device"),
    )
