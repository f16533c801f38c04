"""What is wrong with a control, said directly beneath it."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from costlab_gui.theme.stylesheet import set_role


class ErrorLine(QLabel):
    """Takes no room while there is nothing to say."""

    def __init__(self, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._control = control
        set_role(self, "error")
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.hide()

    def say(self, error: Exception | str) -> None:
        """Show ``error`` and mark the control; an empty text takes both away."""
        text = str(error)
        if text == self.text():
            return
        self.setText(text)
        self.setVisible(bool(text))
        self._control.setAccessibleDescription(text)
        if self._control.property("wrong") != bool(text):
            self._control.setProperty("wrong", bool(text))
            style = self._control.style()
            style.unpolish(self._control)
            style.polish(self._control)
