"""The legend of the plots: a click hides a program, a double click shows it alone."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from costlab.i18n import _
from costlab_gui.widgets.flow_layout import FlowLayout
from costlab_gui.widgets.samples import sample_icon

_WIDEST = 22  # letters
_NARROWEST = 9


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One program: its target, name, index of colour, and whether it is drawn."""

    target: str
    title: str
    colour: int
    shown: bool


class Legend(QWidget):
    """A row of switches, one for each program.

    Signals:
        toggled: target that was clicked.
        isolated: target that was clicked twice.
    """

    toggled = Signal(str)
    isolated = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[LegendEntry, ...] = ()
        self._buttons: list[QToolButton] = []
        self._layout = FlowLayout(self)
        self.setAccessibleName(_("Legend"))

    def show_entries(self, entries: tuple[LegendEntry, ...]) -> None:
        """Show these programs; switches are made anew only where their number changes."""
        if entries == self._entries:
            return
        self._entries = entries
        while len(self._buttons) > len(entries):
            button = self._buttons.pop()
            self._layout.removeWidget(button)
            button.deleteLater()
        while len(self._buttons) < len(entries):
            self._buttons.append(self._button(len(self._buttons)))
        self.retheme()

    def retheme(self) -> None:
        """Draw the samples in the colours of the theme."""
        height = self.fontMetrics().height()
        width = int(height * 1.9)
        room = self._room(width + 2 * height)
        how = _("Click to hide or show, double-click to show it alone")
        for button, entry in zip(self._buttons, self._entries, strict=True):
            ratio = self.devicePixelRatioF()
            button.setIcon(sample_icon(entry.colour, width, height, ratio, not entry.shown))
            button.setIconSize(QSize(width, height))
            elide = Qt.TextElideMode.ElideRight
            button.setText(self.fontMetrics().elidedText(entry.title, elide, room))
            button.setToolTip(f"{entry.title}\n{how}")
            button.setChecked(entry.shown)
            button.setAccessibleName(_("show {name}").format(name=entry.title))
        self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.retheme()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.MouseButtonDblClick
            and isinstance(event, QMouseEvent)
            and event.button() == Qt.MouseButton.LeftButton
            and watched in self._buttons
        ):
            self.isolated.emit(self._entries[self._buttons.index(watched)].target)
            return True
        return super().eventFilter(watched, event)

    def _room(self, beside: int) -> int:
        """Width for a name with which all stand in one row, if names stay readable then."""
        letter = self.fontMetrics().averageCharWidth()
        widths = [self.fontMetrics().horizontalAdvance(one.title) for one in self._entries]
        for letters in range(_WIDEST, _NARROWEST, -1):
            needed = sum(min(width, letters * letter) + beside for width in widths)
            if needed + self._layout.spacing() * len(widths) <= self.width():
                return letters * letter
        return (_WIDEST + _NARROWEST) // 2 * letter

    def _button(self, index: int) -> QToolButton:
        button = QToolButton()
        button.setCheckable(True)
        button.setProperty("role", "legend")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.installEventFilter(self)
        button.clicked.connect(lambda: self.toggled.emit(self._entries[index].target))
        self._layout.addWidget(button)
        return button
