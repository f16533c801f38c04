"""Observes a point's device and its surroundings: one watch for each pass, and cool-downs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from costlab.devices.cpu import CpuReader
from costlab.devices.cuda_order import cuda_order
from costlab.devices.gpu import open_gpus
from costlab.devices.nvml_session import NvmlUnavailable
from costlab.devices.readers import DeviceReader, NullReader
from costlab.devices.reasons import text_of
from costlab.devices.thermal import WAIT, ThermalRules, thermal_decision
from costlab.measurement.watch import Senses, Watch

_WAIT_S = 0.2
# No gap by the clock between timed passes: only a temperature that is read makes one wait. The
# first pass begins on an idle device, to which no later one cools down in reasonable time.
_RULES = ThermalRules(band_c=20.0, gap_s=0.0, most_s=5.0)


class Observer:
    """What a point's passes are watched with.

    Args:
        reader: of the device.
        senses: of the machine; tests give their own.
        pause: waits so many seconds.
    """

    def __init__(
        self,
        reader: DeviceReader,
        senses: Senses | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.reader = reader
        self._senses = senses
        self._pause = pause
        self._start_c: float | None = None
        self._ended_s: float | None = None

    def watch(self) -> Watch:
        """A watch that has begun."""
        return Watch(self.reader, self._senses)

    def ended(self) -> None:
        """Note that a run of the device has ended now."""
        self._ended_s = time.monotonic()

    def cool_down(self, cancelled: Callable[[], bool]) -> tuple[str, ...]:
        """Wait until the device is about as warm as when the first pass began; flags of the row.

        Where no temperature can be read nobody waits.
        """
        while True:
            temperature = self.reader.read().get("temperature", "°C")
            if temperature.value is None:
                return ()
            since_s = float("inf") if self._ended_s is None else time.monotonic() - self._ended_s
            decision = thermal_decision(
                temperature, since_s=since_s, start_c=self._start_c, rules=_RULES
            )
            if decision.action != WAIT or cancelled():
                self._start_c = temperature.value if self._start_c is None else self._start_c
                return decision.flags
            self._pause(_WAIT_S)


def open_observer(device: str) -> Observer:
    """The observer of ``"cpu"``, ``"cuda"`` or ``"cuda:N"``; opens no context on the device."""
    if device == "cpu":
        return Observer(CpuReader())
    index = int(device.partition(":")[2] or 0)
    try:
        readers = open_gpus()
    except NvmlUnavailable as missing:
        return Observer(NullReader("gpu", {}, missing.reason, missing.text))
    order = cuda_order([reader.id for reader in readers], os.environ)
    if order.uuids is None or index >= len(order.uuids):
        reason = order.reason or "not_found"
        return Observer(NullReader("gpu", {}, reason, order.text or text_of(reason)))
    uuid = order.uuids[index]
    return Observer(next(reader for reader in readers if reader.id == uuid))
