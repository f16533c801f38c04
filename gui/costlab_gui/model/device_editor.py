"""A device profile being edited: each figure as text with its unit, and where it was read.

A figure that is not changed keeps its source; one that is changed needs one of its own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from costlab.errors import InputError
from costlab.hardware.catalogue import load_profile
from costlab.hardware.profile import SCHEMA, Constant, DeviceProfile, Source, parse_profile
from costlab.i18n import _

_RATES = ("float64", "float32", "tf32", "bfloat16", "float16", "int8")
_PREFIXES: Mapping[str, float] = {
    "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
_TEXT = re.compile(r"\s*([0-9][0-9_ ]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure as the user sees it.

    Attributes:
        name: dotted, as in the file ("matrix.float32", "memory.bandwidth").
        unit: of the value.
        text: what is typed; "" where nothing is published.
        source: where a changed figure was read, free text or an address.
        original: what the profile had that this began as.
        needed: whether a profile must have it.
    """

    name: str
    unit: str
    text: str = ""
    source: str = ""
    original: Constant | None = None
    needed: bool = False

    @property
    def changed(self) -> bool:
        """Whether it says something else than the profile it began as."""
        return self.text.strip() != figure_text(self.original)

    @property
    def title(self) -> str:
        """What people call it."""
        section, _dot, name = self.name.partition(".")
        if section in ("matrix", "vector"):
            rate = _("matrix products") if section == "matrix" else _("other arithmetic")
            return f"{rate}, {name}"
        return {
            "units": _("units ({unit})").format(unit=self.unit),
            "power": _("power limit"),
            "capacity": _("memory"),
            "bandwidth": _("memory bandwidth"),
            "cache": _("last-level cache"),
            "link": _("link inside the node, one way"),
            "network": _("network share of a device, one way"),
            "per_node": _("devices of a node"),
        }[name]

    def value(self) -> float | None:
        """The value in ``unit``; None where nothing is typed.

        Raises:
            InputError: if the text is no number with this unit.
        """
        if not self.text.strip():
            return None
        if not self.changed and self.original is not None:
            return self.original.value
        return parse_figure(self.text, self.unit)


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile of one's own before it is saved.

    Attributes:
        kind, backend, notes: those of the profile it began as.
    """

    name: str
    title: str
    kind: str
    backend: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    today: date = field(default_factory=date.today)

    @classmethod
    def of(cls, profile: DeviceProfile) -> Draft:
        """A copy of ``profile`` under another name."""
        return cls(
            name=f"{profile.name}-own",
            title=_("{title}, edited").format(title=profile.title),
            kind=profile.kind,
            backend=profile.backend,
            figures=tuple(_figures(profile)),
            notes=profile.notes,
        )

    def figure(self, name: str) -> Figure:
        return next(one for one in self.figures if one.name == name)

    def with_figure(self, name: str, **changes: str) -> Draft:
        """The draft with another ``text`` or ``source`` of one figure."""
        figures = tuple(
            replace(one, **changes) if one.name == name else one  # type: ignore[arg-type]
            for one in self.figures
        )
        return replace(self, figures=figures)

    def problems(self) -> dict[str, str]:
        """What is wrong, by the name of the figure; "name" and "title" for these."""
        found: dict[str, str] = {}
        for one in self.figures:
            if (problem := self._problem(one)) is not None:
                found[one.name] = problem
        for name in ("name", "title"):
            if not getattr(self, name).strip():
                found[name] = _("needed")
        if not found:
            # What concerns more than one figure.
            try:
                self._parse(self.figures)
            except InputError as error:
                found["name"] = error.message
        return found

    def toml(self) -> str:
        """The file's text.

        Raises:
            InputError: if a figure is wrong or a changed one has no source.
        """
        for problem in self.problems().values():
            raise InputError(problem)
        return _toml(self._tables(self.figures))

    def save(self, path: Path) -> DeviceProfile:
        """Write the profile and read it back.

        Raises:
            InputError: if it is not valid, or the file cannot be written.
        """
        text = self.toml()
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(
                _("the profile cannot be written"), given=f"{path}: {error.strerror}"
            ) from error
        return load_profile(path)

    def _problem(self, one: Figure) -> str | None:
        if one.needed and not one.text.strip():
            return _("a profile needs this figure")
        try:
            one.value()
            # Alone among the figures as they were, so that the complaint is about this one.
            others = [replace(f, text=figure_text(f.original)) for f in self.figures if f != one]
            self._parse([*others, replace(one, source=one.source or "-")])
        except InputError as error:
            message = error.message.removeprefix(f"{self.name}: ")
            given = f" ({error.given})" if error.given else ""
            return f"{message}{given}: {error.allowed}" if error.allowed else message + given
        if one.changed and one.text.strip() and not one.source.strip():
            return _("where is this figure from? A source is needed")
        return None

    def _parse(self, figures: Iterable[Figure]) -> DeviceProfile:
        return parse_profile(self._tables(figures), self.name)

    def _tables(self, figures: Iterable[Figure]) -> dict[str, Any]:
        """The tables of the file."""
        sections = ("device", "matrix", "vector", "memory", "interconnect")
        tables: dict[str, dict[str, Any]] = {section: {} for section in sections}
        sources: dict[Source, str] = {}
        for one in figures:
            value = one.value()
            if value is None:
                continue
            changed = one.changed or one.original is None
            source = self._source(one) if changed or one.original is None else one.original.source
            key = sources.setdefault(source, f"source-{len(sources) + 1}")
            section, _dot, name = one.name.partition(".")
            entry: dict[str, Any] = {"value": value, "source": key}
            if one.original is not None and not changed and one.original.note:
                entry["note"] = one.original.note
            tables[section][name] = entry
        named = {
            key: {"title": source.title, "url": source.url, "read": source.read}
            for source, key in sources.items()
        }
        return {
            "schema": SCHEMA, "name": self.name, "title": self.title, "kind": self.kind,
            "backend": self.backend, "notes": list(self.notes), **tables, "sources": named,
        }  # fmt: skip

    def _source(self, one: Figure) -> Source:
        text = one.source.strip()
        url = text if text.startswith(("https://", "http://")) else ""
        return Source(text, url, self.today.isoformat())


def figure_text(constant: Constant | None) -> str:
    """A constant as it can be typed: exact, with the prefix that makes it short."""
    if constant is None:
        return ""
    if constant.unit not in ("FLOP/s", "B/s", "B", "W"):
        return f"{constant.value:g}"
    choices = []
    for prefix, factor in _PREFIXES.items():
        if prefix.endswith("i") and constant.unit != "B":
            continue
        digits = f"{constant.value / factor:.12g}"
        if float(digits) * factor == constant.value and "e" not in digits:
            choices.append(f"{digits} {prefix}{constant.unit}")
    return min(choices, key=len, default=f"{constant.value!r} {constant.unit}")


def parse_figure(text: str, unit: str) -> float:
    """Value in ``unit`` of what was typed: "312 TFLOP/s", "80 GiB", "312e12".

    Raises:
        InputError: if it is no number, or has another unit.
    """
    match = _TEXT.fullmatch(text)
    prefixes = {
        f"{prefix}{unit}".lower(): factor
        for prefix, factor in _PREFIXES.items()
        if unit == "B" or not prefix.endswith("i")
    } | {"": 1.0}
    if match is None or match[2].lower() not in prefixes:
        like = {"FLOP/s": "312 TFLOP/s", "B/s": "1555 GB/s", "B": "80 GB, 80 GiB", "W": "400 W"}
        raise InputError(
            _("not a figure in {unit}").format(unit=unit),
            given=text,
            allowed=_("write it like {example}").format(example=like.get(unit, "108")),
        )
    return float(re.sub(r"[_ ]", "", match[1])) * prefixes[match[2].lower()]


def _figures(profile: DeviceProfile) -> Iterable[Figure]:
    """All figures that a profile of this kind may have, those it has with their values."""

    def one(name: str, unit: str, constant: Constant | None, needed: bool = False) -> Figure:
        return Figure(name, unit, figure_text(constant), "", constant, needed)

    yield one("device.units", profile.units.unit, profile.units, needed=True)
    yield one("memory.bandwidth", "B/s", profile.bandwidth, needed=True)
    yield one("memory.capacity", "B", profile.capacity)
    yield one("memory.cache", "B", profile.cache)
    yield one("device.power", "W", profile.power)
    yield one("interconnect.link", "B/s", profile.link)
    yield one("interconnect.network", "B/s", profile.network)
    yield one("interconnect.per_node", "devices", profile.per_node)
    for section, rates in (("matrix", profile.matrix), ("vector", profile.vector)):
        for dtype in dict.fromkeys((*_RATES, *rates)):
            needed = section == "vector" and dtype == "float32" and profile.kind != "tpu"
            if section == "matrix" or dtype in rates or dtype in ("float64", "float32"):
                yield one(f"{section}.{dtype}", "FLOP/s", rates.get(dtype), needed)


def _toml(tables: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in tables.items() if not _is_table(value)]
    for name, table in tables.items():
        if not _is_table(table) or not table:
            continue
        if name == "sources":
            for key, source in table.items():
                lines += ["", f"[sources.{key}]"]
                lines += [f"{field} = {_value(value)}" for field, value in source.items()]
        else:
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {_value(entry)}" for key, entry in table.items()]
    text = "\n".join(lines) + "\n"
    tomllib.loads(text)
    return text


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))
