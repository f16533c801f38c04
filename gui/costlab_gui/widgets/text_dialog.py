"""A text to read, select and copy."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.theme.stylesheet import set_role


class TextDialog(QDialog):
    """Shows ``text`` as it is, with a button that copies it."""

    def __init__(self, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        field = QPlainTextEdit(text)
        field.setReadOnly(True)
        field.setAccessibleName(title)
        set_role(field, "mono")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(_("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(field)
        layout.addWidget(buttons)
        em = self.fontMetrics().horizontalAdvance("m")
        self.resize(52 * em, 30 * self.fontMetrics().height())


def show_text(title: str, text: str, parent: QWidget | None = None) -> TextDialog:
    """Open the dialog without waiting for it."""
    dialog = TextDialog(title, text, parent)
    dialog.open()
    return dialog
