"""One meaning, unit and legal range for every symbol, and how sizes are written.

A size is a positive integer. ``4k`` is 4096 and ``1M`` is 1 048 576; a list is ``n=256,512``, a
range ``n=256:8192:x2`` (times 2) or ``n=256:2048:+256`` (plus 256), both ends included.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from costlab.errors import SizeError
from costlab.i18n import _

MAX_SIZE = 2**53
"""Largest size: up to here float64 arrays hold sizes exactly."""

MAX_VALUES = 10_000
"""Most values of one size in a list or range."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of the formulas: its meaning, unit, and range (``maximum`` None: no limit)."""

    name: str
    meaning: str
    unit: str = ""
    minimum: int = 1
    maximum: int | None = MAX_SIZE


def _table(*symbols: Symbol) -> dict[str, Symbol]:
    return {symbol.name: symbol for symbol in symbols}


SIZES: Mapping[str, Symbol] = _table(
    Symbol("b", "batch size", "sequences"),
    Symbol("n", "sequence length (of the queries)", "tokens"),
    Symbol("m", "source length (encoder, cross-attention)", "tokens"),
    Symbol("d", "model width", "channels"),
    Symbol("h", "attention heads", "heads", maximum=2**20),
    Symbol("g", "key/value heads", "heads", maximum=2**20),
    Symbol("k", "head size (h*k = d unless said)", "channels"),
    Symbol("p", "head size with position, beside k (latent attention)", "channels"),
    Symbol("q", "rank of the queries (latent attention)", "features"),
    Symbol("f", "feed-forward width", "channels"),
    Symbol("L", "layers", "layers", maximum=2**20),
    Symbol("V", "vocabulary", "tokens"),
    Symbol("w", "window: keys on each side of the query (causal: w keys in all)", "tokens"),
    Symbol("c", "chunk or block size", "tokens"),
    Symbol("R", "hash rounds", "rounds", maximum=2**20),
    Symbol("r", "rank or random features", "features"),
    Symbol("s", "state size per channel", "values"),
    Symbol("e", "experts", "experts", maximum=2**20),
    Symbol("t", "experts per token", "experts", maximum=2**20),
    Symbol("G", "global tokens", "tokens"),
    Symbol("E", "edges of a graph", "edges"),
    Symbol("u", "weights that share a scale", "weights"),
    Symbol("a", "micro-batches of a step", "micro-batches", maximum=2**20),
)
"""Sizes of architectures."""

MACHINE: Mapping[str, Symbol] = _table(
    Symbol("threads", "threads of the run", "threads", maximum=2**16),
    Symbol("W", "memory bandwidth", "B/s", maximum=None),
    Symbol("t_launch", "time to start one operator", "s", minimum=0, maximum=None),
    Symbol("t_step", "time of one dependent step", "s", minimum=0, maximum=None),
)
"""Constants of a machine; rates of operator classes are ``P_<class>`` (see :func:`describe`)."""

SYMBOLS: Mapping[str, Symbol] = {**SIZES, **MACHINE}


def describe(name: str) -> Symbol | None:
    """The symbol called ``name``, ``P_<class>`` included; None for a name of the user's own."""
    if name.startswith("P_") and len(name) > 2:
        kind = name[2:].replace("_", " ")
        return Symbol(name, f"rate of {kind} operators", "FLOP/s", maximum=None)
    return SYMBOLS.get(name)


_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKMG]?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_FACTORS = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30}


def parse_size(text: str, name: str = "") -> int:
    """Return the size written as ``text``: "512", "4k" (4096), "1M" (1 048 576).

    Args:
        text: digits, optionally followed by k, M or G (powers of 1024).
        name: the symbol it is for, which sets the legal range.

    Raises:
        SizeError: if it is not a positive integer, or out of the symbol's range.
    """
    match = _SIZE.fullmatch(text.strip())
    value = Fraction(match[1]) * _FACTORS[match[2]] if match else Fraction(0)
    if value.denominator != 1 or value < 1:
        raise SizeError(
            _("{name} must be a positive integer").format(name=name or _("a size")),
            given=repr(text),
            allowed=_("512, 4k (= 4096), 1M (= 1048576) and the like"),
        )
    return check_size(int(value), name)


