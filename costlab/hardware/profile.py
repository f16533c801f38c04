"""A device's published constants as plain data, each with its unit, source and date.

Rates are dense (no sparsity) and count a multiply-add as 2 FLOP. ``matrix`` rates are those of the
matrix units that matmuls use, ``vector`` rates those of ordinary arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from costlab.errors import InputError
from costlab.graph import DTYPE_BYTES
from costlab.i18n import _

SCHEMA = "costlab.device/1"
KINDS = ("cpu", "gpu", "tpu")
BACKENDS = ("cpu", "cuda", "xla")
_UNITS = {"cpu": "cores", "gpu": "SM", "tpu": "chips"}
# No device is near these; a figure outside was written in another unit (312 for 312e12).
_POSSIBLE = {
    "FLOP/s": (1e8, 1e18),
    "B/s": (1e8, 1e16),
    "B": (1e5, 1e15),
    "W": (0.1, 1e5),
    **dict.fromkeys((*_UNITS.values(), "devices"), (1.0, 1e6)),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a constant was read: title, address (may be empty) and the day it was read."""

    title: str
    url: str
    read: str


@dataclass(frozen=True, slots=True)
class Constant:
    """One published number. ``unit`` is "FLOP/s", "B/s", "B", "W" or a count's name."""

    value: float
    unit: str
    source: Source
    note: str = ""


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """What the maker or a public table says about a device; a bound, not a measurement.

    Attributes:
        backend: whose operators run on it; "xla" has no formulas, the profile is for planning.
        units: multiprocessors of a GPU, cores of a CPU, chips of a TPU.
        matrix: dtype to dense matmul rate, FLOP/s.
        vector: dtype to rate of ordinary arithmetic, FLOP/s; empty where none is published.
        capacity: memory, bytes; None where it depends on the machine.
        bandwidth: memory bandwidth, B/s.
        cache: last-level cache, bytes; None where unknown.
        power: board power limit, W; None where unknown.
        link: what one device sends to the others of its node, one way, B/s; None where unknown.
        network: one device's share of what its node sends to other nodes, one way, B/s.
        per_node: devices of the usual node.
    """

    name: str
    title: str
    kind: str
    backend: str
    units: Constant
    matrix: Mapping[str, Constant]
    vector: Mapping[str, Constant]
    bandwidth: Constant
    capacity: Constant | None = None
    cache: Constant | None = None
    power: Constant | None = None
    link: Constant | None = None
    network: Constant | None = None
    per_node: Constant | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

    def constants(self) -> dict[str, Constant]:
        """Every constant by a dotted name, for tables and checks."""
        found = {"units": self.units, "bandwidth": self.bandwidth}
        found |= {f"matrix.{dtype}": rate for dtype, rate in self.matrix.items()}
        found |= {f"vector.{dtype}": rate for dtype, rate in self.vector.items()}
        optional = {
            "capacity": self.capacity,
            "cache": self.cache,
            "power": self.power,
            "interconnect.link": self.link,
            "interconnect.network": self.network,
            "interconnect.per_node": self.per_node,
        }
        return found | {name: value for name, value in optional.items() if value is not None}


