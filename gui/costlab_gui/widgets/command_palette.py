"""Ctrl+K: every action of the window by a few letters of its name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.model.matching import ranked

_MOVES = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}


class CommandPalette(QDialog):
    """Lists the enabled ones of ``actions`` that match what is typed; Enter runs the first."""

    def __init__(self, actions: Sequence[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAccessibleName(_("command palette"))
        self._actions = {_plain(action): action for action in actions if action.isEnabled()}
        self._field = QLineEdit(placeholderText=_("Type a command…"))
        self._field.setAccessibleName(_("command"))
        self._list = QListWidget()
        self._list.setAccessibleName(_("commands"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self._field)
        layout.addWidget(self._list)
        em = self.fontMetrics().horizontalAdvance("m")
        self.resize(36 * em, 24 * self.fontMetrics().height())
        self._field.textChanged.connect(self._show)
        self._field.returnPressed.connect(self._run)
        self._field.installEventFilter(self)
        self._list.itemClicked.connect(lambda _item: self._run())
        self._show("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and Qt.Key(event.key()) in _MOVES
        ):
            self._list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _show(self, typed: str) -> None:
        self._list.clear()
        for name in ranked(typed, self._actions):
            keys = self._actions[name].shortcut().toString()
            item = QListWidgetItem(f"{name}    {keys}" if keys else name)
            item.setData(Qt.ItemDataRole.UserRole, name)
            self._list.addItem(item)
        self._list.setCurrentRow(0)

    def _run(self) -> None:
        item = self._list.currentItem()
        if item is not None:
            self.accept()
            self._actions[item.data(Qt.ItemDataRole.UserRole)].trigger()


def _plain(action: QAction) -> str:
    """The name without mnemonic and dots."""
    return action.text().replace("&", "").removesuffix("…")
