"""Short facts below each other: a dim name and its value beneath."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from costlab_gui.theme.stylesheet import set_role

_BETWEEN = 6


class FactList(QWidget):
    """Shows pairs of a name and a value; a screen reader gets them as one text."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._layout.addStretch(1)
        self._facts: tuple[tuple[str, str], ...] = ()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What is shown."""
        return self._facts

    def show_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show exactly these."""
        self._facts = tuple(facts)
        while len(self._labels) < len(facts):
            self._add()
        for number, labels in enumerate(self._labels):
            texts = facts[number] if number < len(facts) else ("", "")
            for label, text in zip(labels, texts, strict=True):
                label.setText(text)
                label.setVisible(bool(text))
        self.setAccessibleDescription("; ".join(f"{name}: {value}" for name, value in facts))

    def _add(self) -> None:
        name, value = QLabel(), QLabel()
        set_role(name, "small")
        value.setContentsMargins(0, 0, 0, _BETWEEN)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (name, value):
            self._layout.insertWidget(self._layout.count() - 1, label)
        self._labels.append((name, value))
