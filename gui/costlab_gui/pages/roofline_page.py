"""The roofline page: programs, or the operators of one, under the roofs of the device."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QLabel, QWidget

from costlab.figures.frame import Frame
from costlab.figures.roofline_svg import radius
from costlab.figures.spec import RooflineSpec
from costlab.i18n import _
from costlab.units import format_percent, format_value
from costlab_gui.hub import Hub
from costlab_gui.model.roofline import Roofline, Row, limiter_text, roofline
from costlab_gui.pages.figure_page import FigurePage
from costlab_gui.pages.page import CURVES_ONLY
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.number_table import Cell, Column, NumberTable, TableRow
from costlab_gui.widgets.segmented import SegmentedControl

PROGRAMS, OPERATORS = "programs", "operators"
_NOT_SHOWN = CURVES_ONLY | {"map_over", "map_metric"}
_NEAR = 28.0  # user units within which the pointer finds a point


class RooflinePage(FigurePage):
    """Figure and table show the same rows; selecting one marks it in both."""

    key = "roofline"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        self.table = NumberTable(
            _("numbers of the roofline"),
            [
                Column(_("name"), figures=False),
                Column(_("FLOP/B"), hint=_("intensity: arithmetic per byte addressed")),
                Column(_("of roof"), hint=_("predicted over attainable")),
                Column(_("bound by"), figures=False),
                Column(_("time")),
                Column(_("share"), hint=_("of the slowest, or of the program's operators")),
                Column(_("predicted"), hint=_("FLOP per second")),
                Column(_("attainable"), hint=_("FLOP/s below the roofs at this intensity")),
                Column(_("calls")),
                Column(_("bytes from"), figures=False, hint=_("how the bytes were obtained")),
            ],
        )
        super().__init__(hub, _("roofline"), self.table, _("NUMBERS"), parent)
        self._shown = Roofline(None, (), {}, ())
        self._picked = -1
        self.choice = SegmentedControl(
            _("what is placed"), [(PROGRAMS, _("Architectures")), (OPERATORS, _("Operators"))]
        )
        self.choice.set_value([PROGRAMS])
        self.choice.chosen.connect(lambda _keys: self.refresh(frozenset()))
        self._without: frozenset[str] = frozenset()
        self.levels = SegmentedControl(_("levels of memory"), multiple=True)
        self.levels.chosen.connect(self._levels_chosen)
        self._of = QLabel()
        set_role(self._of, "dim")
        self.plot.hovered.connect(self._hovered)
        self.plot.clicked.connect(lambda at: self._pick(self._nearest(at)))
        self.plot.stepped.connect(self._stepped)
        self.table.picked.connect(self._pick)
        self.head.addWidget(self.choice)
        self.head.addWidget(self._of)
        self.head.addWidget(self.levels)

    @property
    def title(self) -> str:
        return _("Roofline")

    @property
    def operators(self) -> bool:
        """Whether operators of the selected program are placed instead of programs."""
        return self.choice.value == (OPERATORS,)

    @property
    def shown(self) -> Roofline:
        return self._shown

    def refresh(self, changed: frozenset[str]) -> None:
        if changed and changed <= _NOT_SHOWN:
            return
        session = self.hub.session
        self._shown = roofline(session, self.hub.workspace, self.operators, self._without)
        self._show_levels()
        spec = self._shown.figure
        name = self.hub.workspace.title(session.selected)
        self._of.setText(_("of {name}").format(name=name) if self.operators else "")
        self.show_figure(spec, " ".join(self._shown.notes))
        if spec is None:
            return
        self.plot.setAccessibleDescription(self.summary())
        self.table.show_rows([_table_row(row) for row in self._shown.rows])
        missing = [
            f"{self.hub.workspace.title(target)}: {why}"
            for target, why in self._shown.problems.items()
        ]
        self.notes.setText("\n".join([" ".join(self._shown.notes), *missing]))
        self._picked = self.table.selected_row()
        self._tell(self._picked)

    def _show_levels(self) -> None:
        """A button for each level of memory; the outermost holds what lies nowhere else."""
        names = self._shown.levels
        self.levels.setVisible(len(names) > 1)
        self.levels.set_choices([(name, name) for name in names])
        self.levels.set_value(name for name in names if name not in self._without)
        if names:
            self.levels.set_usable(names[-1], False, _("What lies in no cache lies here."))

    def _levels_chosen(self, shown: tuple[str, ...]) -> None:
        self._without = frozenset(self._shown.levels) - set(shown)
        self.refresh(frozenset())

    def summary(self) -> str:
        """The picture in words."""
        return "; ".join(sentence(row) for row in self._shown.rows)

    def _hovered(self, at: tuple[float, float] | None) -> None:
        found = self._nearest(at) if at is not None else -1
        self._tell(found if found >= 0 else self._picked)

    def _nearest(self, at: tuple[float, float]) -> int:
        """The row whose point is nearest to values of the axes; -1 where none is near."""
        frame = self.plot.frame
        if frame is None:
            return -1
        x, y = frame.at(*at)
        found = []
        for number, row in enumerate(self._shown.rows):
            if row.intensity > 0:
                px, py = frame.at(row.intensity, row.rate)
                found.append((math.hypot(px - x, py - y), number))
        distance, number = min(found, default=(math.inf, -1))
        return number if distance <= _NEAR else -1

    def _stepped(self, dx: int, dy: int) -> None:
        """Arrow keys go through the points from left to right."""
        rows = self._shown.rows
        order = sorted(
            (number for number, row in enumerate(rows) if row.intensity > 0),
            key=lambda number: rows[number].intensity,
        )
        if order:
            at = order.index(self._picked) if self._picked in order else -1
            self._pick(order[(at + (dx or dy)) % len(order)])

    def _pick(self, number: int) -> None:
        if number != self._picked:
            self._picked = number
            self.table.select_row(number)
        self._tell(number)

    def _tell(self, number: int) -> None:
        """Describe a row and mark its point."""
        frame = self.plot.frame
        spec = self._shown.figure
        if number < 0 or frame is None or spec is None:
            self.read_out.setText(_("Point at a mark, or go through them with the arrow keys."))
            self.outline(None)
            return
        row = self._shown.rows[number]
        self.read_out.setText(sentence(row))
        self.outline(_around(spec, row, frame) if row.intensity > 0 else None)


def sentence(row: Row) -> str:
    """A row in words."""
    if not row.intensity:
        return _("{name}: moves {bytes} and calculates nothing, {time} in {calls} calls").format(
            name=row.name,
            bytes=format_value(row.bytes, "B"),
            time=format_value(row.time_s, "s"),
            calls=format_value(round(row.calls), ""),
        )
    return _(
        "{name}: {intensity} FLOP/B, predicted {rate} of {attainable} attainable from {level} "
        "({share}), bound by {limiter}, {time} in {calls} calls"
    ).format(
        name=row.name,
        intensity=format_value(row.intensity, ""),
        rate=format_value(row.rate, "FLOP/s"),
        attainable=format_value(row.attainable, "FLOP/s"),
        level=row.level,
        share=format_percent(row.of_roof),
        limiter=limiter_text(row.limiter),
        time=format_value(row.time_s, "s"),
        calls=format_value(round(row.calls), ""),
    )


def share_text(share: float) -> str:
    """A share without digits that nobody reads."""
    if 0 < share < 0.001:
        return _("< 0.1 %")
    return format_percent(round(share, 3))


def _table_row(row: Row) -> TableRow:
    none = Cell("–", -1.0)
    drawn = row.intensity > 0
    return TableRow(
        (
            Cell(row.name),
            Cell(format_value(row.intensity, ""), row.intensity),
            Cell(format_percent(round(row.of_roof, 3)), row.of_roof) if drawn else none,
            Cell(limiter_text(row.limiter)),
            Cell(format_value(row.time_s, "s"), row.time_s),
            Cell(share_text(row.share), row.share),
            Cell(format_value(row.rate, "FLOP/s"), row.rate) if drawn else none,
            Cell(format_value(row.attainable, "FLOP/s"), row.attainable) if drawn else none,
            Cell(format_value(round(row.calls), ""), row.calls),
            Cell(
                _("{bytes} = {formula}").format(
                    bytes=format_value(row.bytes, "B"), formula=row.formula
                ),
                row.bytes,
                row.formula,
            ),
        ),
        row.colour,
    )


def _around(spec: RooflineSpec, row: Row, frame: Frame) -> QRectF | None:
    """The square around the point of a row, in user units; None outside the frame."""
    at = frame.at(row.intensity, row.rate)
    if not frame.holds(at):
        return None
    point = next(point for point in spec.points if point.name == row.name)
    half = radius(point) + 4
    return QRectF(at[0] - half, at[1] - half, 2 * half, 2 * half)
