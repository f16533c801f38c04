"""Puts document, workspace, hub and window together."""

from __future__ import annotations

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.first_run import first_session
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace
from costlab_gui.settings import Settings
from costlab_gui.theming import use_theme
from costlab_gui.window import MainWindow


def build_window(theme: str | None = None, session: Session | None = None) -> MainWindow:
    """The window, not shown yet; the application must exist.

    Args:
        theme: "system", "dark" or "light"; None: the user's choice.
        session: what to show; None: what was shown last, else the example.
    """
    settings = Settings()
    use_theme(theme or settings.theme)
    workspace = Workspace()
    document = Document(session or first_session(workspace))
    return MainWindow(Hub(document, workspace), settings)
