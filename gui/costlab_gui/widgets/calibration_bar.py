"""This machine's calibration on one line, with the buttons that make a new one."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.model.calibration import FULL, QUICK, Calibration
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel


class CalibrationBar(QFrame):
    """Signals:
    asked: calibrate with this level (str).
    """

    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card")
        self.setAccessibleName(_("calibration of this machine"))
        self._text = ElidedLabel()
        self._why = QLabel()
        self._why.setWordWrap(True)
        self.quick = QPushButton(_("Calibrate, 45 s"))
        self.full = QPushButton(_("Calibrate well, 3 min"))
        self.quick.clicked.connect(lambda: self.asked.emit(QUICK))
        self.full.clicked.connect(lambda: self.asked.emit(FULL))
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._text)
        words.addWidget(self._why)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(8)
        layout.addLayout(words, 1)
        layout.addWidget(self.quick)
        layout.addWidget(self.full)

    def show_calibration(self, known: Calibration, busy: bool) -> None:
        """Say what is known; ``busy`` while something measures already."""
        self._text.setText(known.text)
        self._why.setText(known.why)
        self._why.setVisible(bool(known.why))
        set_role(self._why, "dim" if known.holds else "warning")
        for button in (self.quick, self.full):
            button.setEnabled(not busy)
