"""One job: a command of the command line run in a child process, as far as it has come.

The child prints JSON lines (or one JSON document) on stdout and, among whatever else it says,
progress as JSON lines on stderr.
"""

from __future__ import annotations

import json
import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from costlab import __version__
from costlab.i18n import _
from costlab.units import format_percent, format_value

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
ENDED = frozenset({DONE, FAILED, CANCELLED})
OPTIONS = ("--progress", "json", "--until-stdin-ends")
"""What the app adds to each command; see ``costlab profile --help``."""

_CANCELLED_CODE = 130
_ERRORS_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Command:
    """What a job runs.

    Attributes:
        title: what people call it ("Measuring 6 points").
        words: arguments of ``costlab``, without those of :data:`OPTIONS`.
        alone: it measures, so no other such job may run meanwhile.
        measures: of a job that runs alone: whether watching the devices would disturb it.
        unit: what is counted, in the plural ("points").
        kept: what remains when it is cancelled or fails, as a sentence; "" for nothing.
    """

    title: str
    words: tuple[str, ...]
    alone: bool = False
    measures: bool = True
    unit: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the child says it is; None where it did not say. ``facts`` is the whole line."""

    text: str = ""
    done: int | None = None
    points: int | None = None
    share: float | None = None
    left_s: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Progress:
        """Of a progress line; ``turn`` of ``turns`` is a share."""
        share = line.get("share")
        if share is None and line.get("turns"):
            share = line["turn"] / line["turns"]
        return cls(
            line["text"], line.get("done"), line.get("points"), share, line.get("left_s"), line
        )  # fmt: skip


class Job:
    """State of one job: fed with what the child prints, asked by whoever shows it.

    ``state`` goes from "waiting" over "running" to "done", "failed" or "cancelled"; ``reason``
    is one sentence about a failure.
    """

    def __init__(self, command: Command, clock: Callable[[], float] = time.monotonic) -> None:
        self.command = command
        self.state = WAITING
        self.cancelling = False
        self.progress = Progress()
        self.reason = ""
        self.code: int | None = None
        self.lines: list[Mapping[str, Any]] = []
        self._clock = clock
        self._began_s: float | None = None
        self._ended_s: float | None = None
        self._text: list[str] = []
        self._errors = ""
        self._rest = {"out": b"", "err": b""}

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def elapsed_s(self) -> float:
        """Seconds that it has run."""
        if self._began_s is None:
            return 0.0
        return (self._ended_s if self._ended_s is not None else self._clock()) - self._began_s

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1; None if nobody knows."""
        return self.progress.share

    @property
    def left_s(self) -> float | None:
        """Seconds that it may take yet; None if nobody knows."""
        if self.state != RUNNING or self.cancelling:
            return None
        progress = self.progress
        if progress.left_s is not None:
            return progress.left_s
        if progress.share and progress.share > 0:
            return self.elapsed_s * (1 - progress.share) / progress.share
        return None

    @property
    def errors(self) -> str:
        """What the child wrote to stderr, but for its progress."""
        return self._errors

    @property
    def answer(self) -> Any:
        """The JSON document on stdout; None if there is none."""
        try:
            return json.loads("\n".join(self._text))
        except ValueError:
            return self.lines[-1] if self.lines else None

    @property
    def output(self) -> str:
        """What stdout held beside JSON lines."""
        return "\n".join(self._text)

    def start(self) -> None:
        self.state = RUNNING
        self._began_s = self._clock()

    def hear(self, data: bytes) -> list[Mapping[str, Any]]:
        """Take bytes of stdout; returns the JSON lines that are whole now."""
        found: list[Mapping[str, Any]] = []
        for text in self._whole_lines("out", data):
            line = _object(text)
            if line is None or "kind" not in line:
                self._text.append(text)
            else:
                found.append(line)
        self.lines += found
        return found

    def hear_errors(self, data: bytes) -> bool:
        """Take bytes of stderr; returns whether there was progress among them."""
        heard = False
        for text in self._whole_lines("err", data):
            line = _object(text)
            if line is not None and line.get("kind") == "progress":
                self.progress = Progress.from_json(line)
                heard = True
            else:
                self._errors = (self._errors + text + "\n")[-_ERRORS_KEPT:]
        return heard

    def cancel(self) -> None:
        """It was asked to end; one that waits has ended with that."""
        self.cancelling = True
        if self.state == WAITING:
            self._end(CANCELLED)

    def end(self, code: int, *, crashed: bool = False) -> None:
        """The child is gone.

        Args:
            code: its exit code, or the signal that ended it if ``crashed``.
            crashed: it did not leave by itself.
        """
        self.hear(b"\n" if self._rest["out"] else b"")
        self.hear_errors(b"\n" if self._rest["err"] else b"")
        self.code = code
        if code == 0 and not crashed:
            self._end(DONE)
        elif self.cancelling or (code == _CANCELLED_CODE and not crashed):
            self._end(CANCELLED)
        elif crashed:
            self.fail(_("its process was ended from outside or crashed (signal {number})").format(
                number=code
            ))  # fmt: skip
        else:
            said = self._errors.strip().splitlines()
            self.fail(
                said[-1].removeprefix("costlab: ") if said
                else _("its process ended with exit code {code}").format(code=code)
            )  # fmt: skip

    def fail(self, reason: str) -> None:
        """It could not be run, or did not do what it should."""
        self.reason = reason
        self._end(FAILED)

    def status(self) -> str:
        """One line without the title: how far, how long, how much longer."""
        if self.state == WAITING:
            return _("waiting for the job before it")
        if self.state == DONE:
            return _("done in {time}").format(time=_time(self.elapsed_s))
        if self.state in (FAILED, CANCELLED):
            how = self.reason if self.state == FAILED else _("cancelled")
            parts = [how, self.command.kept]
            return ". ".join(part.rstrip(".") for part in parts if part)
        if self.cancelling:
            return _("cancelling")
        return " · ".join(part for part in (self._count(), self._times()) if part)

    def _count(self) -> str:
        progress = self.progress
        if progress.done is not None and progress.points is not None:
            return _("{done} of {all} {unit}").format(
                done=progress.done, all=progress.points, unit=self.command.unit
            ).strip()  # fmt: skip
        if progress.share is not None:
            return format_percent(round(progress.share, 2))
        return progress.text

    def _times(self) -> str:
        times = [_time(self.elapsed_s)]
        if self.left_s is not None:
            times.append(_("about {time} left").format(time=_time(self.left_s)))
        return " · ".join(times)

    def report(self) -> str:
        """What a bug report needs: versions, platform, the command, how it ended, what it said."""
        words = ("costlab", *self.command.words)
        end = self.state if self.code is None else f"{self.state}, exit code {self.code}"
        parts = [
            f"CostLab {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"$ {shlex.join(words)}",
            f"{end}, {_time(self.elapsed_s)}",
            self.reason,
            self._errors.rstrip(),
        ]
        return "\n".join(part for part in parts if part) + "\n"

    def _end(self, state: str) -> None:
        self.state = state
        self._ended_s = self._clock()

    def _whole_lines(self, stream: str, data: bytes) -> list[str]:
        *whole, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in whole]


def child_words(program: tuple[str, ...], command: Command) -> list[str]:
    """The whole command line of a job's child."""
    return [*program, *command.words, *OPTIONS]


def this_program() -> tuple[str, ...]:
    """How CostLab is run; -P keeps files of the user's folder from standing in for modules."""
    return (sys.executable, "-P", "-m", "costlab")


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _time(seconds: float) -> str:
    """Text of a duration: whole seconds, but for those below ten."""
    return format_value(round(seconds, 1) if seconds < 10 else float(round(seconds)), "s")
