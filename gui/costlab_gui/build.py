"""Puts document, workspace, hub and window together."""

from __future__ import annotations

import sys

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.first_run import first_session
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace
from costlab_gui.settings import Settings
from costlab_gui.theming import use_theme
from costlab_gui.window import MainWindow

_SWITCH_S = 0.0005
"""Qt's calls let go of the interpreter, and the window gets it back from a thread that computes
only after this long: with Python's 5 ms a picture of a hundred calls would take half a second."""


def build_window(theme: str | None = None, session: Session | None = None) -> MainWindow:
    """The window, not shown yet; the application must exist.

    Args:
        theme: "system", "dark" or "light"; None: the user's choice.
        session: what to show; None: what was shown last, else the example.
    """
    sys.setswitchinterval(_SWITCH_S)
    settings = Settings()
    use_theme(theme or settings.theme)
    workspace = Workspace()
    document = Document(session or first_session(workspace))
    return MainWindow(Hub(document, workspace), settings)
