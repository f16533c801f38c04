"""All gauges of one device in a card, in as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from costlab.devices.readings import Sample
from costlab.i18n import _
from costlab_gui.model.gauges import gauges, nothing
from costlab_gui.model.monitor import Device
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.gauge_view import GaugeView

_COLUMN_EMS = 14


class DevicePanel(QFrame):
    """One CPU or GPU.

    Signals:
        picked: a time was chosen on one of its curves (float, s).
    """

    picked = Signal(float)

    def __init__(self, device: Device, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card")
        self.setAccessibleName(device.name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.views = tuple(GaugeView(gauge) for gauge in gauges(device.kind))
        self._columns = 0
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._body = QWidget()
        self._body.setLayout(self._grid)
        self._grid.setContentsMargins(0, 0, 0, 0)
        title, kind = QLabel(device.name), QLabel(_kind(device))
        set_role(title, "strong")
        set_role(kind, "small")
        self._nothing = QLabel()
        self._nothing.setWordWrap(True)
        set_role(self._nothing, "dim")
        head = QHBoxLayout()
        head.addWidget(title)
        head.addWidget(kind, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.addLayout(head)
        layout.addWidget(self._nothing)
        layout.addWidget(self._body)
        for view in self.views:
            view.line.picked.connect(self.picked)
        self._arrange(4)
        self._nothing.hide()

    def show_samples(
        self, samples: Sequence[Sample], begin_s: float, end_s: float, gap_s: float
    ) -> None:
        """Draw the curves of ``samples``, and one sentence where the device has none."""
        reason = nothing(samples)
        self._nothing.setText(
            _("n/a: {reason}. A trace of a machine that has one can be opened here.").format(
                reason=reason
            )
            if reason
            else ""
        )
        self._nothing.setVisible(bool(reason))
        self._body.setVisible(not reason)
        if not reason:
            for view in self.views:
                view.show_samples(samples, begin_s, end_s, gap_s)

    def show_sample(self, sample: Sample | None) -> None:
        """Show the values of one moment."""
        for view in self.views:
            view.show_sample(sample)

    def set_cursor(self, time_s: float | None) -> None:
        """Mark one moment on every curve."""
        for view in self.views:
            view.line.set_cursor(time_s)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        em = self.fontMetrics().horizontalAdvance("m")
        self._arrange(max(self.width() // (_COLUMN_EMS * em), 1))

    def _arrange(self, columns: int) -> None:
        columns = min(columns, len(self.views))
        if columns == self._columns:
            return
        for column in range(self._columns):
            self._grid.setColumnStretch(column, 0)
        self._columns = columns
        for index, view in enumerate(self.views):
            self._grid.addWidget(view, index // columns, index % columns, Qt.AlignmentFlag.AlignTop)
        for column in range(columns):
            self._grid.setColumnStretch(column, 1)


def _kind(device: Device) -> str:
    return _("processor") if device.kind == "cpu" else device.id if device.id != "gpu" else ""
