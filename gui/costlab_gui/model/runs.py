"""Measured runs of a store, read while a sweep may be writing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costlab.errors import CostLabError, StoreError
from costlab.i18n import _
from costlab.store.home import default_store
from costlab.store.view import StoredRun, StoreView

LATEST = "latest"
AT_ONCE = 150
"""How many points one look reads at most: some 30 ms."""
FAILED = frozenset({"crash", "timeout", "oom", "oom_suspected"})
_COUNTED_AT_ONCE = 400

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run as a list shows it.

    Attributes:
        run: its name.
        created: when it began (UTC, ISO 8601).
        programs: what was planned, each with its modes ("lstm train").
        planned: how many points were planned.
        statuses: how many points have each status.
        elsewhere: measured on another machine or with other versions, so that times do not
            compare with this machine's.
        running: a living process measures it now.
    """

    run: str
    created: str
    programs: tuple[str, ...]
    planned: int
    statuses: Mapping[str, int]
    elsewhere: bool
    running: bool

    @property
    def done(self) -> int:
        """Points that have a result."""
        return sum(self.statuses.values())

    @property
    def failed(self) -> int:
        return sum(count for status, count in self.statuses.items() if status in FAILED)

    @property
    def left(self) -> int:
        """Points that were planned and have no result."""
        return max(self.planned - self.done, 0)

    def state(self) -> str:
        """How it went, in words."""
        parts = [_("{done} of {all} points").format(done=self.done, all=self.planned)]
        if self.running:
            parts.append(_("measuring"))
        if self.failed:
            parts.append(_("{count} failed").format(count=self.failed))
        if self.statuses.get("noisy"):
            parts.append(_("{count} noisy").format(count=self.statuses["noisy"]))
        if self.elsewhere:
            parts.append(_("another machine or version"))
        return " · ".join(parts)


class Runs:
    """The runs of one store: what was read last, and a look whether there is more.

    ``complete`` is False while the next look would read more at once. ``problem`` is one
    sentence about a store that cannot be read, "" for one that can or that is not there yet. What
    was read before is kept then.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self.lines: tuple[RunLine, ...] = ()
        self.problem = ""
        self._seen: tuple[object, ...] = ()
        self._fixed: dict[str, StoredRun] = {}
        self._marks: dict[str, int] = {}
        self._rows: dict[str, tuple[int, ...]] = {}
        self._points: dict[int, Point] = {}
        self._shown: tuple[Point, ...] | None = None
        self._wanted: tuple[str, ...] = ()
        self._here = ""
        self.complete = True

    def look(
        self,
        path: Path | None = None,
        wanted: Sequence[str] = (LATEST,),
        also: Sequence[str] = (),
    ) -> bool:
        """Read what is new; returns whether anything is.

        Args:
            path: file of runs; None is the default one.
            wanted: runs whose points are read, by name; "latest" is the run begun last.
            also: runs whose points are read, but only given when they are named.
        """
        try:
            path = path or default_store()
        except CostLabError as error:
            return self._set_problem(str(error))
        if path != self.path:
            self._forget(path)
        files = _state(path)
        running = any(line.running for line in self.lines)
        seen = (files, tuple(wanted), tuple(also))
        # Whether a process lives is not written in the file.
        if seen == self._seen and not running and not self.problem and self.complete:
            return False
        self._shown = None
        before = (self.lines, self._marks, self._wanted, self.problem, len(self._points))
        try:
            self._read(path, wanted, also, exists=files[0] is not None)
        except StoreError as error:
            return self._set_problem(str(error))
        self.problem = ""
        self._seen = seen
        return before != (
            self.lines, self._marks, self._wanted, self.problem, len(self._points)
        )  # fmt: skip

    def line(self, run: str) -> RunLine | None:
        """The line of a run; "latest" is the run begun last."""
        if run == LATEST:
            return self.lines[0] if self.lines else None
        return next((line for line in self.lines if line.run == run), None)

    def points(self, run: str | None = None) -> tuple[Point, ...]:
        """Points of one of the wanted runs (None: of all of them), without raw samples."""
        if run is not None:
            return self._of(self._names([run]))
        # Asked for in every frame: the same object until something is read.
        if self._shown is None:
            self._shown = self._of(self._wanted)
        return self._shown

    def plan(self, run: str) -> tuple[Point, ...]:
        """The points that were planned for a run, as ``costlab runs --json`` gives them."""
        line = self.line(run)
        return tuple(self._fixed[line.run].plan.get("points", ())) if line is not None else ()

    def _read(
        self, path: Path, wanted: Sequence[str], also: Sequence[str], *, exists: bool
    ) -> None:
        if not exists:
            self.lines, self._marks, self._wanted = (), {}, ()
            return
        with StoreView(path) as view:
            names, marks, running = view.names(), view.marks(), view.measuring()
            known = {line.run: line for line in self.lines}
            if not self._here:
                from costlab.devices import fingerprint  # without runs nobody asks

                self._here = fingerprint().id
            lines = []
            read, counted = dict(self._marks), 0
            for name in reversed(names):
                fixed = self._fixed.get(name) or view.run(name)
                self._fixed[name] = fixed
                statuses = known[name].statuses if name in known else {}
                # The newest first, and the others at the next look, so that none takes long.
                if marks.get(name) != read.get(name) and counted < _COUNTED_AT_ONCE:
                    rows = view.statuses(name)
                    self._rows[name] = tuple(rows)
                    statuses = Counter(rows.values())
                    counted += len(rows)
                    read[name] = marks[name]
                lines.append(_line(fixed, statuses, self._here, name in running))
            self.lines = tuple(lines)
            self._marks = read
            self._wanted = self._names(wanted)
            missing = [
                number
                for name in dict.fromkeys((*self._wanted, *self._names(also)))
                for number in self._rows.get(name, ())
                if number not in self._points
            ]
            some = missing[:AT_ONCE]
            self._points.update(zip(some, view.points(some), strict=True))
            self.complete = len(some) == len(missing) and read == marks

    def _of(self, names: Sequence[str]) -> tuple[Point, ...]:
        rows = (number for name in names for number in self._rows.get(name, ()))
        return tuple(self._points[number] for number in rows if number in self._points)

    def _names(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """The wanted runs that there are, each once."""
        found = (self.line(name) for name in wanted)
        return tuple(dict.fromkeys(line.run for line in found if line is not None))

    def _set_problem(self, text: str) -> bool:
        changed, self.problem = text != self.problem, text
        return changed

    def _forget(self, path: Path) -> None:
        self.path = path
        self.lines, self.problem = (), ""
        self._seen, self._wanted = (), ()
        self._fixed, self._marks, self._rows, self._points = {}, {}, {}, {}
        self._shown = None
        self.complete = True


def _line(fixed: StoredRun, statuses: Mapping[str, int], here: str, running: bool) -> RunLine:
    points = fixed.plan.get("points", ())
    programs = dict.fromkeys(f"{point['target']} {point['mode']}" for point in points)
    return RunLine(
        fixed.run,
        fixed.created,
        tuple(programs),
        len(points),
        statuses,
        fixed.environment.get("id") != here,
        running,
    )


def _state(path: Path) -> tuple[object, object]:
    """What changes when the store is written: the file and its log."""
    return _stamp(path), _stamp(path.with_name(path.name + "-wal"))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
