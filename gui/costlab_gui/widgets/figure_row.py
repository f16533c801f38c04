"""One figure of a device profile: its value, where it was read, and what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit

from costlab.i18n import _
from costlab_gui.model.device_editor import Figure
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.error_line import ErrorLine


class FigureRow(QObject):
    """Puts its controls into ``grid``.

    Signals:
        edited: name of the figure, "text" or "source", and what it is now.
    """

    edited = Signal(str, str, str)

    def __init__(self, figure: Figure, grid: QGridLayout, parent: QObject) -> None:
        super().__init__(parent)
        self.name = figure.name
        label = QLabel(figure.title)
        self.value = QLineEdit(figure.text)
        self.value.setPlaceholderText(_("not published"))
        self.value.setAccessibleName(figure.title)
        set_role(self.value, "number")
        self.source = QLineEdit(figure.source)
        self.source.setAccessibleName(_("source of {figure}").format(figure=figure.title))
        label.setBuddy(self.value)
        self.problem = ErrorLine(self.value)
        row = grid.rowCount()
        grid.addWidget(label, row, 0)
        grid.addWidget(self.value, row, 1)
        grid.addWidget(self.source, row, 2)
        grid.addWidget(self.problem, row + 1, 1, 1, 2)
        self.value.textEdited.connect(lambda text: self.edited.emit(self.name, "text", text))
        self.source.textEdited.connect(lambda text: self.edited.emit(self.name, "source", text))
        self.show_figure(figure, "")

    def show_figure(self, figure: Figure, problem: str) -> None:
        """Show where the figure stands; what is typed is left alone."""
        original = figure.original
        known = original.source.title if original is not None else ""
        self.source.setReadOnly(not figure.changed)
        self.source.setPlaceholderText(_("source: title or address") if figure.changed else known)
        tip = "" if original is None else f"{known}\n{original.source.url}\n{original.source.read}"
        self.source.setToolTip(tip.strip())
        self.problem.say(problem)
