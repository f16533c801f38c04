"""The child process of one job, run by Qt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

import costlab
from costlab.i18n import _
from costlab_gui.jobs.process_tree import kill_tree
from costlab_gui.model.jobs import WAITING, Command, Job, child_words

GRACE_MS = 12_000
"""How long a cancel may take: the command itself gives up after 10 s."""


class JobProcess(QObject):
    """Runs a command; ``job`` has its state.

    Cancelling closes the child's stdin, which it takes as a Ctrl-C on every platform. That is
    also what the system does when the app dies.

    Signals:
        changed: its state or progress is new, or a second has passed.
        heard: a JSON line of stdout (dict).
        ended: it has ended, in whatever way; comes once.
    """

    changed = Signal()
    heard = Signal(object)
    ended = Signal()

    def __init__(
        self,
        command: Command,
        program: tuple[str, ...],
        parent: QObject | None = None,
        grace_ms: int = GRACE_MS,
    ) -> None:
        super().__init__(parent)
        self.job = Job(command)
        self._program = program
        self._process = QProcess(self)
        self._process.setProcessEnvironment(_environment())
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._fail)
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self.changed)
        self._grace = QTimer(self)
        self._grace.setSingleShot(True)
        self._grace.setInterval(grace_ms)
        self._grace.timeout.connect(self.kill)

    @property
    def pid(self) -> int:
        """Of the child; 0 when there is none."""
        return self._process.processId()

    def start(self) -> None:
        """Start the child."""
        self.job.start()
        program, *words = child_words(self._program, self.job.command)
        self._process.start(program, words)
        self._second.start()
        self.changed.emit()

    def cancel(self) -> None:
        """Ask the child to end in order; after a grace period it is killed with its tree."""
        if self.job.ended or self.job.cancelling:
            return
        waiting = self.job.state == WAITING
        self.job.cancel()
        if waiting:
            self.ended.emit()
        else:
            self._process.closeWriteChannel()
            self._grace.start()
        self.changed.emit()

    def kill(self) -> None:
        """End the child and all that it started, now."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            kill_tree(self.pid)

    def wait(self, ms: int) -> bool:
        """Wait for the end, in the exit of the app only; whether it has come."""
        return (
            self._process.state() == QProcess.ProcessState.NotRunning
            or self._process.waitForFinished(ms)
        )

    def _read(self) -> None:
        for line in self.job.hear(bytes(self._process.readAllStandardOutput().data())):
            self.heard.emit(line)

    def _read_errors(self) -> None:
        if self.job.hear_errors(bytes(self._process.readAllStandardError().data())):
            self.changed.emit()

    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        self._grace.stop()
        self._second.stop()
        self._read()
        self._read_errors()
        known = len(self.job.lines)
        self.job.end(code, crashed=status == QProcess.ExitStatus.CrashExit)
        self._tell(self.job.lines[known:])

    def _fail(self, error: QProcess.ProcessError) -> None:
        # Every other error also ends in `finished`.
        if error == QProcess.ProcessError.FailedToStart:
            self._second.stop()
            self.job.fail(_("could not be started: {why}").format(why=self._process.errorString()))
            self._tell([])

    def _tell(self, lines: list[Mapping[str, Any]]) -> None:
        for line in lines:
            self.heard.emit(line)
        self.changed.emit()
        self.ended.emit()


def _environment() -> QProcessEnvironment:
    """The app's variables with this CostLab importable and output in UTF-8."""
    found = QProcessEnvironment.systemEnvironment()
    root = str(Path(costlab.__file__).parents[1])
    paths = filter(None, (root, os.environ.get("PYTHONPATH", "")))
    found.insert("PYTHONPATH", os.pathsep.join(paths))
    found.insert("PYTHONIOENCODING", "utf-8")
    return found
