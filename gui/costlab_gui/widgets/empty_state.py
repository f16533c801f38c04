"""What stands where nothing is to be shown yet: an icon, a sentence, and what can be done."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from costlab_gui.theme import icons
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.theme.tokens import current

_LINES = 3
"""Height of the icon in lines of text."""


class EmptyState(QWidget):
    """Call :meth:`retheme` when the theme changes.

    Signals:
        acted: the button was pressed.
    """

    acted = Signal()

    def __init__(
        self, icon: str, sentence: str, action: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icon = icon
        self._picture = QLabel()
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        set_role(self._sentence, "dim")
        self.action = QPushButton()
        self.action.clicked.connect(self.acted)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(1)
        for widget in (self._picture, self._sentence):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(widget)
        layout.addWidget(self.action, alignment=Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(1)
        self.say(sentence, action)
        self.retheme()

    def say(self, sentence: str, action: str = "") -> None:
        """Change the sentence and the button; an empty ``action`` hides the button."""
        self._sentence.setText(sentence)
        self.setAccessibleName(sentence)
        self.action.setText(action)
        self.action.setVisible(bool(action))

    def retheme(self) -> None:
        """Draw the icon in the colour of the theme that is on."""
        ratio = self.devicePixelRatioF()
        pixels = round(self.fontMetrics().height() * _LINES * ratio)
        drawn = icons.pixmap(self._icon, current().dim, QSize(pixels, pixels))
        drawn.setDevicePixelRatio(ratio)
        self._picture.setPixmap(drawn)
