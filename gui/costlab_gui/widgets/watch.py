"""Hands a widget the readings of this machine while it is on the screen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from costlab_gui.hub import Hub
from costlab_gui.model.monitor import Monitor

# Twice a second at the slowest, so that silence is seen to grow.
_SLOWEST_MS = 500


class Watch(QObject):
    """Attaches to the hub's monitor while ``widget`` is shown.

    Signals:
        came: a :class:`~costlab_gui.model.monitor.Snapshot`.
    """

    came = Signal(object)

    def __init__(self, hub: Hub, widget: QWidget) -> None:
        super().__init__(widget)
        self._hub = hub
        self._hold = hold = _Hold(hub.monitor)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        widget.installEventFilter(self)
        # A widget that is deleted while it is shown is not hidden first.
        self.destroyed.connect(lambda: hold.let_go())

    def tick(self) -> None:
        """Pass on what is known now."""
        self._timer.setInterval(self._interval_ms())
        self.came.emit(self._hub.monitor.snapshot())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._hold.take()
            self._timer.start(self._interval_ms())
            self.tick()
        elif event.type() == QEvent.Type.Hide:
            self._timer.stop()
            self._hold.let_go()
        return False

    def _interval_ms(self) -> int:
        return min(round(self._hub.monitor.period_s * 1000), _SLOWEST_MS)


class _Hold:
    """Attached once or not at all."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._held = False

    def take(self) -> None:
        if not self._held:
            self._held = True
            self._monitor.attach()

    def let_go(self) -> None:
        if self._held:
            self._held = False
            self._monitor.detach()