def check_size(value: int, name: str = "") -> int:
    """Return ``value`` if it is a legal size for the symbol ``name``.

    Raises:
        SizeError: if it is not an integer, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise SizeError(
            _("{name} must be a positive integer").format(name=name or _("a size")),
            given=repr(value),
        )
    known = SIZES.get(name)
    maximum = known.maximum if known and known.maximum else MAX_SIZE
    if not 1 <= value <= maximum:
        raise SizeError(
            _("{name} is out of range").format(name=name or _("a size")),
            given=str(value),
            allowed=f"1 .. {maximum}",
        )
    return value


def parse_values(text: str, name: str = "") -> tuple[int, ...]:
    """Return the values of a list of sizes and ranges, in order and without repeats.

    >>> parse_values("100,256:1k:x2")
    (100, 256, 512, 1024)

    Raises:
        SizeError: if a part is not a size or a range, or there are too many values.
    """
    values: dict[int, None] = {}
    for part in text.split(","):
        for value in _parse_range(part, name) if ":" in part else (parse_size(part, name),):
            values[value] = None
            if len(values) > MAX_VALUES:
                raise SizeError(
                    _("too many values of {name}").format(name=name or _("a size")),
                    given=text,
                    allowed=_("at most {count}").format(count=MAX_VALUES),
                )
    return tuple(values)


def _parse_range(text: str, name: str) -> Iterable[int]:
    parts = text.split(":")
    step = re.fullmatch(r"([x+])(.+)", parts[2].strip()) if len(parts) == 3 else None
    if step is None:
        raise SizeError(
            _("not a range of {name}").format(name=name or _("sizes")),
            given=repr(text),
            allowed=_("first:last:x2 (times 2) or first:last:+256 (plus 256)"),
        )
    first, last = parse_size(parts[0], name), parse_size(parts[1], name)
    by = parse_size(step[2], "")
    if first > last or (step[1] == "x" and by == 1):
        raise SizeError(
            _("a range of {name} that never ends or is empty").format(name=name or _("sizes")),
            given=repr(text),
            allowed=_("first <= last, times at least 2 or plus at least 1"),
        )
    if step[1] == "+":
        return range(first, last + 1, by)
    powers = (first * by**i for i in itertools.count())
    return itertools.takewhile(lambda value: value <= last, powers)


def is_assignment(word: str) -> bool:
    """Whether a word of a command line is ``name=...`` and not a file or an architecture."""
    name, equals, _value = word.partition("=")
    return bool(equals) and _NAME.fullmatch(name.strip()) is not None


def parse_sizes(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the values of each ``name=values`` word.

    >>> parse_sizes(["n=256,512", "d=64"])
    {'n': (256, 512), 'd': (64,)}

    Raises:
        SizeError: if a word is not ``name=values`` or a name comes twice.
    """
    sizes: dict[str, tuple[int, ...]] = {}
    for word in words:
        if not is_assignment(word):
            raise SizeError(_("not a size"), given=repr(word), allowed="name=value, e.g. n=4k")
        name, _equals, text = word.partition("=")
        name = name.strip()
        if name in sizes:
            raise SizeError(
                _("a size is given twice"), given=name, advice=_("write a list: n=256,512")
            )
        sizes[name] = parse_values(text, name)
    return sizes


def single(sizes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the one value of each size.

    Raises:
        SizeError: if a size has several.
    """
    for name, values in sizes.items():
        if len(values) != 1:
            raise SizeError(
                _("{name} takes one value here").format(name=name),
                given=",".join(map(str, values[:5])),
            )
    return {name: values[0] for name, values in sizes.items()}


def expand(sizes: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Return every combination of the values; the last name varies fastest.

    Raises:
        SizeError: if there are more than :data:`MAX_VALUES` combinations.
    """
    count = 1
    for values in sizes.values():
        count *= len(values)
    if count > MAX_VALUES:
        raise SizeError(
            _("too many combinations of sizes"),
            given=" x ".join(f"{len(v)} {k}" for k, v in sizes.items()),
            allowed=_("at most {count}").format(count=MAX_VALUES),
        )
    return [dict(zip(sizes, point, strict=True)) for point in itertools.product(*sizes.values())]


def complete(sizes: Mapping[str, int], defaults: Mapping[str, int]) -> dict[str, int]:
    """Return ``sizes`` with defaults, and h, k, d such that h*k = d.

    Of h, k and d two must be given, or one and the default of another (h's first, else k's, else
    d's). Names that neither ``sizes`` nor ``defaults`` knows stay out, so an architecture
    without heads keeps its d alone.

    Raises:
        SizeError: if h*k is not d, or d is not divisible; the message names all three.
    """
    heads = ("h", "k", "d")
    full = {name: value for name, value in defaults.items() if name not in heads}
    full.update(sizes)
    for name in heads:
        known = [other for other in heads if other in full]
        if len(known) >= 2:
            break
        if name not in full and name in defaults:
            full[name] = defaults[name]
    if "h" in full and "k" in full:
        full.setdefault("d", full["h"] * full["k"])
    elif "d" in full and ("h" in full or "k" in full):
        given, missing = ("h", "k") if "h" in full else ("k", "h")
        if full["d"] % full[given]:
            raise _heads_error(full, sizes, missing)
        full[missing] = full["d"] // full[given]
    if all(name in full for name in heads) and full["h"] * full["k"] != full["d"]:
        raise _heads_error(full, sizes, "")
    return full


def _heads_error(full: Mapping[str, int], sizes: Mapping[str, int], missing: str) -> SizeError:
    def show(name: str) -> str:
        if name == missing:
            return f"{name}=?"
        return f"{name}={full[name]}" + ("" if name in sizes else _(" (default)"))

    return SizeError(
        _("heads (h) times head size (k) must be the width (d)"),
        given=", ".join(show(name) for name in ("h", "k", "d")),
        advice=_("give two of h, k and d, such that h*k = d"),
    )
