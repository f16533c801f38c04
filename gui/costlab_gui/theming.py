"""Chooses the theme of the running application."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from costlab_gui.hub import Hub
from costlab_gui.settings import SYSTEM
from costlab_gui.theme.apply import apply, system_theme
from costlab_gui.theme.tokens import DARK, LIGHT


def use_theme(name: str, hub: Hub | None = None) -> None:
    """Put the theme called ``name`` ("system", "dark" or "light") on the application."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    apply(app, system_theme(app) if name == SYSTEM else DARK if name == "dark" else LIGHT)
    if hub is not None:
        hub.themed.emit()
