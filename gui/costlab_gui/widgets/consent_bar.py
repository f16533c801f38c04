"""Asks, in one line over the window, whether a file may be run and its formulas derived."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from costlab.i18n import _
from costlab_gui.model.opened import path_of, runs_code
from costlab_gui.theme.stylesheet import set_role

_SHOWN = 12


class ConsentBar(QFrame):
    """One question; it goes away with the answer.

    Signals:
        accepted: run it.
        refused: not now.
    """

    accepted = Signal()
    refused = Signal()

    def __init__(
        self, target: str, sha256: str, changed: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.target, self.sha256 = target, sha256
        set_role(self, "bar")
        name = path_of(target).name
        if changed:
            text = _("{name} has changed on disk.").format(name=name)
        elif runs_code(target):
            text = _("The formulas of {name} are found by running its code.").format(name=name)
        else:
            text = _("The formulas of {name} are not derived yet.").format(name=name)
        words = QLabel(text)
        words.setToolTip(str(path_of(target)))
        digits = QLabel(_("SHA-256 {digits}…").format(digits=sha256[:_SHOWN]))
        digits.setToolTip(sha256)
        set_role(digits, "small")
        self.run = QPushButton(_("Run and derive") if runs_code(target) else _("Derive"))
        self.run.setAccessibleDescription(f"{text} {path_of(target)}, SHA-256 {sha256}")
        set_role(self.run, "primary")
        self.run.clicked.connect(self._accept)
        self.skip = QPushButton(_("Not now"))
        self.skip.clicked.connect(self._refuse)
        layout = QHBoxLayout(self)
        layout.addWidget(words)
        layout.addWidget(digits, 1)
        layout.addWidget(self.run)
        layout.addWidget(self.skip)

    def _accept(self) -> None:
        self.hide()
        self.accepted.emit()
        self.deleteLater()

    def _refuse(self) -> None:
        self.hide()
        self.refused.emit()
        self.deleteLater()
