"""Titled sentences below each other, wrapped and selectable."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from costlab_gui.theme.tokens import current


class ReasonList(QLabel):
    """Shows pairs of a title and a sentence. Call :meth:`retheme` when the theme changes."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reasons: tuple[tuple[str, str], ...] = ()
        self.setAccessibleName(name)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """What is shown."""
        return self._reasons

    def show_reasons(self, reasons: Sequence[tuple[str, str]]) -> None:
        """Show exactly these."""
        self._reasons = tuple(reasons)
        self.setAccessibleDescription(". ".join(f"{title}: {text}" for title, text in reasons))
        self.retheme()

    def retheme(self) -> None:
        """Write in the colours of the theme."""
        dim = current().dim
        self.setText(
            "".join(
                f'<p style="margin:0 0 8px 0"><span style="color:{dim}">{escape(title)}</span>'
                f"<br>{escape(text)}</p>"
                for title, text in self._reasons
            )
        )
