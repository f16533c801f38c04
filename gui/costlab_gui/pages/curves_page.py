"""Quantities over one size: plots above, the values at the crosshair below."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QSplitter, QVBoxLayout, QWidget

from costlab.errors import CostLabError
from costlab.figures.spec import FigureSpec
from costlab.i18n import _
from costlab.units import format_count
from costlab_gui.hub import Hub
from costlab_gui.model.explore import Panel, panel
from costlab_gui.model.read_out import (
    ERROR,
    FLOP,
    MEASURED,
    PEAK,
    STATE,
    measured_point,
    pieces,
    snapped,
    table,
)
from costlab_gui.model.session import Session
from costlab_gui.pages.page import Page
from costlab_gui.plot.figure_view import FigureView
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.legend import Legend, LegendEntry
from costlab_gui.widgets.panel_grid import PanelGrid
from costlab_gui.widgets.plot_options import PlotOptions
from costlab_gui.widgets.read_out import ReadOutTable

_FRAME_MS, _READING_MS = 16, 60


class CurvesPage(Page):
    """Panels of the chosen quantities with one crosshair, and the table it reads off."""

    key = "curves"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self.at: int | None = None
        self.views: dict[str, FigureView] = {}
        self._panels: dict[str, Panel] = {}
        self._drawn: dict[str, Hashable] = {}
        self._read: Hashable = None
        self._clicks = 0
        self._linking = False
        self._placed = self._live = False
        self.options = PlotOptions(hub)
        self.legend = Legend()
        self.grid = PanelGrid()
        self.read_out = ReadOutTable()
        self.notes = ElidedLabel()
        set_role(self.notes, "dim")
        self._frame = QTimer(self)
        self._frame.setSingleShot(True)
        self._frame.timeout.connect(self._show_values)
        self._late: frozenset[str] = frozenset()
        self._loading: Session | None = None
        self._reading: Iterator[None] | None = None
        self._piece = QTimer(self)
        self._piece.setInterval(0)
        self._piece.timeout.connect(self._read_on)
        self._lay_out()
        self.legend.toggled.connect(self._toggle)
        self.legend.isolated.connect(self._isolate)
        self.read_out.chosen.connect(lambda target: hub.change(selected=target))
        self.read_out.origin_asked.connect(self._explain)
        hub.dragging.connect(self._set_live)

    def _lay_out(self) -> None:
        card = QFrame()
        set_role(card, "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(8, 8, 8, 8)
        inner.setSpacing(4)
        inner.addWidget(self.legend)
        inner.addWidget(self.grid, 1)
        inner.addWidget(self.notes)
        self.split = split = QSplitter(Qt.Orientation.Vertical)
        split.setHandleWidth(8)
        split.setChildrenCollapsible(False)
        split.addWidget(card)
        split.addWidget(self.read_out)
        split.setStretchFactor(0, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.options)
        column.addWidget(split, 1)

    @property
    def title(self) -> str:
        return _("Curves")

    @property
    def measured(self) -> Sequence[Mapping[str, Any]]:
        """The stored points that are drawn, as ``costlab profile --json`` prints them."""
        return self.hub.runs.points()

    def refresh(self, changed: frozenset[str]) -> None:
        if changed & _OTHER_FORMULAS and not self._live:
            self._late |= changed
            self._load()
            return
        session = self.hub.session
        if not changed or changed - {"sizes", "setting"}:
            self.options.refresh()
            self.legend.show_entries(_entries(self.hub))
            self.grid.show_panels([self._view(metric) for metric in session.metrics])
        if changed & {"sizes", "over"}:
            self.at = None
        force = bool(changed - _FIELDS)
        for metric in session.metrics:
            self._draw(metric, force)
        self._show_notes()
        if self._live and not force:
            # While a slider is dragged the plots come first, and the table as often as is read.
            self._place_crosshair()
            if not self._frame.isActive():
                self._frame.start(_READING_MS)
        else:
            self._show_values(force)
        if not self._placed:
            self._placed = True
            low = self.read_out.sizeHint().height()
            low = min(low, int(0.34 * self.height()))
            self.split.setSizes([max(self.height() - low, low), low])

    def _load(self) -> None:
        """Have the formulas of now read and compiled in a thread; what is drawn stays till then."""
        session, workspace, measured = self.hub.session, self.hub.workspace, self.measured
        for metric in session.metrics:
            self._view(metric)

        def work() -> Session:
            for metric in session.metrics:
                with contextlib.suppress(CostLabError):  # it is told where it is drawn
                    panel(session, workspace, metric, measured)
            return session

        self._loading = session
        self.hub.loader.do(work, self._loaded)

    def _loaded(self, session: Session) -> None:
        if session is self._loading:
            self._loading = None
            changed, self._late = self._late, frozenset()
            self.refresh(changed - _OTHER_FORMULAS | {"formulas are here"})

    def retheme(self) -> None:
        for view in self.views.values():
            view.retheme()
        self.legend.retheme()
        self.read_out.retheme()

    def figure(self) -> FigureSpec | None:
        """The plot that has the focus, else the first one."""
        shown = [self.views[m] for m in self.hub.session.metrics if m in self.views]
        view = next((view for view in shown if view.hasFocus()), shown[0] if shown else None)
        return view.seen if view else None

    def fit(self) -> None:
        """Show all panels whole."""
        for metric in self.hub.session.metrics:
            self.views[metric].fit()

    def move_crosshair(self, size: float) -> None:
        """Read off at ``size``, or the nearest size at which all formulas hold."""
        self.at = snapped(self.hub.session, self.hub.workspace, size)
        self._place_crosshair()
        if not self._frame.isActive():
            self._frame.start(_FRAME_MS)

    def take_asked(self, what: str, detail: object) -> None:
        super().take_asked(what, detail)
        if not self.isVisible():
            return
        if what == "fit":
            self.fit()
        elif what == "crosshair" and isinstance(detail, (int, float)):
            self.move_crosshair(detail)

    def _view(self, metric: str) -> FigureView:
        if metric not in self.views:
            view = FigureView()
            view.crosshair_moved.connect(self.move_crosshair)
            view.crosshair_chosen.connect(self._choose_size)
            view.curve_chosen.connect(lambda index: self._choose_curve(metric, index))
            view.x_zoomed.connect(lambda low, high: self._link(metric, low, high))
            view.fitted.connect(lambda: self._fit_linked(metric))
            self.views[metric] = view
        return self.views[metric]

    def _draw(self, metric: str, force: bool) -> None:
        session = self.hub.session
        rings = self.hub.landmarks.rings(metric)
        key = (_key(session, metric), rings)
        if force or self._drawn.get(metric) != key:
            self._drawn[metric] = key
            found = panel(session, self.hub.workspace, metric, self.measured)
            self._panels[metric] = found
            empty = "\n".join(
                f"{self.hub.workspace.title(target)}: {why}"
                for target, why in found.problems.items()
            )
            figure = replace(found.figure, rings=rings)
            self.views[metric].show_figure(figure, empty or _("No program is shown."))
        if session.selected in session.programs:
            self.views[metric].choose_curve(session.colour(session.selected))

    def _place_crosshair(self) -> None:
        session = self.hub.session
        at = self.at if self.at is not None else session.sizes.get(session.over)
        for metric in session.metrics:
            self.views[metric].set_crosshair(at)

    def _show_values(self, force: bool = False) -> None:
        """Bring the table up to date, if anything in it can have changed."""
        self._place_crosshair()
        session = self.hub.session
        key = (self.at, session.shown, session.programs, session.selected, session.over,
               _hashable(session.setting))  # fmt: skip
        if force or key != self._read:
            self._read = key
            self._reading = pieces(session, self.hub.workspace, self.at)
            self._piece.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._read is None:
            self._show_values()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._piece.stop()
        if self._reading is not None:
            self._reading = self._read = None

    @property
    def is_read(self) -> bool:
        """Whether plots and table show the session of now."""
        waits = self._loading is not None or self._reading is not None
        return not waits and not self._frame.isActive()

    def _read_on(self) -> None:
        """Predict one more program; the table follows when all are there."""
        assert self._reading is not None
        if next(self._reading, self) is self:
            self._reading = None
            self._piece.stop()
            session = self.hub.session
            found = table(session, self.hub.workspace, self.at, self.measured)
            self.read_out.show_read_out(found, session.selected)

    def _show_notes(self) -> None:
        """One line on the programs that are not on every plot."""
        session, title = self.hub.session, self.hub.workspace.title
        reasons: dict[str, list[str]] = {}
        for metric in session.metrics:
            for target, why in self._panels[metric].problems.items():
                if self._panels[metric].figure.series:
                    reasons.setdefault(why, []).append(title(target))
        parts = [f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in reasons.items()]
        text = _("not drawn: {what}").format(what="; ".join(parts)) if parts else ""
        self.notes.setText(text)
        self.notes.setVisible(bool(text))

    def _set_live(self, live: bool) -> None:
        self._live = live
        if not live:
            self._frame.stop()
            self._show_values()
        for view in self.views.values():
            view.set_live(live)

    def _toggle(self, target: str) -> None:
        session = self.hub.session
        hidden = (
            tuple(t for t in session.hidden if t != target)
            if target in session.hidden
            else (*session.hidden, target)
        )
        self._clicks = self.hub.new_drag()
        text = _("show {name}") if target in session.hidden else _("hide {name}")
        name = self.hub.workspace.title(target)
        self.hub.change(text.format(name=name), drag=self._clicks, hidden=hidden)

    def _isolate(self, target: str) -> None:
        """Show one program alone, or all where it is alone already."""
        session = self.hub.session
        others = tuple(t for t in session.programs if t != target)
        # The first click of the two has just switched the program itself.
        alone = set(session.hidden) | {target} == set(session.programs)
        name = self.hub.workspace.title(target)
        self.hub.change(
            _("show {name} alone").format(name=name),
            drag=self._clicks,
            hidden=() if alone else others,
        )

    def _explain(self, target: str, column: str) -> None:
        """Open where a number of the table comes from."""
        from costlab_gui.widgets.origin_dialog import open_measured_origin, open_origin

        session = self.hub.session
        at = self.at if self.at is not None else session.sizes.get(session.over)
        sizes = {} if at is None else {session.over: at}
        if column in (MEASURED, ERROR):
            point = measured_point(session, target, at, self.measured)
            if point is not None:
                open_measured_origin(self.hub, point, "time", self)
            return
        metric = {PEAK: "memory", FLOP: "flop", STATE: "state"}.get(column, "time")
        open_origin(self.hub, target, metric, sizes, self)

    def _choose_size(self, size: float) -> None:
        session = self.hub.session
        at = snapped(session, self.hub.workspace, size)
        text = _("set {name} to {value}").format(name=session.over, value=format_count(at))
        self.hub.change(text, sizes={session.over: at})
        self.at = None
        self._show_values()

    def _choose_curve(self, metric: str, index: int) -> None:
        if self._loading is not None:  # those are the curves of before
            return
        colour = self.views[metric].spec.series[index].colour
        self.hub.change(selected=self.hub.session.programs[colour])

    def _link(self, metric: str, low: float, high: float) -> None:
        if self.hub.session.linked and not self._linking:
            self._linking = True
            for other in self.hub.session.metrics:
                if other != metric:
                    self.views[other].zoom(low, high)
            self._linking = False

    def _fit_linked(self, metric: str) -> None:
        if self.hub.session.linked and not self._linking:
            self._linking = True
            for other in self.hub.session.metrics:
                if other != metric and self.views[other].is_zoomed:
                    self.views[other].fit()
            self._linking = False


# Changes after which formulas may have to be read and compiled.
_OTHER_FORMULAS = frozenset(
    {
        "mode",
        "dtype",
        "device",
        "options",
        "programs",
        "reference",
        "opened",
        "formulas",
        "machines",
    }
)

# What the panels and the table compare by themselves; anything else draws all of it anew.
_FIELDS = frozenset(
    {"programs", "hidden", "selected", "setting", "mode", "dtype", "device", "threads", "options",
     "sizes", "reference", "opened", "page", "over", "low", "high", "map_over", "metrics", "log_x",
     "log_y", "linked", "budget", "hands", "landmarks"}
)  # fmt: skip


def _key(session: Session, metric: str) -> Hashable:
    """What the figure of a panel depends on: not on where the crosshair is, for example."""
    here = {name: value for name, value in session.sizes.items() if name != session.over}
    reference = None if session.reference is None else _hashable(session.reference)
    return (
        session.programs, session.hidden, _hashable(replace(session.setting, sizes=here)),
        reference, session.over, session.low, session.high, session.log_x, session.log_y,
        session.budget, session.hands if metric == "time" else None,
    )  # fmt: skip


def _hashable(setting: Any) -> Hashable:
    return (
        setting.mode, setting.dtype, setting.device, setting.threads,
        tuple(sorted(setting.options.items())), tuple(sorted(setting.sizes.items())),
    )  # fmt: skip


def _entries(hub: Hub) -> tuple[LegendEntry, ...]:
    session = hub.session
    return tuple(
        LegendEntry(target, hub.workspace.title(target), session.colour(target),
                    target not in session.hidden)
        for target in session.programs
    )  # fmt: skip
