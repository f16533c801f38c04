"""The card "this machine": CPU and memory as small curves, a line for each GPU."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.gauges import Gauge, gauges, nothing, one_line, points, say, top, why_short
from costlab_gui.model.monitor import KEPT_S, Device, Snapshot
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.sparkline import Sparkline
from costlab_gui.widgets.watch import Watch


class MachineCard(Card):
    """Live while it is shown."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(_("THIS MACHINE"), parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._silence = QLabel()
        set_role(self._silence, "warning")
        self._silence.hide()
        self.header.addWidget(self._silence)
        cpu, memory = gauges("cpu")[:2]
        self._cpu, self._memory = _Curve(cpu, _("CPU")), _Curve(memory, memory.title)
        self._body = QWidget()
        self._gpus = QVBoxLayout()
        inner = QVBoxLayout(self._body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self._cpu)
        inner.addWidget(self._memory)
        inner.addLayout(self._gpus)
        self.body.addWidget(self._body)
        self.body.addStretch()
        self._lines: list[_GpuLine] = []
        hub.themed.connect(self.update)
        Watch(hub, self).came.connect(self.show_snapshot)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what is known; grey while no device answers."""
        self._silence.setText(snapshot.silence)
        self._silence.setVisible(bool(self._silence.text()))
        self._body.setEnabled(not snapshot.stalled)
        for device in snapshot.devices:
            if device.kind == "cpu":
                for curve in (self._cpu, self._memory):
                    curve.show_device(device, snapshot.now_s)
        gpus = [device for device in snapshot.devices if device.kind == "gpu"]
        while len(self._lines) < len(gpus):
            self._lines.append(_GpuLine())
            self._gpus.addWidget(self._lines[-1])
        for index, line in enumerate(self._lines):
            line.setVisible(index < len(gpus))
            if index < len(gpus):
                name = _("GPU") if len(gpus) == 1 else _("GPU {index}").format(index=index)
                line.show_device(name, gpus[index])


class _Curve(QWidget):
    """A gauge: its name and value over a small curve."""

    def __init__(self, gauge: Gauge, title: str) -> None:
        super().__init__()
        self._gauge = gauge
        self._value = QLabel()
        set_role(self._value, "dim")
        self._line = Sparkline()
        self._line.setAccessibleName(title)
        row = QHBoxLayout()
        row.addWidget(QLabel(title))
        row.addStretch()
        row.addWidget(self._value)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self._line)

    def show_device(self, device: Device, now_s: float) -> None:
        said = say(self._gauge, device.samples[-1] if device.samples else None)
        self._value.setText(said.text)
        self._value.setToolTip(said.detail)
        self._line.setAccessibleDescription(said.text)
        shown = points(self._gauge, device.samples)
        height = top(self._gauge, device.samples, shown)
        self._line.show_points(shown, now_s - KEPT_S, now_s, height, gap_s=4.0)


class _GpuLine(QWidget):
    """One GPU: its name, and its readings or why there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._name = QLabel()
        self._text = QLabel()
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._text.setWordWrap(True)
        set_role(self._text, "dim")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._name, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)

    def show_device(self, name: str, device: Device) -> None:
        self._name.setText(name)
        self._name.setToolTip(device.name)
        reason = nothing(device.samples)
        said = one_line(device.samples[-1] if device.samples else None)
        text = f"{said.text} · {why_short(device.samples)}" if reason else said.text
        self._text.setText(text)
        self._text.setToolTip(reason or said.detail)
        self.setAccessibleName(f"{name}: {text}")
