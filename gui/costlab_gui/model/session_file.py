"""Sessions as files: one versioned JSON object, paths relative to it, read with every check."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

from costlab.errors import InputError
from costlab.i18n import _
from costlab.store.files import write_whole
from costlab.symbols import check_size
from costlab_gui.model.session import (
    DTYPES,
    MAP_METRICS,
    METRICS,
    MODES,
    PAGES,
    REPEATS,
    Budget,
    Session,
    Setting,
    ToMeasure,
)
from costlab_gui.model.to_plan import JOBS, VIEWS, ToPlan

SCHEMA = "costlab.session/1"
SUFFIX = ".costlab.json"
_HF = "hf:"


def save(session: Session, path: Path) -> None:
    """Write ``session`` to ``path``; a file that is there is replaced as a whole.

    Raises:
        InputError: if it cannot be written.
    """
    data = to_json(session, path.parent)
    write_whole(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> tuple[Session, tuple[str, ...]]:
    """Read a session; returns it with what is missing on this machine, in words.

    Raises:
        InputError: if the file is no session, of a newer version, or holds impossible values.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(_("cannot read the session"), given=f"{path}: {reason}") from error
    except ValueError as error:
        raise InputError(_("the session is not JSON"), given=f"{path}: {error}") from error
    return from_json(data, path.parent)


def to_json(session: Session, folder: Path | None = None) -> dict[str, Any]:
    """Plain data; paths relative to ``folder`` where one is given and has them below or beside."""
    data = asdict(session)
    move = _mover(lambda path: _relative(path, folder))
    return {"schema": SCHEMA, **_with_paths(data, move)}


def from_json(data: Any, folder: Path | None = None) -> tuple[Session, tuple[str, ...]]:
    """Inverse of :func:`to_json`. Fields that are missing take their defaults.

    Raises:
        InputError: see :func:`load`.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith("costlab.session/"):
        raise InputError(_("not a session of CostLab"), given=str(schema), allowed=SCHEMA)
    if schema != SCHEMA:
        raise InputError(
            _("the session was written by another version"),
            given=schema,
            allowed=SCHEMA,
            advice=_("open it with the newer CostLab"),
        )
    move = _mover(lambda path: path if folder is None else os.path.normpath(folder / path))
    moved = _with_paths(data, move)
    session = Session(
        **_fields(
            Session,
            {k: v for k, v in moved.items() if k != "schema"},
            setting=lambda value: _setting(value),
            reference=lambda value: None if value is None else _setting(value),
            budget=lambda value: Budget(**_fields(Budget, value)),
            measure=lambda value: ToMeasure(**_fields(ToMeasure, value)),
            plan=lambda value: ToPlan(**_fields(ToPlan, value)),
            opened=_texts,
            colours=_indices,
        )
    )
    _check(session)
    return session, _missing(session)


def _setting(value: Any) -> Setting:
    return Setting(**_fields(Setting, value, sizes=_sizes, options=_flags))


def _fields(kind: type, data: Any, **readers: Callable[[Any], Any]) -> dict[str, Any]:
    """The arguments of ``kind``; checked by ``readers`` or by the declared type."""
    if not isinstance(data, dict):
        raise _bad(kind.__name__.lower(), data)
    hints = get_type_hints(kind)
    unknown = data.keys() - {field.name for field in fields(kind)}
    if unknown:
        raise _bad(", ".join(sorted(unknown)), _("an unknown field"))
    return {
        name: readers[name](value) if name in readers else _plain(name, value, hints[name])
        for name, value in data.items()
    }


def _plain(name: str, value: Any, hint: Any) -> Any:
    text = str(hint).removeprefix("<class '").removesuffix("'>")
    if text.startswith("tuple"):
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise _bad(name, value)
        return tuple(value)
    if value is None and "None" in text:
        return None
    kinds = {"bool": bool, "str": str, "int": int, "float": (int, float)}
    kind: Any = kinds[text.split(" ")[0]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _bad(name, value)
    if kind == (int, float) and not 0 < value < float("inf"):
        raise _bad(name, value)
    return value


def _sizes(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise _bad("sizes", value)
    return {str(name): check_size(size, str(name)) for name, size in value.items()}


def _flags(value: Any) -> dict[str, bool]:
    if not isinstance(value, dict) or not all(isinstance(flag, bool) for flag in value.values()):
        raise _bad("options", value)
    return dict(value)


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise _bad("opened", value)
    return dict(value)


def _indices(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not all(
        isinstance(index, int) and not isinstance(index, bool) and index >= 0
        for index in value.values()
    ):
        raise _bad("colours", value)
    return dict(value)


def _check(session: Session) -> None:
    """Raise unless every choice is one that there is."""
    settings = [s for s in (session.setting, session.reference) if s is not None]
    chosen: list[tuple[str, str, tuple[str, ...]]] = [
        ("page", session.page, PAGES),
        *(("metrics", metric, METRICS) for metric in session.metrics),
        ("map_metric", session.map_metric, MAP_METRICS),
        ("job", session.plan.job, JOBS),
        ("plan_view", session.plan_view, VIEWS),
        *(("mode", setting.mode, MODES) for setting in settings),
        *(("dtype", setting.dtype, DTYPES) for setting in settings),
    ]
    for name, value, allowed in chosen:
        if value not in allowed:
            raise _bad(name, value, ", ".join(allowed))
    if len(session.map_over) != 2:
        raise _bad("map_over", session.map_over)
    if not REPEATS[0] <= session.measure.repeats <= REPEATS[1]:
        raise _bad("repeats", session.measure.repeats, "{} to {}".format(*REPEATS))
    if not 1 <= session.low < session.high:
        raise _bad("low, high", f"{session.low}, {session.high}", "1 <= low < high")


def _bad(name: str, value: Any, allowed: str = "") -> InputError:
    return InputError(
        _("the session holds something impossible"), given=f"{name}: {value!r}", allowed=allowed
    )


def split_target(target: str) -> tuple[str, str, str] | None:
    """An opened module's (prefix, path, suffix); None for a name of the catalogue."""
    if target.startswith(_HF):
        return _HF, target.removeprefix(_HF), ""
    path, colon, factory = target.rpartition(":")
    return ("", path, colon + factory) if path.endswith(".py") else None


