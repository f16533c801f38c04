"""A sweep as a TOML file, for ``costlab profile SWEEP.toml``.

targets = ["full_attention", "lstm"]
modes = ["forward", "train"]      # default: forward
dtypes = ["float32"]              # default: float32
devices = ["cpu"]                 # default: cpu
threads = [1, 2]                  # default: 1
repeats = 5                       # timed processes of each point, at least 3
budget = "2m"                     # for the whole sweep; left out: what it takes
timeout = "120s"                  # for one process
resident = true                   # measure the resident peak too, 2 s for each point
energy = true                     # and energy where there is a counter, 17 s for each
seed = 7                          # of the order; left out: drawn and stored with the run
[sizes]
n = "256:4k:x2"                   # or 256, "256,512", [256, 512]
d = 256
[options]
causal = true
[[points]]                        # points beside those of the lists; targets may be left out then
target = "lstm"
mode = "train"                    # likewise dtype, device, threads; default: as above
sizes = { n = 512, d = 64 }
options = { causal = true }
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.errors import CostLabError, InputError, UnknownNameError
from costlab.i18n import _
from costlab.symbols import parse_values
from costlab.units import parse_seconds

if TYPE_CHECKING:
    from costlab.measurement.point import PointSpec
    from costlab.sweep.plan import SweepPlan

_LISTS: Mapping[str, type] = {
    "targets": str, "modes": str, "dtypes": str, "devices": str, "threads": int,
}  # fmt: skip
_ALONE = ("devices", "threads")  # a value instead of a list of one
_KEYS: Mapping[str, type] = {
    "repeats": int,
    "budget": str,
    "timeout": str,
    "resident": bool,
    "energy": bool,
    "seed": int,
    "sizes": dict,
    "options": dict,
    "points": list,
}
_POINT: Mapping[str, type] = {
    "target": str, "mode": str, "dtype": str, "device": str, "threads": int, "sizes": dict,
    "options": dict,
}  # fmt: skip


def load_sweep(path: Path) -> SweepPlan:
    """The plan written in ``path``.

    Raises:
        InputError: if the file cannot be read, or has a key or value that means nothing; the
            error names the file and the key.
    """
    from costlab.cli.points import points_of
    from costlab.sweep.plan import SweepPlan

    data = _read(path)
    grid = {name: _sizes(path, name, value) for name, value in data.get("sizes", {}).items()}
    lists = {name: data[name] for name in _LISTS if name in data and name != "targets"}
    with _in_file(path):
        points = points_of(data["targets"], grid, **lists, options=data.get("options") or {})
    points += tuple(_point(path, number, one) for number, one in enumerate(data.get("points", ())))
    if not points:
        raise InputError(_("a sweep needs at least one of these"), given=f"{path}: targets, points")
    plain = ("repeats", "resident", "energy")
    fields: dict[str, Any] = {name: data[name] for name in plain if name in data}
    for name in ("budget", "timeout"):
        if name in data:
            fields[f"{name}_s"] = _seconds(path, name, data[name])
    seed = data.get("seed", random.SystemRandom().randrange(2**31))
    return SweepPlan(points, seed, **fields)


def _point(path: Path, number: int, entry: Any) -> PointSpec:
    """One of ``[[points]]``."""
    from costlab.cli.points import points_of

    key = f"points[{number}]"
    if not isinstance(entry, dict) or "target" not in entry:
        raise _wrong(path, key, entry, _("a table with a target and sizes"))
    for name, value in entry.items():
        if type(value) is not _POINT.get(name):
            raise _wrong(path, f"{key}.{name}", value, ", ".join(_POINT))
    sizes = {name: _sizes(path, name, value)[:1] for name, value in entry.get("sizes", {}).items()}
    lists = {
        f"{name}s" if name != "threads" else name: [entry[name]]
        for name in ("mode", "dtype", "device", "threads")
        if name in entry
    }
    with _in_file(path, key):
        (point,) = points_of([entry["target"]], sizes, **lists, options=entry.get("options") or {})
    return point


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(_("cannot read the sweep"), given=f"{path}: {error}") from error
    data = dict(_entry(path, key, value) for key, value in raw.items())
    data.setdefault("targets", [])
    for key in _LISTS:
        if not data.get(key, [True]) and not (key == "targets" and data.get("points")):
            raise InputError(_("a sweep needs at least one of these"), given=f"{path}: {key}")
    return data


def _entry(path: Path, key: str, value: Any) -> tuple[str, Any]:
    """A key with its value checked; what may be a list is one."""
    if key not in {*_LISTS, *_KEYS}:
        error = UnknownNameError(_("key of a sweep"), key, {*_LISTS, *_KEYS})
        error.given = f"{path}: {key}"
        raise error
    kind = _LISTS.get(key)
    if kind is None:
        if type(value) is not _KEYS[key]:
            raise _wrong(path, key, value, _KEYS[key].__name__)
        return key, value
    values = [value] if key in _ALONE and not isinstance(value, list) else value
    if not isinstance(values, list) or any(type(item) is not kind for item in values):
        raise _wrong(path, key, value, _("a list of {kind}").format(kind=kind.__name__))
    return key, values


def _sizes(path: Path, name: str, value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or any(type(item) not in (int, str) for item in values):
        raise _wrong(path, f"sizes.{name}", value, _('256, "256:4k:x2" or a list of them'))
    with _in_file(path, f"sizes.{name}"):
        found = [size for item in values for size in parse_values(str(item), name)]
    return tuple(dict.fromkeys(found))


def _seconds(path: Path, name: str, text: str) -> float:
    try:
        return float(parse_seconds(text))
    except ValueError as error:
        raise _wrong(path, name, text, '"90s", "2m", "1h"') from error


def _wrong(path: Path, key: str, value: Any, allowed: str) -> InputError:
    return InputError(
        _("wrong value in a sweep"), given=f"{path}: {key} = {value!r}", allowed=allowed
    )


@contextmanager
def _in_file(path: Path, key: str = "") -> Iterator[None]:
    """Name the file, and the key, in errors about what it says."""
    try:
        yield
    except CostLabError as error:
        where = f"{path}: {key}" if key else str(path)
        error.given = f"{where}: {error.given}"
        raise
