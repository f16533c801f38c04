"""The bar over a recorded trace: its name, a slider over its time, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSlider, QWidget

from costlab.i18n import _
from costlab_gui.model.trace import Trace
from costlab_gui.theme.stylesheet import set_role

_STEPS_PER_S = 10


class TraceBar(QWidget):
    """Scrubs a trace.

    Signals:
        moved: to a time of the trace's clock (float, s).
        closed: back to live readings.
    """

    moved = Signal(float)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._begin_s = self._length_s = 0.0
        self.name = QLabel()
        set_role(self.name, "strong")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(_("Time in the trace"))
        self.slider.setSingleStep(_STEPS_PER_S)
        self.slider.setPageStep(10 * _STEPS_PER_S)
        self.slider.valueChanged.connect(self._move)
        self.time = QLabel()
        set_role(self.time, "number")
        self.close_button = QPushButton(_("Close trace"))
        self.close_button.clicked.connect(self.closed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.name)
        layout.addWidget(self.slider, 1)
        layout.addWidget(self.time)
        layout.addWidget(self.close_button)

    def show_trace(self, trace: Trace) -> None:
        """Offer the times of ``trace``."""
        self._begin_s, self._length_s = trace.begin_s, trace.length_s
        self.name.setText(trace.path.name)
        self.name.setToolTip(str(trace.path))
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(round(trace.length_s * _STEPS_PER_S), 1))
        self.slider.blockSignals(blocked)

    def set_time(self, time_s: float) -> None:
        """Show a time of the trace's clock."""
        passed = time_s - self._begin_s
        blocked = self.slider.blockSignals(True)
        self.slider.setValue(round(passed * _STEPS_PER_S))
        self.slider.blockSignals(blocked)
        text = _("{now} of {length}").format(now=_clock(passed), length=_clock(self._length_s))
        self.time.setText(text)
        self.slider.setAccessibleDescription(text)

    def _move(self, value: int) -> None:
        passed = min(value / _STEPS_PER_S, self._length_s)
        self.moved.emit(self._begin_s + passed)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
