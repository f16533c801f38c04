"""From words of the command line to derivations and machines."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from costlab.cli.common import Progress
from costlab.errors import InputError
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.hardware.machine import Machine


def load_program(
    target: str,
    mode: str,
    dtype: str,
    backend: str = "cpu",
    *,
    fixed: Mapping[str, int] | None = None,
    flags: Mapping[str, bool] | None = None,
    progress: Progress | None = None,
) -> Derivation:
    """The formulas of ``target``: the committed ones where there are, else derived now.

    Raises:
        UnknownNameError, InputError: for a bad target or mode.
        ModuleError, DerivationError: if the user's module fails or has no closed form.
    """
    from costlab.arch import registry
    from costlab.formulas import store

    if ":" not in target:
        registry.spec(target)  # an unknown name is refused before torch is imported
        if not fixed:
            with suppress(InputError):
                return store.load(target, mode, dtype, backend, flags)
    from costlab.derivation.api import derive

    if progress is not None:
        progress(_("deriving {target}").format(target=target))
    return derive(
        target, mode=mode, dtype=dtype, backend=backend, sizes=fixed or {}, options=flags or {}
    )


def load_machine(device: str, dtype: str, threads: int | None) -> Machine:
    """The machine called ``device``: this one by its calibration, or a device profile.

    Raises:
        InputError: if this machine has no calibration that fits.
        UnknownNameError: if there is no such profile.
    """
    from costlab.hardware.catalogue import load_profile, profile_names
    from costlab.hardware.machine import Machine

    if device not in ("this", "cpu") and not device.startswith("cuda"):
        return Machine.from_profile(load_profile(device), dtype)
    from costlab.calibration.records import load_latest

    device = "cpu" if device == "this" else device
    for wanted in dict.fromkeys((dtype, "float32")):
        for count in dict.fromkeys((threads or 1, 1)):
            record = load_latest(device, count, wanted)
            if record is not None:
                return Machine.from_calibration(record)
    raise InputError(
        _("no calibration of this machine fits"),
        given=f"{device}, {dtype}, {threads or 1} thread(s)",
        allowed=_("profiles: {names}").format(names=", ".join(profile_names())),
        advice=_("run `costlab calibrate --quick`, or name a profile with --device"),
    )
