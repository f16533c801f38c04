"""One gauge of a device: its name and value over a small curve, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from costlab.devices.readings import Sample
from costlab_gui.model.gauges import Gauge, Said, points, say, top
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.sparkline import Sparkline


class GaugeView(QWidget):
    """Give it samples with :meth:`show_samples`, then a moment with :meth:`show_sample`."""

    def __init__(self, gauge: Gauge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gauge = gauge
        self._said: tuple[Said, bool] | None = None
        self.line = Sparkline(lines=2.2)
        self.value = ElidedLabel()
        title = QLabel(gauge.title)
        set_role(title, "small")
        self._why = QLabel()
        self._why.setWordWrap(True)
        self._why.setAlignment(Qt.AlignmentFlag.AlignTop)
        set_role(self._why, "small")
        self._why.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(title)
        layout.addWidget(self.value)
        layout.addWidget(self.line)
        layout.addWidget(self._why)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        self.setAccessibleName(gauge.title)

    def show_samples(
        self, samples: Sequence[Sample], begin_s: float, end_s: float, gap_s: float
    ) -> None:
        """Draw the whole curve."""
        shown = points(self.gauge, samples)
        self.line.show_points(shown, begin_s, end_s, top(self.gauge, samples, shown), gap_s)

    def show_sample(self, sample: Sample | None) -> None:
        """Show the value of one moment."""
        said = say(self.gauge, sample)
        # A curve that ended keeps what it has shown.
        empty = said.missing and not self.line.points
        if (said, empty) == self._said:
            return
        self._said = (said, empty)
        self.value.setText(said.text)
        set_role(self.value, "warning" if said.warn else "dim" if said.missing else "")
        self.setToolTip(said.detail)
        self.setAccessibleDescription(f"{said.text}: {said.detail}" if said.missing else said.text)
        self._why.setText(said.detail if said.missing else "")
        self._why.setVisible(empty)
        self.line.setVisible(not empty)