class _Reader:
    """Turns the tables of one profile file into constants; every complaint names the file."""

    def __init__(self, data: Mapping[str, Any], origin: str) -> None:
        self.data = data
        self.origin = origin
        self.sources = {name: self._source(name, s) for name, s in self._table("sources").items()}

    def error(self, message: str, *, given: str, allowed: str = "") -> InputError:
        return InputError(
            f"{self.origin}: {message}",
            given=given,
            allowed=allowed,
            advice=_("compare with a profile that comes with CostLab"),
        )

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self.data.get(name, {})
        if not isinstance(table, Mapping):
            raise self.error(_("not a table"), given=name)
        return table

    def _source(self, name: str, entry: Any) -> Source:
        if not isinstance(entry, Mapping) or not entry.get("title") or not entry.get("read"):
            raise self.error(_("a source needs title and read (a date)"), given=f"sources.{name}")
        try:
            date.fromisoformat(str(entry["read"]))
        except ValueError:
            raise self.error(
                _("a source needs the date at which it was read"),
                given=f"sources.{name}: {entry['read']}",
                allowed="2026-01-31",
            ) from None
        return Source(str(entry["title"]), str(entry.get("url", "")), str(entry["read"]))

    def text(self, name: str, allowed: tuple[str, ...] = ()) -> str:
        value = self.data.get(name)
        if not isinstance(value, str) or not value or (allowed and value not in allowed):
            choice = " or ".join(allowed) or _("text")
            raise self.error(_("wrong or missing field"), given=f"{name} = {value}", allowed=choice)
        return value

    def constant(self, where: str, entry: Any, unit: str) -> Constant:
        if not isinstance(entry, Mapping):
            raise self.error(
                _("a constant is a table"), given=where, allowed='{ value = 1e12, source = "name" }'
            )
        value = entry.get("value")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise self.error(_("a constant must be a positive number"), given=f"{where} = {value}")
        low, high = _POSSIBLE[unit]
        if not (math.isfinite(value) and low <= value <= high):
            raise self.error(
                _("no device has such a constant"),
                given=f"{where} = {value} {unit}",
                allowed=f"{low:g} .. {high:g} {unit}",
            )
        source = self.sources.get(str(entry.get("source")))
        if source is None:
            raise self.error(
                _("a constant needs a source of this file"),
                given=f"{where}: {entry.get('source')}",
                allowed=", ".join(self.sources),
            )
        return Constant(float(value), unit, source, str(entry.get("note", "")))

    def optional(self, section: str, name: str, unit: str) -> Constant | None:
        entry = self._table(section).get(name)
        return None if entry is None else self.constant(f"{section}.{name}", entry, unit)

    def required(self, section: str, name: str, unit: str) -> Constant:
        found = self.optional(section, name, unit)
        if found is None:
            raise self.error(_("missing constant"), given=f"{section}.{name}")
        return found

    def rates(self, section: str) -> dict[str, Constant]:
        rates: dict[str, Constant] = {}
        for dtype, entry in self._table(section).items():
            if dtype not in DTYPE_BYTES and dtype != "tf32":
                raise self.error(
                    _("unknown dtype"), given=f"{section}.{dtype}", allowed=", ".join(DTYPE_BYTES)
                )
            rates[dtype] = self.constant(f"{section}.{dtype}", entry, "FLOP/s")
        return rates


def parse_profile(data: Mapping[str, Any], origin: str) -> DeviceProfile:
    """Build a profile from the tables of a TOML file.

    Args:
        data: what ``tomllib`` read.
        origin: file name for messages.

    Raises:
        InputError: if a field is missing, has no source, or is not a positive number.
    """
    reader = _Reader(data, origin)
    if data.get("schema") != SCHEMA:
        raise reader.error(_("unknown schema"), given=str(data.get("schema")), allowed=SCHEMA)
    matrix, vector = reader.rates("matrix"), reader.rates("vector")
    kind = reader.text("kind", KINDS)
    if "float32" not in vector and kind != "tpu":
        raise reader.error(_("missing constant"), given="vector.float32")
    return DeviceProfile(
        name=reader.text("name"),
        title=reader.text("title"),
        kind=kind,
        backend=reader.text("backend", BACKENDS),
        units=reader.required("device", "units", _UNITS[kind]),
        matrix=matrix,
        vector=vector,
        bandwidth=reader.required("memory", "bandwidth", "B/s"),
        capacity=reader.optional("memory", "capacity", "B"),
        cache=reader.optional("memory", "cache", "B"),
        power=reader.optional("device", "power", "W"),
        link=reader.optional("interconnect", "link", "B/s"),
        network=reader.optional("interconnect", "network", "B/s"),
        per_node=reader.optional("interconnect", "per_node", "devices"),
        notes=tuple(str(note) for note in data.get("notes", ())),
    )
