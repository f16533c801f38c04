"""The structure page: which output reads which position, how far apart they are, at what loss."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QLabel, QSpinBox, QWidget

from costlab.figures.frame import Frame
from costlab.figures.spec import FigureSpec, PatternSpec
from costlab.i18n import _
from costlab.units import format_percent
from costlab_gui.hub import Hub
from costlab_gui.jobs.worker import Worker
from costlab_gui.model.structure import (
    DEPTH,
    GRADIENT,
    PATHS,
    PATTERN,
    TOLD,
    Known,
    Length,
    View,
    at_sentence,
    cell_sentence,
    facts,
    notes,
    sentences,
    view,
)
from costlab_gui.pages.figure_page import FigurePage
from costlab_gui.widgets.fact_list import FactList
from costlab_gui.widgets.number_table import Cell, Column, NumberTable, TableRow

from costlab_gui.widgets.segmented import SegmentedControl  # isort: skip

_SHOWN = frozenset({"programs", "colours", "hidden", "selected", "options"})
_OF_THE_PROGRAM = (0, 7, 8)  # columns that are the same at every length
_SHARES = [700, 300]  # of picture and numbers, to begin with
_NONE = Cell("–", -1.0)


class StructurePage(FigurePage):
    """The pattern is the selected program's; the curves are those of all shown programs.

    What is shown is computed in a thread: searching a graph takes longer than a frame.
    """

    key = "structure"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        self.table = NumberTable(
            _("numbers of the structure"),
            [
                Column(_("name"), figures=False),
                Column("n", hint=_("length at which the module was looked at")),
                Column(_("edges"), hint=_("pairs of an output and a position that it reads")),
                Column(_("density"), hint=_("edges over all pairs")),
                Column(_("diameter"), hint=_("layers until every pair that can be is connected")),
                Column(_("mean path"), hint=_("layers that a pair takes on average")),
                Column(
                    _("in a row"),
                    hint=_("fewest dependent operators between the farthest pair of one layer"),
                ),
                Column(
                    _("path"), figures=False, hint=_("longest path, in layers or within one layer")
                ),
                Column(
                    _("gradient"),
                    hint=_("share that is left over a distance of {distance}").format(
                        distance=TOLD
                    ),
                ),
            ],
        )
        super().__init__(hub, _("structure"), self.table, _("NUMBERS"), parent)
        self._shown = self._filled = View()
        self._cell: tuple[int, int] | None = None
        self._number = 0
        self.choice = SegmentedControl(
            _("what is shown"),
            [
                (PATTERN, _("Pattern")),
                (PATHS, _("Paths")),
                (DEPTH, _("Depth")),
                (GRADIENT, _("Gradient")),
            ],
        )
        self.choice.set_value([PATTERN])
        self.upto = QSpinBox()
        self.upto.setAccessibleName(_("layers whose reach is shown"))
        self._upto_label = QLabel(_("over layers"))
        self._upto_label.setBuddy(self.upto)
        self.facts = FactList(_("structure in short"))
        self.head.addWidget(self.choice)
        self.head.addWidget(self._upto_label)
        self.head.addWidget(self.upto)
        self.beside.addWidget(self.facts)
        self._body.setSizes(_SHARES)
        self.upto.setRange(1, 1)
        self._worker = Worker(hub.tell, self)
        hub.closing.connect(self._worker.stop)
        self.choice.chosen.connect(lambda _keys: self.compute())
        self.upto.valueChanged.connect(lambda _layers: self.compute())
        self.plot.hovered.connect(self._hovered)
        self.plot.stepped.connect(self._stepped)

    @property
    def title(self) -> str:
        return _("Structure")

    @property
    def shown(self) -> View:
        return self._shown

    @property
    def which(self) -> str:
        """The view that is asked for, of ``model.structure.VIEWS``."""
        return self.choice.value[0]

    @property
    def is_read(self) -> bool:
        """Whether picture and table show what was asked for last."""
        return not self._worker.busy and (self._filled is self._shown or not self._shown.figure)

    def refresh(self, changed: frozenset[str]) -> None:
        if changed and not changed & _SHOWN:
            return
        self.compute()

    def compute(self) -> None:
        """Have the view computed; the one before stays until it is there."""
        session, workspace = self.hub.session, self.hub.workspace
        which, upto = self.which, self.upto.value()
        self._number += 1
        number = self._number
        self._worker.do(
            lambda: view(session, workspace, which, upto) if number == self._number else None,
            lambda found: self._take(number, which, found),
        )

    def _take(self, number: int, which: str, found: View | None) -> None:
        """Show a view, unless another one was asked for meanwhile."""
        if found is None or number != self._number:
            return
        self._shown = found
        self._cell = None
        self.show_figure(found.figure, found.why)
        pattern = isinstance(found.figure, PatternSpec)
        self.facts.setVisible(pattern)
        for widget in (self._upto_label, self.upto):
            widget.setVisible(pattern)
        if found.figure is None:
            return
        if found.selected is not None:
            self.facts.show_facts(facts(found.selected))
        if found.selected is not None and pattern:
            most = max(found.selected.diameter, 1)
            self.upto.blockSignals(True)
            self.upto.setMaximum(most)
            self.upto.blockSignals(False)
            self.upto.setEnabled(most > 1)
        self.plot.setAccessibleDescription(self.summary())
        self._tell(None)
        # In a piece of its own: table and picture together take longer than a frame.
        self.hub.idle.first(lambda: self._fill_table(which, found))

    def _fill_table(self, which: str, found: View) -> None:
        if found is not self._shown:
            return
        self._filled = found
        self.table.hide_columns(_OF_THE_PROGRAM if which == PATTERN else ())
        self.table.show_rows(self._rows())
        missing = [
            f"{self.hub.workspace.title(target)}: {why}" for target, why in found.problems.items()
        ]
        self.notes.setText("\n".join([" ".join(notes(found, which)), *missing]))

    def summary(self) -> str:
        """The picture in words."""
        return " ".join(
            f"{known.title}. {' '.join(sentences(known))}" for known in self._shown.programs
        )

    def _rows(self) -> list[TableRow]:
        programs = self._shown.programs
        if isinstance(self._shown.figure, PatternSpec):
            return [_row(programs[0], length, -1) for length in reversed(programs[0].lengths)]
        return [_row(known, known.largest, known.colour) for known in programs]

    def _hovered(self, at: tuple[float, float] | None) -> None:
        self._tell(at)

    def _stepped(self, dx: int, dy: int) -> None:
        """Arrow keys walk over the pattern, or along the curves."""
        figure = self._shown.figure
        if figure is None:
            return
        if isinstance(figure, PatternSpec):
            n = len(figure.layers)
            row, column = self._cell or (n // 2, n // 2)
            row, column = row - dy, column + dx
            self._cell = (min(max(row, 0), n - 1), min(max(column, 0), n - 1))
            self._tell((self._cell[1] + 1.0, self._cell[0] + 1.0))
            return
        points = sorted({value for series in figure.series for value in series.x})
        column = (self._cell[1] if self._cell else -1) + (dx or dy)
        self._cell = (0, min(max(column, 0), len(points) - 1))
        self._tell((points[self._cell[1]], 0.0))

    def _tell(self, at: tuple[float, float] | None) -> None:
        """Say what is at a place of the picture; None: what can be done there."""
        figure, frame = self._shown.figure, self.plot.frame
        if figure is None or frame is None:
            self.read_out.setText("")
            return
        if at is None:
            self.read_out.setText(_("Point at the picture, or walk over it with the arrow keys."))
            self.outline(None)
        elif isinstance(figure, FigureSpec):
            self.read_out.setText(at_sentence(figure, at[0]))
        elif isinstance(figure, PatternSpec) and self._shown.selected is not None:
            n = len(figure.layers)
            position, output = (min(max(round(value), 1), n) for value in at)
            self.read_out.setText(cell_sentence(self._shown.selected, output, position))
            self.outline(_around(frame, n, output))


def _around(frame: Frame, n: int, output: int) -> QRectF:
    """A frame around the row of an output, in user units."""
    side = (frame.bottom - frame.top) / n
    top = frame.top + (output - 1) * side
    return QRectF(frame.left - 2, top - 2, frame.right - frame.left + 4, side + 4)


def _row(known: Known, at: Length, colour: int) -> TableRow:
    counted = known.counted
    operators = _NONE
    if at.operators is not None:
        operators = Cell(str(at.operators), at.operators)
    elif counted is not None and colour >= 0:
        operators = Cell(_("{count} at n = {n}").format(count=counted[1], n=counted[0]), counted[1])
    left = known.gradient(TOLD)
    return TableRow(
        (
            Cell(known.title),
            Cell(str(at.n), at.n),
            Cell(str(at.edges), at.edges),
            Cell(format_percent(float(f"{at.density:.3g}")), at.density),
            Cell(str(at.diameter), at.diameter),
            Cell(f"{at.mean:.2f}", at.mean),
            operators,
            Cell(known.structure.path or "–"),
            _NONE if left is None else Cell(format_percent(float(f"{left:.3g}")), left),
        ),
        colour,
    )