def _missing(session: Session) -> tuple[str, ...]:
    """Files that the session names and that are not here."""
    paths = [parts[1] for target in session.opened if (parts := split_target(target))]
    paths += [
        setting.device
        for setting in (session.setting, session.reference)
        if setting is not None and setting.device.endswith(".toml")
    ]
    paths += [session.store] if session.store else []
    paths += [
        name
        for name in (session.plan.model, session.plan.device, session.plan.other)
        if name.endswith((".json", ".toml"))
    ]
    return tuple(
        _("missing: {path}").format(path=path)
        for path in dict.fromkeys(paths)
        if not Path(path).exists()
    )


def _mover(move: Callable[[str], str]) -> Callable[[str], str]:
    """Changes the path inside a target, a device or a file name; leaves other names alone."""

    def moved(text: str) -> str:
        parts = split_target(text)
        if parts is not None:
            return parts[0] + move(parts[1]) + parts[2]
        return move(text) if text.endswith((".toml", ".sqlite", ".json")) else text

    return moved


def _with_paths(data: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    def each(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [move(item) if isinstance(item, str) else item for item in value]
        if isinstance(value, dict):
            return {move(k): each(v) for k, v in value.items()}
        return value

    found = dict(data)
    for name in ("programs", "hidden", "opened", "colours"):
        if name in found:
            found[name] = each(found[name])
    for name in ("selected", "store"):
        if isinstance(found.get(name), str):
            found[name] = move(found[name])
    for name, inner in (
        ("setting", ("device",)), ("reference", ("device",)), ("plan", ("model", "device", "other"))
    ):  # fmt: skip
        part = found.get(name)
        if isinstance(part, dict):
            paths = {key: move(part[key]) for key in inner if isinstance(part.get(key), str)}
            found[name] = {**part, **paths}
    return found


def _relative(path: str, folder: Path | None) -> str:
    if folder is None or not os.path.isabs(path):
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive on Windows
        return path
