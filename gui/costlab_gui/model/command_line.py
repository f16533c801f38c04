"""The command that shows in a terminal what the app shows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from costlab.formulas.record import Derivation
from costlab_gui.model.session import THIS_MACHINE, Session
from costlab_gui.model.workspace import Workspace

_COMMANDS: Mapping[str, str] = {
    "curves": "predict",
    "map": "map",
    "roofline": "predict",
    "timeline": "predict",
    "formula": "derive",
    "structure": "structure",
    "plan": "plan",
    "measure": "profile",
    "monitor": "monitor",
}


def command_line(session: Session, workspace: Workspace) -> str:
    """The text of a ``costlab`` command for the page that is open."""
    command = _COMMANDS[session.page]
    if command == "monitor":
        return "costlab monitor"
    if command == "plan":
        from costlab_gui.model.plan_curves import command as of_plan

        return of_plan(session.plan, session.plan_view)
    if command == "structure":
        return shlex.join(["costlab", command, session.selected])
    programs = [session.selected] if command == "derive" else list(session.shown)
    words = ["costlab", command, *programs]
    if command == "map":
        words += ["--over", ",".join(session.map_over)]
        words += ["--metric", session.map_metric]
    over: dict[str, str] = {}
    if session.page in ("curves", "measure"):
        over = {session.over: f"{session.low}:{session.high}:x2"}
    if command != "derive":
        words += _sizes(session, workspace, programs, over)
    return shlex.join(words + _settings(session, workspace, command, programs))


def _sizes(
    session: Session, workspace: Workspace, programs: list[str], over: Mapping[str, str]
) -> list[str]:
    """The sizes that any of the programs has, in the order of the session."""
    known = {
        name
        for target in programs
        if (found := _derivation(session, workspace, target)) is not None
        for name in found.sizes
    }
    skipped = session.map_over if session.page == "map" else ()
    named = {**{name: str(value) for name, value in session.sizes.items()}, **over}
    return [f"{k}={v}" for k, v in named.items() if k in known and k not in skipped]


def _settings(
    session: Session, workspace: Workspace, command: str, programs: list[str]
) -> list[str]:
    setting = session.setting
    words = ["--mode", setting.mode] if setting.mode != "forward" else []
    words += ["--dtype", setting.dtype] if setting.dtype != "float32" else []
    if command in ("predict", "map") and setting.device != THIS_MACHINE:
        words += ["--device", setting.device]
    if command in ("predict", "map", "profile") and setting.threads is not None:
        words += ["--threads", str(setting.threads)]
    if command == "derive" and workspace.backend(setting) != "cpu":
        words += ["--backend", workspace.backend(setting)]
    taken = {
        name
        for target in programs
        if (found := _derivation(session, workspace, target)) is not None
        for name, value in found.options.items()
        if value
    }
    for name in sorted(taken):
        words += ["--set", f"{name}=yes"]
    return words


def _derivation(session: Session, workspace: Workspace, target: str) -> Derivation | None:
    from costlab.errors import CostLabError

    find: Callable[..., Derivation] = workspace.derivation
    try:
        return find(target, session.setting)
    except CostLabError:
        return None
