"""The head size k where heads share the width: h*k = d."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QWidget

from costlab.i18n import _
from costlab_gui.model.sizes import HeadSize
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.size_edit import SizeEdit


class HeadSizeRow(QWidget):
    """Typing k sets d = h*k; while it is kept, d and h change together.

    Signals:
        sized: the head size that the user typed (object).
        kept: whether the head size is to be kept (bool).
    """

    sized = Signal(object)
    kept = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        symbol = QLabel("k")
        set_role(symbol, "mono")
        symbol.setMinimumWidth(symbol.fontMetrics().horizontalAdvance("mm"))
        self._meaning = ElidedLabel()
        set_role(self._meaning, "small")
        self.keep = QPushButton()
        self.keep.setCheckable(True)
        set_role(self.keep, "quiet")
        set_icon(self.keep, "unlink", "dim")
        self.edit = SizeEdit("k")
        self.edit.setFixedWidth(self.edit.room())
        self._error = ErrorLine(self.edit)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(8)
        layout.setVerticalSpacing(0)
        for column, widget in enumerate((symbol, self._meaning, self.keep, self.edit)):
            layout.addWidget(widget, 0, column)
        layout.addWidget(self._error, 1, 1, 1, 3)
        layout.setColumnStretch(1, 1)
        self.keep.toggled.connect(self._keep)
        self.edit.typed.connect(self._typed)
        self.edit.refused.connect(self._error.say)
        self._keep(False)

    @property
    def keeps(self) -> bool:
        """Whether changing d changes h, and the other way round."""
        return self.keep.isChecked()

    def show_head(self, head: HeadSize | None) -> None:
        """Show the head size, or hide the row where there is none."""
        self.setVisible(head is not None)
        if head is None:
            return
        self._meaning.setText(f"{head.meaning}, d / h")
        self.edit.setAccessibleName(_("k, {meaning}: d / h").format(meaning=head.meaning))
        self.edit.set_size(head.value)

    def _typed(self, size: int) -> None:
        self._error.say("")
        self.sized.emit(size)

    def _keep(self, on: bool) -> None:
        set_icon(self.keep, "link" if on else "unlink", "accent" if on else "dim")
        text = _("k is kept: d and h change together") if on else _("keep k when d or h changes")
        self.keep.setToolTip(text)
        self.keep.setAccessibleName(text)
        self.kept.emit(on)
