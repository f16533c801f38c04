"""The card "crossovers and ceilings": where orders turn and what fits."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from costlab.i18n import _
from costlab.units import format_count
from costlab_gui.hub import Hub
from costlab_gui.model.landmarks import Landmark
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.elided_label import ElidedLabel


class LandmarksCard(Card):
    """A line for each; pressing the size goes there."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(_("CROSSOVERS AND CEILINGS"), parent)
        self._hub = hub
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self.body.addLayout(self._grid)
        hub.landmarks.changed.connect(self.show_lines)
        self.show_lines()

    def show_lines(self) -> None:
        """Show what is known now."""
        while item := self._grid.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        lines = self._hub.landmarks.lines
        for row, line in enumerate(lines):
            self._add(row, line)
        more = self._hub.landmarks.more
        if not lines:
            self._say(0, _("No order turns and nothing is limited over these sizes."))
        elif more:
            self._say(len(lines), _("and {count} more").format(count=more))

    def choose(self, line: Landmark) -> None:
        """Go to the size of ``line``."""
        over = self._hub.session.over
        if line.at is not None:
            text = _("set {name} to {value}").format(name=over, value=format_count(line.at))
            self._hub.change(text, sizes={over: line.at})

    def _add(self, row: int, line: Landmark) -> None:
        text = ElidedLabel()
        text.setText(line.text)
        text.setToolTip(f"{line.text}\n{line.detail}" if line.detail else line.text)
        self._grid.addWidget(text, row, 0)
        if line.at is None:
            where: QWidget = QLabel(line.where)
            set_role(where, "number")
        else:
            where = QPushButton(line.where)
            set_role(where, "link")
            where.setToolTip(line.detail or _("go there"))
            where.setAccessibleName(f"{line.text}, {line.where}")
            where.clicked.connect(partial(self.choose, line))
        self._grid.addWidget(where, row, 1, Qt.AlignmentFlag.AlignRight)

    def _say(self, row: int, text: str) -> None:
        label = QLabel(text)
        label.setWordWrap(True)
        set_role(label, "dim")
        self._grid.addWidget(label, row, 0, 1, 2)
