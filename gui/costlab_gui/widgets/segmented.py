"""A row of buttons of which one, or some, are on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from costlab_gui.theme.stylesheet import set_role


class SegmentedControl(QWidget):
    """Arrow keys move between the buttons; Tab goes past the whole control.

    Signals:
        chosen: the keys that are on (tuple of str) after the user changed them.
    """

    chosen = Signal(object)

    def __init__(
        self,
        name: str,
        choices: Sequence[tuple[str, str]] = (),
        multiple: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """``name`` is read out by screen readers; ``choices`` are keys and texts.

        With ``multiple`` any number may be on, but never none.
        """
        super().__init__(parent)
        self.setAccessibleName(name)
        self._multiple = multiple
        self._buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        self._group.setExclusive(not multiple)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.set_choices(choices)

    def set_choices(self, choices: Sequence[tuple[str, str]]) -> None:
        """Replace the buttons; those that stay keep whether they are on."""
        if [(key, button.text()) for key, button in self._buttons.items()] == list(choices):
            return
        on = self.value
        for button in self._buttons.values():
            self._group.removeButton(button)
            self._layout.removeWidget(button)
            button.deleteLater()
        self._buttons = {}
        for key, text in choices:
            button = QPushButton(text)
            button.setCheckable(True)
            button.setAccessibleName(f"{self.accessibleName()}: {text}")
            set_role(button, "segment")
            button.clicked.connect(lambda _on, key=key: self._clicked(key))
            self._group.addButton(button)
            self._layout.addWidget(button)
            self._buttons[key] = button
        self.set_value(on)

    @property
    def value(self) -> tuple[str, ...]:
        """The keys that are on, in the order of the buttons."""
        return tuple(key for key, button in self._buttons.items() if button.isChecked())

    def set_value(self, keys: Iterable[str]) -> None:
        """Switch exactly ``keys`` on, without telling anybody."""
        wanted = set(keys)
        self._group.setExclusive(False)
        for key, button in self._buttons.items():
            button.setChecked(key in wanted)
        self._group.setExclusive(not self._multiple)
        self._place_tab_stop()

    def set_usable(self, key: str, usable: bool, why: str = "") -> None:
        """Disable a button, with the reason as its tool tip, or enable it again."""
        button = self._buttons[key]
        button.setEnabled(usable)
        button.setToolTip("" if usable else why)

    def button(self, key: str) -> QPushButton:
        """The button of a key."""
        return self._buttons[key]

    def _place_tab_stop(self) -> None:
        """Let Tab stop at the button that is on; arrows reach the others."""
        on = self.value
        for key, button in self._buttons.items():
            stops = self._multiple or not on or key in on
            policy = Qt.FocusPolicy.StrongFocus if stops else Qt.FocusPolicy.ClickFocus
            button.setFocusPolicy(policy)

    def _clicked(self, key: str) -> None:
        self._place_tab_stop()
        if self._multiple and not self.value:
            self._buttons[key].setChecked(True)
            return
        self.chosen.emit(self.value)
