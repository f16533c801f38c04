"""The bar over live readings: how often, recording, opening a trace, and what is amiss."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.monitor import PERIODS_S, Snapshot
from costlab_gui.theme.stylesheet import set_role


class MonitorBar(QWidget):
    """Controls of the monitor.

    Signals:
        record_asked: start (True) or end (False) a recording.
        open_asked: open a recorded trace.
    """

    record_asked = Signal(bool)
    open_asked = Signal()

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.note = QLabel()
        self.note.setWordWrap(True)
        self._said = ""
        self.rate = QComboBox()
        self.rate.setAccessibleName(_("Readings per second"))
        for period_s in PERIODS_S:
            text = _("once a second") if period_s == 1 else _("{count} times a second")
            self.rate.addItem(text.format(count=round(1 / period_s)), period_s)
        self.rate.setCurrentIndex(max(self.rate.findData(hub.monitor.period_s), 0))
        self.rate.currentIndexChanged.connect(self._set_rate)
        self.record = QPushButton(_("Record …"))
        self.record.clicked.connect(self._ask_record)
        self.open = QPushButton(_("Open trace …"))
        self.open.setAccessibleName(_("Open a recorded trace"))
        self.open.clicked.connect(self.open_asked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.note, 1)
        layout.addWidget(self.rate)
        layout.addWidget(self.record)
        layout.addWidget(self.open)
        self._recording = False

    def say(self, text: str) -> None:
        """Show ``text`` in place of how things stand; "" ends that."""
        self._said = text
        self.show_snapshot(self._hub.monitor.snapshot())

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how things stand."""
        self._recording = snapshot.recording is not None
        self.record.setText(_("Stop recording") if self._recording else _("Record …"))
        self.record.setAccessibleName(self.record.text())
        text, role = self._words(snapshot)
        self.note.setText(text)
        set_role(self.note, role)

    def _words(self, snapshot: Snapshot) -> tuple[str, str]:
        if self._said:
            return self._said, "dim"
        if snapshot.silence:
            return snapshot.silence, "warning"
        if snapshot.problem:
            return snapshot.problem, "error"
        if self._hub.monitor.memory_only:
            return _("measuring: memory alone, once a second"), "dim"
        if snapshot.recording is not None:
            return _("recording to {name}").format(name=snapshot.recording.name), "dim"
        return _("live, the last two minutes"), "dim"

    def _set_rate(self) -> None:
        self._hub.monitor.period_s = self.rate.currentData()

    def _ask_record(self) -> None:
        self.record_asked.emit(not self._recording)
