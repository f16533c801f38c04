"""What a job costs under a plan: days, device hours, money, energy, carbon."""

from __future__ import annotations

from dataclasses import dataclass

from costlab.planning.cluster import Cluster

_DAY, _HOUR, _KWH = 86400.0, 3600.0, 3.6e6


@dataclass(frozen=True, slots=True)
class Bill:
    """What a time on a cluster costs; None where an input is missing.

    Attributes:
        energy_j: at the devices' power limit times the site's overhead: an upper figure.
    """

    seconds: float
    device_hours: float
    cost: float | None
    currency: str
    energy_j: float | None
    carbon_kg: float | None

    @property
    def days(self) -> float:
        """The time in days."""
        return self.seconds / _DAY

    @property
    def energy_kwh(self) -> float | None:
        """The energy in kWh."""
        return None if self.energy_j is None else self.energy_j / _KWH


def bill(cluster: Cluster, seconds: float) -> Bill:
    """What ``seconds`` on all devices of the cluster cost."""
    hours = seconds / _HOUR * cluster.devices
    rates = cluster.rates
    energy = None
    if cluster.profile.power is not None:
        energy = cluster.profile.power.value * cluster.devices * seconds * rates.overhead
    carbon = None
    if energy is not None and rates.carbon_g_per_kwh is not None:
        carbon = energy / _KWH * rates.carbon_g_per_kwh / 1e3
    cost = None if rates.price_per_hour is None else hours * rates.price_per_hour
    return Bill(seconds, hours, cost, rates.currency, energy, carbon)
