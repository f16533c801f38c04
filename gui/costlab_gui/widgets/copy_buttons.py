"""Buttons that copy a formula as LaTeX, as Python or as text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.formula import View, quantity_title
from costlab_gui.model.pieces import as_latex, as_python, as_text, whole


class CopyButtons(QWidget):
    """Copies whatever view was given last."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._view: View | None = None
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self._buttons = [
            self._add(_("LaTeX"), as_latex),
            self._add(_("Python"), as_python),
            self._add(_("Text"), as_text),
        ]

    def show_view(self, view: View | None) -> None:
        """The formula to copy; None switches the buttons off."""
        self._view = view if view is not None and whole(view) is not None else None
        for button in self._buttons:
            button.setEnabled(self._view is not None)

    def _add(self, title: str, write: Callable[[View], str]) -> QPushButton:
        button = QPushButton(title)
        button.setToolTip(_("Copy the formula as {form}").format(form=title))
        button.setAccessibleName(button.toolTip())
        button.clicked.connect(lambda: self._copy(title, write))
        self.row.addWidget(button)
        return button

    def _copy(self, title: str, write: Callable[[View], str]) -> None:
        if self._view is None:
            return
        QGuiApplication.clipboard().setText(write(self._view))
        self._hub.tell(
            _("{quantity} copied as {form}").format(
                quantity=quantity_title(self._view.quantity), form=title
            )
        )
