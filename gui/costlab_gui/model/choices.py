"""Modes, flags and devices to choose from, and what numbers rest on then."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from costlab.arch import registry
from costlab.errors import CostLabError
from costlab.hardware.machine import DATASHEET
from costlab.i18n import _
from costlab_gui.model.opened import flags_of
from costlab_gui.model.session import MODES, Session
from costlab_gui.model.workspace import DeviceChoice, Workspace

_CONVENTION = "1 multiply-add = 2 FLOP"


def mode_title(mode: str) -> str:
    """What stands on the button of a mode."""
    return {
        "forward": _("Forward"),
        "train": _("Train"),
        "prefill": _("Prefill"),
        "decode": _("Decode"),
    }[mode]


def modes_with_users(session: Session, workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """Every mode with the titles of the chosen programs that have it."""
    return {
        mode: tuple(
            workspace.title(target)
            for target in session.programs
            if mode in workspace.modes(target)
        )
        for mode in MODES
    }


def flags(session: Session) -> tuple[str, ...]:
    """Flags that can be switched on for some chosen program ("causal"), sorted."""
    found = {
        name
        for target in session.programs
        if target in registry.names()
        for name, values in registry.spec(target).options.items()
        if True in values
    }
    for target, sha256 in session.opened.items():
        if target in session.programs:
            with suppress(CostLabError):
                found |= flags_of(target, sha256)
    return tuple(sorted(found))


def with_flag(session: Session, name: str, on: bool) -> dict[str, bool]:
    """The options of the setting with one flag switched."""
    rest = {flag: value for flag, value in session.setting.options.items() if flag != name}
    return {**rest, name: True} if on else rest


def device_choices(session: Session, workspace: Workspace) -> tuple[DeviceChoice, ...]:
    """The devices to choose from, the session's own file included."""
    found = workspace.devices()
    device = session.setting.device
    if device in {choice.name for choice in found}:
        return found
    return (*found, DeviceChoice(device, Path(device).stem, _("from a file")))


def basis_line(session: Session, workspace: Workspace) -> str:
    """What the numbers rest on, in one line."""
    try:
        machine = workspace.machine(session.setting)
    except CostLabError:
        return " · ".join([_("times need a calibration or a device profile"), _CONVENTION])
    basis = (
        _("datasheet bound: times are lower bounds")
        if machine.basis == DATASHEET
        else _("calibrated")
    )
    return " · ".join([machine.title, basis, _CONVENTION])
