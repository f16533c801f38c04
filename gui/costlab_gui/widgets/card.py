"""A card: a raised ground with a small title and whatever belongs together."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel

MARGIN, GAP = 12, 8


class Card(QFrame):
    """Put content into ``body``, small controls beside the title into ``header``."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card")
        self._title = ElidedLabel()
        set_role(self._title, "section")
        self.header = QHBoxLayout()
        self.header.setSpacing(GAP)
        self.header.addWidget(self._title, 1)
        self.body = QVBoxLayout()
        self.body.setSpacing(GAP)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(GAP)
        layout.addLayout(self.header)
        layout.addLayout(self.body, 1)
        self.set_title(title)

    def set_title(self, title: str) -> None:
        """Change the title; it also names the card to a screen reader."""
        self._title.setText(title)
        self._title.setVisible(bool(title))
        self.setAccessibleName(title)
