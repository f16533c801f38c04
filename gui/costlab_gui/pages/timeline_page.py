"""The memory page: what is alive at the moments of the selected program, and its peak."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QLabel, QWidget

from costlab.figures.stack_svg import column_span
from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.hub import Hub
from costlab_gui.model.timeline import (
    KINDS,
    At,
    Timeline,
    fits,
    kind_title,
    sentence,
    timeline,
)
from costlab_gui.pages.figure_page import FigurePage
from costlab_gui.pages.page import CURVES_ONLY
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.number_table import Cell, Column, NumberTable, TableRow

_NOT_SHOWN = (CURVES_ONLY | {"map_over", "map_metric", "programs", "hidden"}) - {"budget"}


class TimelinePage(FigurePage):
    """Column, table row and sentence are one moment; the peak is shown until one is picked."""

    key = "timeline"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        self.table = NumberTable(
            _("bytes alive at each moment"),
            [
                Column(_("operator"), figures=False),
                Column(_("phase"), figures=False),
                Column(_("together")),
                *(Column(kind_title(kind)) for kind in KINDS),
                Column("#", hint=_("order in the program")),
            ],
        )
        super().__init__(hub, _("memory over the program"), self.table, _("MOMENTS"), parent)
        self._shown = Timeline(None, (), 0, None, ())
        self._order: tuple[int, ...] = ()
        self._picked = -1
        self._of = QLabel()
        set_role(self._of, "strong")
        self.warning = QLabel()
        set_role(self.warning, "warning")
        self.head.addWidget(self._of)
        self.head.addWidget(self.warning)
        self.plot.hovered.connect(self._hovered)
        self.plot.clicked.connect(lambda at: self.pick(int(at[0])))
        self.plot.stepped.connect(self._stepped)
        self.table.picked.connect(lambda row: self.pick(self._order[row] if row >= 0 else -1))

    @property
    def title(self) -> str:
        return _("Memory")

    @property
    def shown(self) -> Timeline:
        return self._shown

    def refresh(self, changed: frozenset[str]) -> None:
        if changed and changed <= _NOT_SHOWN:
            return
        self._shown = timeline(self.hub.session, self.hub.workspace)
        moments = self._shown.moments
        self._of.setText(self.hub.workspace.title(self.hub.session.selected))
        self.warning.setText(fits(self._shown))
        self.show_figure(self._shown.figure, self._shown.problem)
        # The largest first; equal ones as they run.
        self._order = tuple(sorted(range(len(moments)), key=lambda i: -moments[i].bytes))
        self.table.show_rows([_row(i, moments[i]) for i in self._order])
        used = {part.kind for moment in moments for part in moment.alive if part.bytes}
        self.table.hide_columns([3 + at for at, kind in enumerate(KINDS) if kind not in used])
        self.notes.setText(" ".join(self._shown.notes))
        if self._picked >= len(moments) or "selected" in changed or "mode" in changed:
            self._picked = -1
        self._tell(self._picked)
        if moments:
            self.plot.setAccessibleDescription(sentence(self._shown, self._shown.peak))

    def pick(self, moment: int) -> None:
        """Show one moment; -1 the peak."""
        if moment == self._picked or moment >= len(self._shown.moments):
            return
        self._picked = moment
        self.table.select_row(self._order.index(moment) if moment >= 0 else -1)
        self._tell(moment)

    def _hovered(self, at: tuple[float, float] | None) -> None:
        inside = at is not None and 0 <= at[0] < len(self._shown.moments)
        self._tell(int(at[0]) if at is not None and inside else self._picked)

    def _stepped(self, dx: int, dy: int) -> None:
        """Arrow keys go through the program."""
        count = len(self._shown.moments)
        if count:
            start = self._picked if self._picked >= 0 else self._shown.peak - dx - dy
            self.pick(min(max(start + dx + dy, 0), count - 1))

    def _tell(self, moment: int) -> None:
        frame = self.plot.frame
        spec = self._shown.figure
        if frame is None or spec is None:
            self.read_out.setText("")
            return
        if moment < 0:
            self.read_out.setText(sentence(self._shown, self._shown.peak))
            self.outline(None)
            return
        self.read_out.setText(sentence(self._shown, moment))
        left, right = column_span(frame, moment)
        top = frame.at_y(spec.total(moment))
        self.outline(QRectF(left - 3, top - 3, right - left + 6, frame.bottom - top + 6))


def _row(index: int, moment: At) -> TableRow:
    alive = {part.kind: part for part in moment.alive}
    cells = [
        Cell(moment.where),
        Cell(moment.phase),
        Cell(format_value(round(moment.bytes), "B"), moment.bytes),
    ]
    for kind in KINDS:
        part = alive.get(kind)
        if part is None or not part.bytes:
            cells.append(Cell("–", 0.0))
        else:
            cells.append(Cell(format_value(round(part.bytes), "B"), part.bytes, part.formula))
    return TableRow((*cells, Cell(str(index + 1), float(index + 1))))
