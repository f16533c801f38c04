"""The map page: the cheapest architecture over two sizes, and why it is."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt, QTimer
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from costlab.figures.frame import Frame
from costlab.figures.map_svg import UNDECIDED, cell_at
from costlab.figures.spec import AnyFigure, MapSpec
from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.hub import Hub
from costlab_gui.jobs.worker import Worker
from costlab_gui.model.explore import metric_title
from costlab_gui.model.session import MAP_METRICS
from costlab_gui.model.winner import (
    Map,
    allowed_sizes,
    contenders,
    explain,
    here,
    rests_on,
    variables,
    winners,
)
from costlab_gui.pages.figure_page import FigurePage
from costlab_gui.pages.page import CURVES_ONLY

_NOT_SHOWN = (CURVES_ONLY | {"selected"}) - {"low", "high", "over"}
_IDLE_MS, _WAIT_MS = 60, 400  # from the last change, and while something is dragged


class MapPage(FigurePage):
    """The map is computed in a thread, when nothing is dragged; the cross follows at once.

    A click, or Enter on the cell that the arrow keys went to, sets both sizes.
    """

    key = "map"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, _("map of the cheapest"), None, parent=parent)
        self._shown = Map(None, (), {})
        self._cell: tuple[int, int] | None = None
        self._rests_on: tuple[object, ...] | None = None
        self.x_menu, self.y_menu = QComboBox(), QComboBox()
        self.metric_menu = QComboBox()
        for metric in MAP_METRICS:
            self.metric_menu.addItem(metric_title(metric), metric)
        for label, menu, name in (
            (_("cheapest in"), self.metric_menu, _("what is cheapest on the map")),
            (_("across"), self.x_menu, _("size across the map")),
            (_("up"), self.y_menu, _("size up the map")),
        ):
            menu.setAccessibleName(name)
            text = QLabel(label)
            text.setBuddy(menu)
            self.head.addWidget(text)
            self.head.addWidget(menu)
        self.metric_menu.activated.connect(self._metric_chosen)
        self.x_menu.activated.connect(lambda _index: self._axis_chosen(0))
        self.y_menu.activated.connect(lambda _index: self._axis_chosen(1))
        self.plot.hovered.connect(self._hovered)
        self.plot.clicked.connect(self._clicked)
        self.plot.stepped.connect(self._stepped)
        self.plot.chosen.connect(self._chosen)
        self._number = 0
        self._worker = Worker(hub.tell, self)
        hub.closing.connect(self._worker.stop)
        self._idle = QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.setInterval(_IDLE_MS)
        self._idle.timeout.connect(self.compute)
        hub.dragging.connect(self._drag)
        hub.closing.connect(self._idle.stop)

    @property
    def title(self) -> str:
        return _("Map")

    @property
    def shown(self) -> Map:
        return self._shown

    def figure(self) -> AnyFigure | None:
        spec = self._shown.figure
        return None if spec is None else replace(spec, here=here(self.hub.session))

    def refresh(self, changed: frozenset[str]) -> None:
        if changed and changed <= _NOT_SHOWN:
            return
        self._show_menus()
        if self._rests_on is None:
            self.compute()
            return
        self._show_cross()
        self._tell(self._at_cell())
        if changed - {"sizes"} or rests_on(self.hub.session) != self._rests_on:
            self._idle.start()

    def compute(self) -> None:
        """Have the map computed now; the one before stays until it is there."""
        self._idle.stop()
        session, workspace = self.hub.session, self.hub.workspace
        self._rests_on = rests_on(session)
        self._number += 1
        number = self._number
        if self._shown.figure is None:
            self.show_figure(None, _("The map is being computed."))
        self._worker.do(
            lambda: winners(session, workspace) if number == self._number else None,
            lambda found: self._take(number, found),
        )

    def _take(self, number: int, found: Map | None) -> None:
        """Show a map, unless another one was asked for meanwhile."""
        if found is None or number != self._number:
            return
        self._shown = found
        title = self.hub.workspace.title
        missing = [f"{title(target)}: {why}" for target, why in found.problems.items()]
        self.show_figure(found.figure, "\n".join([found.why, *missing]))
        self.notes.setText("\n".join([_("Predicted. A click or Enter sets both sizes."), *missing]))
        self._cell = None
        self._show_cross()
        self._tell(None)
        self.plot.setAccessibleDescription(self.read_out.text())

    def _show_menus(self) -> None:
        session = self.hub.session
        lines = variables(session, self.hub.workspace)
        for menu, name in zip((self.x_menu, self.y_menu), session.map_over, strict=True):
            wanted = {line.name: line.meaning for line in lines}
            wanted.setdefault(name, "")
            if [menu.itemData(at) for at in range(menu.count())] != list(wanted):
                menu.clear()
                for number, (symbol, meaning) in enumerate(wanted.items()):
                    menu.addItem(symbol, symbol)
                    menu.setItemData(number, meaning, Qt.ItemDataRole.ToolTipRole)
            menu.setCurrentIndex(menu.findData(name))
            menu.setToolTip(wanted[name])
            menu.setAccessibleDescription(wanted[name])
        self.metric_menu.setCurrentIndex(self.metric_menu.findData(session.map_metric))

    def _show_cross(self) -> None:
        at, frame = here(self.hub.session), self.plot.frame
        spot = None if at is None or frame is None else frame.at(*at)
        inside = spot is not None and frame is not None and frame.holds(spot)
        self.plot.cross(QPointF(*spot) if spot is not None and inside else None)

    def _metric_chosen(self, index: int) -> None:
        metric = self.metric_menu.itemData(index)
        self.hub.change(_("map the {metric}").format(metric=metric), map_metric=metric)

    def _axis_chosen(self, axis: int) -> None:
        """Choose a size for an axis; one that the other axis has changes places with it."""
        menu = (self.x_menu, self.y_menu)[axis]
        names = list(self.hub.session.map_over)
        chosen = menu.currentData()
        if chosen == names[1 - axis]:
            names[1 - axis] = names[axis]
        names[axis] = chosen
        self.hub.change(_("map over {names}").format(names=", ".join(names)), map_over=tuple(names))

    def _drag(self, on: bool) -> None:
        """While a slider is dragged the map waits; the cross does not."""
        self._idle.setInterval(_WAIT_MS if on else _IDLE_MS)
        if self._idle.isActive():
            self._idle.start()

    def _hovered(self, at: tuple[float, float] | None) -> None:
        self._tell(at or self._at_cell())

    def _clicked(self, at: tuple[float, float]) -> None:
        self._set_sizes(at)

    def _stepped(self, dx: int, dy: int) -> None:
        spec = self._shown.figure
        if spec is None:
            return
        cell = self._cell
        if cell is None:
            at = here(self.hub.session)
            cell = cell_at(spec, *at) if at is not None else None
            cell = cell or (len(spec.y_values) // 2, len(spec.x_values) // 2)
        row = min(max(cell[0] + dy, 0), len(spec.y_values) - 1)
        column = min(max(cell[1] + dx, 0), len(spec.x_values) - 1)
        self._cell = (row, column)
        self._tell(self._at_cell())

    def _chosen(self) -> None:
        at = self._at_cell()
        if at is not None:
            self._set_sizes(at)

    def _at_cell(self) -> tuple[float, float] | None:
        """The sizes of the cell that the arrow keys went to."""
        spec = self._shown.figure
        if spec is None or self._cell is None:
            return None
        return spec.x_values[self._cell[1]], spec.y_values[self._cell[0]]

    def _set_sizes(self, at: tuple[float, float]) -> None:
        session, workspace = self.hub.session, self.hub.workspace
        sizes = allowed_sizes(session, workspace, *at)
        words = ", ".join(f"{name} = {format_value(size, '')}" for name, size in sizes.items())
        self.hub.change(_("set {sizes}").format(sizes=words), sizes=sizes)

    def _tell(self, place: tuple[float, float] | None) -> None:
        """Explain a place on the map and frame its cell; None is where the sizes are now."""
        spec, frame = self._shown.figure, self.plot.frame
        at = place or here(self.hub.session)
        cell = cell_at(spec, *at) if spec is not None and at is not None else None
        if spec is None or frame is None or at is None or cell is None:
            self.read_out.setText(_("Point at the map, or walk over it with the arrow keys."))
            self.outline(None)
            return
        session, workspace = self.hub.session, self.hub.workspace
        now = dict(zip(session.map_over, map(round, at), strict=True))
        sizes = now if place is None else allowed_sizes(session, workspace, *at)
        rows = contenders(session, workspace, self._shown, sizes)
        decided = spec.cells[cell[0]][cell[1]] != UNDECIDED
        words = ", ".join(f"{name} = {format_value(size, '')}" for name, size in sizes.items())
        self.read_out.setText(f"{words}: {explain(rows, session, decided)}.")
        self.outline(_around(spec, frame, cell) if place is not None else None)


def _around(spec: MapSpec, frame: Frame, cell: tuple[int, int]) -> QRectF:
    """A small frame around a cell, in user units."""
    x, y = frame.at(spec.x_values[cell[1]], spec.y_values[cell[0]])
    width = (frame.right - frame.left) / len(spec.x_values)
    height = (frame.bottom - frame.top) / len(spec.y_values)
    return QRectF(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4)
