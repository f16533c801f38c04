"""A box for one exact size: "4096", "4k", "1M"."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from costlab.errors import SizeError
from costlab.symbols import parse_size
from costlab.units import format_count
from costlab_gui.theme.stylesheet import set_role

THIN = "\u2009"
_DIGITS = 9
_PLAIN = {ord(space): None for space in (" ", THIN, "\u202f", "\u00a0")}


class SizeEdit(QLineEdit):
    """Digits in groups of three; plain digits while it has the focus. Escape takes typing back.

    Signals:
        typed: a legal size was entered (object: it may exceed 32 bits).
        refused: the text is no legal size (SizeError).
        stepped: up (1) or down (-1) was pressed.
    """

    typed = Signal(object)
    refused = Signal(object)
    stepped = Signal(int)

    def __init__(self, symbol: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._symbol = symbol
        self._size: int | None = None
        set_role(self, "number")
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setAccessibleName(symbol)
        self.editingFinished.connect(self._enter)

    def room(self) -> int:
        """Width that shows the usual sizes whole."""
        return self.fontMetrics().horizontalAdvance("0" * _DIGITS) + self.fontMetrics().height()

    def set_size(self, size: int | None) -> None:
        """Show a size; None is shown as a dash. What was typed stays until the size changes."""
        if size == self._size and self.isModified():
            return
        self._size = size
        text = self._digits() if self.hasFocus() else self._grouped()
        if text != self.text():
            self.setText(text)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.isModified():
            self.setText(self._digits())
        self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        # What was refused stays to be corrected.
        if not self.isModified():
            self.setText(self._grouped())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape and self.isModified():
            self.setText(self._digits())
            self.selectAll()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.stepped.emit(1 if key == Qt.Key.Key_Up else -1)
        else:
            super().keyPressEvent(event)

    def _enter(self) -> None:
        if not self.isModified():
            return
        try:
            size = parse_size(self.text().translate(_PLAIN), self._symbol)
        except SizeError as error:
            self.refused.emit(error)
            return
        self.setModified(False)
        self._size = size
        self.setText(self._digits() if self.hasFocus() else self._grouped())
        self.typed.emit(size)

    def _digits(self) -> str:
        return "" if self._size is None else str(self._size)

    def _grouped(self) -> str:
        return "\u2013" if self._size is None else grouped(self._size)


def grouped(size: int) -> str:
    """A size with thin spaces between thousands."""
    return format_count(size).replace(" ", THIN)
