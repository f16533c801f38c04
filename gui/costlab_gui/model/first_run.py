"""What the app shows before anybody has chosen anything, and what it showed last."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from costlab.errors import CostLabError
from costlab.store.home import home
from costlab_gui.model.session import Session
from costlab_gui.model.session_file import load, save
from costlab_gui.model.workspace import Workspace

EXAMPLE_DEVICE = "A100-80G-SXM"


def last_file() -> Path:
    """Where a session without a file of its own is kept between two starts."""
    return home() / "last.costlab.json"


def example(workspace: Workspace) -> Session:
    """A comparison to drag at once: on this machine if it is calibrated, else on a known GPU."""
    session = Session()
    try:
        workspace.machine(session.setting)
    except CostLabError:
        return replace(session, setting=replace(session.setting, device=EXAMPLE_DEVICE))
    return session


def first_session(workspace: Workspace) -> Session:
    """The session of the last start that had no file, else the example."""
    with contextlib.suppress(CostLabError):
        return load(last_file())[0]
    return example(workspace)


def keep(session: Session) -> None:
    """Show ``session`` again at the next start; a full disk must not keep the app from ending."""
    with contextlib.suppress(CostLabError):
        save(session, last_file())
