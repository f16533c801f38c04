"""The machines a plan runs on: devices, how many share a node, and the links between them.

Bandwidths are one way, per device. A device's ``network`` is its share of what its node sends to
other nodes; a collective that uses fewer devices of the node gets the shares of the others too.
Prices and carbon intensity are inputs: no figure of either comes with CostLab.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from costlab.errors import InputError
from costlab.hardware.profile import DeviceProfile
from costlab.i18n import _

_ALONE = 1


@dataclass(frozen=True, slots=True)
class Rates:
    """What an hour of one device costs.

    Attributes:
        price_per_hour: in any currency, named in ``currency``; None where it was not given.
        carbon_g_per_kwh: grams of CO2 for a kilowatt-hour; None where it was not given.
        overhead: power of the whole site over that of the devices (PUE).
    """

    price_per_hour: float | None = None
    currency: str = "EUR"
    carbon_g_per_kwh: float | None = None
    overhead: float = 1.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal devices in equal nodes.

    Attributes:
        devices: how many there are in all.
        per_node: how many share a node.
        link_bytes_per_s: one device to others of its node, one way.
        network_bytes_per_s: a device's share of the way to other nodes, one way.
        assumptions: what was not given and taken from elsewhere.
    """

    profile: DeviceProfile
    devices: int
    per_node: int
    link_bytes_per_s: float
    network_bytes_per_s: float
    rates: Rates = Rates()
    assumptions: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """How many nodes hold the devices."""
        return ceil(self.devices / self.per_node)

    @property
    def capacity_bytes(self) -> float:
        """Memory of one device.

        Raises:
            InputError: if the profile does not say.
        """
        if self.profile.capacity is None:
            raise InputError(
                _("the device has no known memory"),
                given=self.profile.name,
                advice=_("give --memory 80GB, or a profile with [memory] capacity"),
            )
        return self.profile.capacity.value

    def flop_per_s(self, dtype: str) -> float:
        """Dense rate of the matrix units at ``dtype``, else at the nearest wider type.

        Raises:
            InputError: if the profile has no rate that could stand in.
        """
        for name in (dtype, "bfloat16", "float16", "float32"):
            if name in self.profile.matrix:
                return self.profile.matrix[name].value
        raise InputError(_("the device has no matrix rate"), given=f"{self.profile.name}, {dtype}")


def cluster(
    profile: DeviceProfile,
    devices: int,
    *,
    per_node: int | None = None,
    network_bytes_per_s: float | None = None,
    link_bytes_per_s: float | None = None,
    rates: Rates | None = None,
) -> Cluster:
    """A cluster of ``devices`` such devices; what is not given comes from the profile.

    Raises:
        InputError: if there are no devices, or a link that is needed is not known.
    """
    if devices < 1:
        raise InputError(
            _("a cluster has at least one device"), given=str(devices), allowed=_("1 or more")
        )
    assumptions = []
    if per_node is None:
        usual = int(profile.per_node.value) if profile.per_node else _ALONE
        per_node = min(devices, usual)
        if devices > per_node:
            assumptions.append(_("{per} devices share a node").format(per=per_node))
    link = link_bytes_per_s or (profile.link.value if profile.link else 0.0)
    network = network_bytes_per_s or (profile.network.value if profile.network else 0.0)
    if network and devices > per_node and not network_bytes_per_s and profile.network:
        assumptions.append(
            _("{rate:g} Gb/s of network a device: {note}").format(
                rate=network * 8 / 1e9, note=profile.network.note or profile.network.source.title
            )
        )
    if per_node > 1 and not link:
        raise InputError(
            _("the link between the devices of a node is not known"),
            given=profile.name,
            advice=_("give --link, for example --link 32GB/s for PCIe 4"),
        )
    if devices > per_node and not network:
        raise InputError(
            _("the network between nodes is not known"),
            given=profile.name,
            advice=_("give --network, for example --network 12.5GB/s a device"),
        )
    return Cluster(profile, devices, per_node, link, network, rates or Rates(), tuple(assumptions))


_Answer = TypeVar("_Answer")


def on_each(
    machines: Sequence[tuple[str, int, Rates | None]],
    ask: Callable[[str, int, Rates | None], _Answer],
    none: str,
) -> list[tuple[str, int, _Answer | None, str]]:
    """Device and count of each cluster with its answer, or None and why there is none.

    Args:
        machines: device, count and rates.
        ask: what is wanted of one cluster; raises InputError if it cannot.
        none: what is said where none of them can.

    Raises:
        InputError: if none of them can, with the reason of the last.
    """
    found: list[tuple[str, int, _Answer | None, str]] = []
    for device, gpus, rates in machines:
        try:
            found.append((device, gpus, ask(device, gpus, rates), ""))
        except InputError as error:
            found.append((device, gpus, None, str(error)))
    if all(answer is None for _device, _gpus, answer, _why in found):
        raise InputError(
            none,
            given=", ".join(f"{gpus}x{device}" for device, gpus, _answer, _why in found),
            advice=found[-1][3],
        )
    return found
