"""A page with one picture, a sentence on what is pointed at, and the numbers in a table."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from costlab.figures.spec import AnyFigure
from costlab_gui.hub import Hub
from costlab_gui.pages.page import Page
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.empty_state import EmptyState
from costlab_gui.widgets.export_buttons import ExportButtons
from costlab_gui.widgets.number_table import NumberTable
from costlab_gui.widgets.svg_figure import SvgFigure

_SHARES = [660, 340]  # of picture and numbers, to begin with


class FigurePage(Page):
    """Lays the parts out; a page puts its controls into ``head``, what stands at
    the right of the picture into ``beside``, and fills the rest.

    Args:
        hub: what is shown.
        name: what a screen reader calls the picture.
        table: the numbers; None for a page without a table.
        heading: above the table, in capitals.
    """

    def __init__(
        self,
        hub: Hub,
        name: str,
        table: NumberTable | None,
        heading: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(hub, parent)
        self.plot = SvgFigure()
        self.plot.setAccessibleName(name)
        self.read_out = QLabel()
        self.read_out.setWordWrap(True)
        self.read_out.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.notes = QLabel()
        self.notes.setWordWrap(True)
        set_role(self.notes, "small")
        self.empty = EmptyState("info", "")
        self.empty.hide()
        self.head = QHBoxLayout()
        line = QHBoxLayout()
        line.addLayout(self.head)
        line.addStretch(1)
        line.addWidget(ExportButtons(self.export_figure, self.copy_figure))
        figure = Card()
        self.beside = QHBoxLayout()
        self.beside.addWidget(self.plot, 1)
        figure.body.addLayout(self.beside, 1)
        figure.body.addWidget(self.read_out)
        self._body = QSplitter(Qt.Orientation.Vertical)
        self._body.setHandleWidth(8)
        self._body.setChildrenCollapsible(False)
        self._body.addWidget(figure)
        if table is None:
            figure.body.addWidget(self.notes)
        else:
            numbers = Card(heading)
            numbers.body.addWidget(table, 1)
            numbers.body.addWidget(self.notes)
            self._body.addWidget(numbers)
            self._body.setSizes(_SHARES)
        self._table = table
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(line)
        layout.addWidget(self._body, 1)
        layout.addWidget(self.empty, 1)

    def figure(self) -> AnyFigure | None:
        return self.plot.spec

    def show_figure(self, spec: AnyFigure | None, why: str = "") -> None:
        """Show a picture and its numbers, or why there is none."""
        self._body.setVisible(spec is not None)
        self.empty.setVisible(spec is None)
        self.plot.show_figure(spec)
        if spec is None:
            self.empty.say(why)

    def outline(self, area: QRectF | None) -> None:
        """Mark what is pointed at."""
        self.plot.outline(area)

    def retheme(self) -> None:
        self.plot.retheme()
        self.empty.retheme()
        if self._table is not None:
            self._table.retheme()
