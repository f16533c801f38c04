"""Shards into one store: exported runs, JSON lines, or whole stores of other machines.

Results are known by their content, so a shard that is imported twice adds nothing the second
time, and the order in which shards come does not matter. Runs of one name that were planned or
measured differently are kept apart: the one that comes second has a hash added to its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.store.exchange import RUN_SCHEMA, SHARD_SCHEMA
from costlab.store.store import Store

_SQLITE = b"SQLite format 3\x00"
Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one run: its name here, how many results were new, and a torn last line."""

    run: str
    added: int
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Shard:
    """One run of a file: results with the time at which each was added ("" if unknown)."""

    run: str
    created: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    rows: Iterable[Row]
    torn: bool = field(default=False)


def import_file(store: Store, path: Path) -> list[Imported]:
    """Add the runs of a ``.json``, a ``.jsonl`` or another store to ``store``.

    What is there already is left alone. A ``.jsonl`` whose last line is torn gives the lines
    before it.

    Raises:
        InputError: if ``path`` is none of these, cannot be read, or is damaged.
    """
    return [merge(store, shard) for shard in _shards(path)]


def merge(store: Store, shard: Shard) -> Imported:
    """Add one run to ``store``, under a name of its own if that name is another run's."""
    name = shard.run
    known = {info.run: info for info in store.runs()}
    if name in known and _identity(known[name]) != _identity(shard):
        digest = hashlib.sha256(_identity(shard).encode()).hexdigest()
        name = f"{name}~{digest[:8]}"
    store.start_run(name, shard.plan, shard.environment, shard.created)
    return Imported(name, sum(store.add(name, row, added) for added, row in shard.rows), shard.torn)


def _identity(run: Any) -> str:
    """What two runs of one name have in common if they are the same."""
    environment = run.environment.get("id", run.environment)
    return json.dumps([run.plan, environment], sort_keys=True)


def _shards(path: Path) -> Iterator[Shard]:
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
            content = b"" if start == _SQLITE else start + file.read()
    except OSError as error:
        raise InputError(_("the file cannot be read"), given=f"{path}: {error.strerror}") from error
    if start == _SQLITE:
        with Store(path, read_only=True) as other:
            for info in other.runs():
                yield Shard(
                    info.run, info.created, info.plan, info.environment, other.rows(info.run)
                )
    elif path.suffix == ".jsonl":
        yield _from_lines(path, content)
    else:
        yield _from_object(path, content)


def _from_object(path: Path, content: bytes) -> Shard:
    try:
        record = json.loads(content)
    except ValueError as error:
        raise InputError(_("the file cannot be read as JSON"), given=f"{path}: {error}") from error
    head = _checked(path, record, RUN_SCHEMA)
    points = record.get("points")
    added = record.get("added") or [""] * len(points or ())
    if not isinstance(points, list) or len(added) != len(points):
        raise _damaged(path, "points")
    return _shard(path, head, list(zip(added, points, strict=True)))


def _from_lines(path: Path, content: bytes) -> Shard:
    *lines, last = content.split(b"\n")
    records, torn = [], False
    for number, line in enumerate([*lines, last] if last else lines, 1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            # Complete lines end in a newline; what follows the last one was cut short.
            torn = number > len(lines)
            if not torn:
                raise _damaged(path, _("line {number}").format(number=number)) from error
    head = _checked(path, records[0] if records else None, SHARD_SCHEMA)
    rows = []
    for number, record in enumerate(records[1:], 2):
        if not isinstance(record, dict) or not isinstance(record.get("point"), dict):
            raise _damaged(path, _("line {number}").format(number=number))
        rows.append((str(record.get("added", "")), record["point"]))
    return _shard(path, head, rows, torn)


def _checked(path: Path, record: object, schema: str) -> dict[str, Any]:
    """``record`` if it is the head of an exported run."""
    found = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(record, dict) or found != schema:
        raise InputError(_("this is not an exported run"), given=f"{path}: {found}", allowed=schema)
    for name, kind in (("run", str), ("plan", dict), ("environment", dict)):
        if not isinstance(record.get(name), kind):
            raise _damaged(path, name)
    return record


def _shard(path: Path, head: dict[str, Any], rows: list[Row], torn: bool = False) -> Shard:
    for _added, point in rows:
        if not isinstance(point, dict) or not {"point", "status", "sizes"} <= point.keys():
            raise _damaged(path, "points")
    created = str(head.get("created", ""))
    return Shard(head["run"], created, head["plan"], head["environment"], rows, torn)


def _damaged(path: Path, where: str) -> InputError:
    return InputError(_("the exported run is damaged"), given=f"{path}: {where}")
