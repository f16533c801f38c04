"""Offers a session that a crash interrupted."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from costlab.i18n import _
from costlab_gui.model.recovery import Recovered, discard
from costlab_gui.theme.stylesheet import set_role


class LostBar(QFrame):
    """One line over the window; ``accepted`` carries what is to be shown again."""

    accepted = Signal(object)

    def __init__(self, item: Recovered, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._item = item
        set_role(self, "bar")
        moment = datetime.fromtimestamp(item.saved)
        name = item.path or _("an untitled session")
        text = QLabel(
            _("CostLab ended unexpectedly at {time:%H:%M} with {name}.").format(
                time=moment, name=name
            )
        )
        recover = QPushButton(_("Recover"))
        recover.setAccessibleDescription(text.text())
        set_role(recover, "primary")
        recover.clicked.connect(self._recover)
        drop = QPushButton(_("Discard"))
        drop.clicked.connect(self._discard)
        layout = QHBoxLayout(self)
        layout.addWidget(text, 1)
        layout.addWidget(recover)
        layout.addWidget(drop)

    def _recover(self) -> None:
        self.accepted.emit(self._item)
        self.deleteLater()

    def _discard(self) -> None:
        discard(self._item)
        self.deleteLater()
