"""Energy of a window of samples: counter and power integral, both kept, with the error's bound.

Pure functions over :class:`~costlab.devices.readings.Sample`. NVML's energy counter steps about
every 100 ms, so the window begins and ends at steps; where between two samples a step fell is
what remains unknown, and bounds the error. Energies are in J, powers in W, times in s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from costlab.devices.energy_parts import (
    EnergyRules,
    Point,
    Span,
    by_counter,
    by_power,
    points_of,
    why_missing,
)
from costlab.devices.readings import Reading, Sample, missing

__all__ = ["EnergyRules", "EnergyWindow", "await_step", "energy_window"]

_READINGS = ("energy", "counter", "integral", "bound", "disagreement", "idle_power", "dynamic")


@dataclass(frozen=True, slots=True)
class EnergyWindow:
    """Energy between two moments, judged.

    ``energy`` is the counter's where there is one, else the integral of power; ``counter`` and
    ``integral`` are both kept. ``bound`` is how far the counter's energy can be from that of
    ``start_s`` to ``end_s``, if power never exceeded the highest power seen. ``dynamic`` is
    ``energy`` less what ``idle_power`` would have taken. ``power_source`` says what the power
    field means (instant or average, chip or module). A missing ``energy`` says why it is none.

    ``flags`` doubt the row: "counter_power_disagree", "integral_only" (no counter),
    "idle_from_another_source" (one by the counter, the other by power), "below_idle".
    """

    start_s: float | None
    end_s: float | None
    energy: Reading
    counter: Reading
    integral: Reading
    bound: Reading
    disagreement: Reading
    idle_power: Reading
    dynamic: Reading
    power_source: str
    flags: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float | None:
        """Length of the window; None if there is none."""
        if self.start_s is None or self.end_s is None:
            return None
        return self.end_s - self.start_s

    @property
    def mean_power(self) -> Reading:
        """``energy`` over the window's length, in W."""
        if self.energy.value is None or not self.duration_s:
            return missing("W", self.energy.reason or "window_short", self.energy.text)
        return Reading(self.energy.value / self.duration_s, "W", self.energy.source)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "start_s": self.start_s,
            "end_s": self.end_s,
            **{name: getattr(self, name).to_json() for name in _READINGS},
            "power_source": self.power_source,
            "flags": list(self.flags),
        }


def energy_window(
    samples: Sequence[Sample],
    *,
    idle: EnergyWindow | None = None,
    rules: EnergyRules | None = None,
    power: str = "power",
) -> EnergyWindow:
    """Judge the samples of one device, in order of time, as one energy window.

    Args:
        samples: with the readings "energy" (a counter, J) and ``power`` (W), from before the
            counter's first step to after its last one: a little longer than ``rules.least_s``.
            The closer together they are, the smaller is ``bound``.
        idle: a window of the same device at rest, kept apart and subtracted for ``dynamic``.
        rules: limits; the defaults if None.
        power: name of the power reading that is integrated.
    """
    rules = rules or EnergyRules()
    counter_points, power_points = points_of(samples, "energy"), points_of(samples, power)
    span, counter = by_counter(counter_points, samples, rules)
    if span is None and power_points:
        span = Span(power_points[0].early_s, power_points[-1].early_s, 0.0)
    integral = (
        by_power(power_points, samples, span, rules, power) if span else why_missing(samples, power)
    )
    bound, disagreement = _bound(span, counter, power_points), _disagreement(counter, integral)
    energy = _chosen(counter, integral, bool(counter_points), bool(power_points))
    idle_power, dynamic = _dynamic(energy, span, idle)
    return EnergyWindow(
        start_s=span.start_s if span else None,
        end_s=span.end_s if span else None,
        energy=energy,
        counter=counter,
        integral=integral,
        bound=bound,
        disagreement=disagreement,
        idle_power=idle_power,
        dynamic=dynamic,
        power_source=next((point.source for point in power_points), ""),
        flags=tuple(_flags(counter, integral, bound, dynamic, idle, rules)),
    )


def _chosen(counter: Reading, integral: Reading, counted: bool, powered: bool) -> Reading:
    """The counter's energy, else the integral, else the reason of the one that had data."""
    if counter.value is not None or (integral.value is None and (counted or not powered)):
        return counter
    return integral


def _bound(span: Span | None, counter: Reading, power_points: Sequence[Point]) -> Reading:
    if span is None or counter.value is None:
        return missing("J", "no_counter_steps")
    mean_w = counter.value / (span.end_s - span.start_s)
    peak_w = max([mean_w, *(point.value for point in power_points)])
    return Reading(peak_w * span.unknown_s, "J", counter.source)


def _disagreement(counter: Reading, integral: Reading) -> Reading:
    for energy in (counter, integral):
        if energy.value is None:
            return missing("fraction", energy.reason, energy.text)
    assert counter.value is not None and integral.value is not None
    return Reading(abs(counter.value - integral.value) / counter.value, "fraction")


def _dynamic(
    energy: Reading, span: Span | None, idle: EnergyWindow | None
) -> tuple[Reading, Reading]:
    """Idle power, and energy without it."""
    idle_power = idle.mean_power if idle else missing("W", "no_idle_baseline")
    for needed in (energy, idle_power):
        if needed.value is None:
            return idle_power, missing("J", needed.reason, needed.text)
    assert span is not None and energy.value is not None and idle_power.value is not None
    rest = energy.value - idle_power.value * (span.end_s - span.start_s)
    return idle_power, Reading(rest, "J", energy.source)


def _flags(
    counter: Reading,
    integral: Reading,
    bound: Reading,
    dynamic: Reading,
    idle: EnergyWindow | None,
    rules: EnergyRules,
) -> list[str]:
    flags = []
    if counter.value is not None and integral.value is not None and bound.value is not None:
        apart = abs(counter.value - integral.value)
        if apart > rules.most_disagreement * counter.value + bound.value:
            flags.append("counter_power_disagree")
    elif integral.value is not None:
        flags.append("integral_only")
    if dynamic.value is not None and idle is not None:
        if (idle.counter.value is None) != (counter.value is None):
            flags.append("idle_from_another_source")
        if dynamic.value < 0:
            flags.append("below_idle")
    return flags


def await_step(
    read: Callable[[], Sample],
    pause: Callable[[float], object],
    *,
    poll_s: float = 0.005,
    most_s: float = 1.0,
) -> tuple[Sample, Sample] | None:
    """Read until the energy counter steps: the samples before and after the step.

    None if it has not moved in ``most_s``, or cannot be read. It pauses between reads, so that
    the core stays free for what is measured.
    """
    before = read()
    begin_s = before.time_s
    while before.get("energy").value is not None and before.time_s - begin_s <= most_s:
        pause(poll_s)
        after = read()
        earlier, later = before.get("energy").value, after.get("energy").value
        if earlier is not None and later is not None and later > earlier:
            return before, after
        before = after
    return None
