"""The roofs of a machine: bytes per second by level of memory, FLOP per second by kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.machine import Machine
from costlab.hardware.profile import DeviceProfile
from costlab.hardware.rates import CalibratedRates, DatasheetRates
from costlab.i18n import _

# Kinds of operators whose best rates are within this factor share a line.
_SAME = 1.12
# A level is read where half of it is in use, well away from both of its ends.
_FILLED = 0.5


@dataclass(frozen=True, slots=True)
class Level:
    """One level of memory; ``capacity_bytes`` is infinite for the last one."""

    name: str
    bytes_per_s: float
    capacity_bytes: float
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Roofs:
    """What bounds a machine: ``levels`` from the nearest outwards, ``flats`` by kind."""

    machine: Machine
    levels: tuple[Level, ...]
    flats: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def highest(self) -> float:
        return max(self.flats.values())

    def level(self, working_set: float) -> Level:
        """The nearest level that holds ``working_set`` bytes."""
        return next(level for level in self.levels if working_set <= level.capacity_bytes)

    def without(self, names: Collection[str]) -> Roofs:
        """The same without some levels: what lay there lies in the next one outwards.

        The outermost stays whatever is named.
        """
        *inner, outer = self.levels
        kept = tuple(level for level in inner if level.name not in names)
        return replace(self, levels=(*kept, outer))


def roofs_of(machine: Machine, dtype: str) -> Roofs:
    """The roofs of a machine for arithmetic in ``dtype``."""
    match machine.rates:
        case CalibratedRates(record=record):
            return _measured(machine, record, machine.rates, dtype)
        case DatasheetRates(profile=profile):
            return _published(machine, profile, dtype)
    raise TypeError(f"no roofs of {type(machine.rates).__name__}")


def _measured(
    machine: Machine, record: CalibrationRecord, rates: CalibratedRates, dtype: str
) -> Roofs:
    kinds = [name for name in record.bandwidth if not name.startswith("aten.")]

    def stream(size: float) -> float:
        """The fastest kind of operator on a working set of this size."""
        found = (rates.bytes_per_s("", kind, size) for kind in kinds)
        return max(float(rate) for rate in found if rate is not None)

    sizes = [size for kind in kinds for size, _rate in record.bandwidth[kind].points]
    caches = [] if machine.backend == "cuda" else record.environment.caches
    inner = [
        Level(
            _("L{level} cache").format(level=cache.level),
            stream(_FILLED * cache.size_bytes),
            float(cache.size_bytes),
            faint=True,
        )
        for cache in caches
        if min(sizes) <= _FILLED * cache.size_bytes < max(sizes)
    ]
    name = _("device memory") if machine.backend == "cuda" else _("main memory")
    outer = Level(name, stream(max(sizes)), float("inf"))
    notes = [_("Roofs are the best rates that the calibration measured here.")]
    if record.dtype != dtype:
        notes.append(
            _("They were measured in {measured}, not in {wanted}.").format(
                measured=record.dtype, wanted=dtype
            )
        )
    best = {
        _kind(name): max(rate.flop_per_s for rate in shaped)
        for name, shaped in record.shaped.items()
        if shaped and name != "attention_causal" and not name.endswith("_backward")
    }
    return Roofs(machine, (*inner, outer), _merged(best), tuple(notes))


def _published(machine: Machine, profile: DeviceProfile, dtype: str) -> Roofs:
    vector = profile.vector.get(dtype)
    ordinary = vector or profile.vector["float32"]
    matrix = profile.matrix.get(dtype)
    flats = {}
    notes = [_("Roofs are published peaks; nothing reaches them.")]
    if matrix is not None:
        flats[_("matrix products")] = matrix.value
    else:
        notes.append(
            _("{device} publishes no rate of matrix products in {dtype}: they take that of "
              "ordinary arithmetic.").format(device=profile.title, dtype=dtype)
        )  # fmt: skip
    if vector is None:
        notes.append(
            _("{device} publishes no rate of other arithmetic in {dtype}: that of float32 "
              "stands in.").format(device=profile.title, dtype=dtype)
        )  # fmt: skip
    flats[_("other arithmetic")] = ordinary.value
    level = Level(_("memory"), profile.bandwidth.value, float("inf"))
    return Roofs(machine, (level,), _merged(flats), tuple(notes))


def _kind(name: str) -> str:
    return {
        "matmul": _("matrix products"),
        "attention": _("attention"),
        "convolution": _("convolution"),
        "recurrent": _("recurrence"),
    }.get(name, name.replace("_", " "))


def _merged(best: Mapping[str, float]) -> dict[str, float]:
    """Rates that cannot be told apart under one name, the highest first."""
    groups: list[list[str]] = []
    for name in sorted(best, key=lambda name: -best[name]):
        if groups and best[groups[-1][0]] <= _SAME * best[name]:
            groups[-1].append(name)
        else:
            groups.append([name])
    return {", ".join(names): best[names[0]] for names in groups}
