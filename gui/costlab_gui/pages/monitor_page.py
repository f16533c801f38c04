"""The monitor page: every device of this machine live, or a recorded trace to scrub through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QScrollArea, QVBoxLayout, QWidget

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.monitor import KEPT_S, Device, Snapshot
from costlab_gui.model.trace import Trace
from costlab_gui.pages.page import Page
from costlab_gui.widgets.device_panel import DevicePanel
from costlab_gui.widgets.monitor_bar import MonitorBar
from costlab_gui.widgets.trace_bar import TraceBar
from costlab_gui.widgets.trace_loader import TraceLoader
from costlab_gui.widgets.watch import Watch

_GAP_PERIODS = 3.0


class MonitorPage(Page):
    """Live while it is shown, until a trace is opened; again when that is closed."""

    key = "monitor"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self._trace: Trace | None = None
        self._problem = ""
        self._panels: list[DevicePanel] = []
        self._shown: tuple[tuple[str, str], ...] = ()
        self.bar = MonitorBar(hub)
        self.bar.open_asked.connect(self._ask_trace)
        self.bar.record_asked.connect(self._ask_record)
        self.trace_bar = TraceBar()
        self.trace_bar.hide()
        self.trace_bar.moved.connect(self.show_moment)
        self.trace_bar.closed.connect(self.close_trace)
        canvas = QWidget()
        canvas.setObjectName("canvas")
        self._list = QVBoxLayout(canvas)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.addStretch()
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(canvas)
        area.setAccessibleName(_("Devices"))
        self._area = area
        layout = QVBoxLayout(self)
        layout.addWidget(self.bar)
        layout.addWidget(self.trace_bar)
        layout.addWidget(area, 1)
        self._loader = TraceLoader(self)
        self._loader.loaded.connect(self.show_trace)
        self._loader.failed.connect(self._failed)
        Watch(hub, self).came.connect(self._show_live)

    @property
    def title(self) -> str:
        return _("Monitor")

    @property
    def trace(self) -> Trace | None:
        """The trace that is shown; None while readings are live."""
        return self._trace

    @property
    def panels(self) -> Sequence[DevicePanel]:
        return self._panels

    @property
    def devices_enabled(self) -> bool:
        """Whether the devices are shown as answering."""
        return self._area.isEnabled()

    def refresh(self, changed: frozenset[str]) -> None:
        """Nothing of the session is shown here."""

    def retheme(self) -> None:
        self.update()

    def open_trace(self, path: Path) -> None:
        """Read a recorded trace in the background and show it."""
        self.bar.say(_("reading {name} …").format(name=path.name))
        self._loader.load(path)

    def show_trace(self, trace: Trace) -> None:
        """Show a trace from its end backwards."""
        self._trace = trace
        self._show_devices(trace.devices)
        gap_s = _GAP_PERIODS * max(trace.period_s, 1.0)
        for device, panel in zip(trace.devices, self._panels, strict=True):
            panel.show_samples(device.samples, trace.begin_s, trace.end_s, gap_s)
        self._area.setEnabled(True)
        self.bar.hide()
        self.trace_bar.show_trace(trace)
        self.trace_bar.show()
        self.show_moment(trace.end_s)

    def show_moment(self, time_s: float) -> None:
        """Show what the trace knew at a time of its clock."""
        if self._trace is None:
            return
        self.trace_bar.set_time(time_s)
        for device, panel in zip(self._trace.devices, self._panels, strict=True):
            panel.set_cursor(time_s)
            panel.show_sample(self._trace.at(device, time_s))

    def close_trace(self) -> None:
        """Go back to live readings."""
        self._trace = None
        self._shown = ()
        self.trace_bar.hide()
        self.bar.say("")
        self.bar.show()
        self._show_live(self.hub.monitor.snapshot())

    def _show_live(self, snapshot: Snapshot) -> None:
        self.bar.show_snapshot(snapshot)
        if snapshot.problem and snapshot.problem != self._problem:
            self.hub.tell(snapshot.problem)
        self._problem = snapshot.problem
        if self._trace is not None:
            return
        self._show_devices(snapshot.devices)
        self._area.setEnabled(not snapshot.stalled)
        gap_s = _GAP_PERIODS * max(self.hub.monitor.period_s, 1.0)
        for device, panel in zip(snapshot.devices, self._panels, strict=True):
            if panel.isVisible() and panel.visibleRegion().isEmpty():
                # It is brought up to date within a round once it is scrolled to.
                continue
            panel.show_samples(device.samples, snapshot.now_s - KEPT_S, snapshot.now_s, gap_s)
            panel.show_sample(device.samples[-1] if device.samples else None)

    def _show_devices(self, devices: Sequence[Device]) -> None:
        """Make panels for ``devices`` unless they are there."""
        wanted = tuple((device.id, device.name) for device in devices)
        if wanted == self._shown and len(self._panels) == len(devices):
            return
        for panel in self._panels:
            self._list.removeWidget(panel)
            panel.deleteLater()
        self._shown = wanted
        self._panels = [DevicePanel(device) for device in devices]
        for index, panel in enumerate(self._panels):
            panel.picked.connect(self.show_moment)
            self._list.insertWidget(index, panel)

    def _failed(self, error: CostLabError) -> None:
        self.bar.say("")
        self.hub.tell(error)

    def take_asked(self, what: str, path: object) -> None:
        super().take_asked(what, path)
        if what == "open trace" and isinstance(path, Path):
            self.open_trace(path)

    def _ask_trace(self) -> None:
        name, _filter = QFileDialog.getOpenFileName(
            self, _("Open a recorded trace"), "", _("Traces (*.jsonl);;All files (*)")
        )
        if name:
            self.open_trace(Path(name))

    def _ask_record(self, record: bool) -> None:
        name = ""
        if record:
            name, _filter = QFileDialog.getSaveFileName(
                self, _("Record readings to"), "trace.jsonl", _("Traces (*.jsonl)")
            )
        self.hub.monitor.record(Path(name) if name else None)
        self.bar.show_snapshot(self.hub.monitor.snapshot())
