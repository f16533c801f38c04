"""All jobs of the app: those that measure run one after the other, the others at once."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Signal

from costlab_gui.jobs.job_process import GRACE_MS, JobProcess
from costlab_gui.model.jobs import RUNNING, WAITING, Command, this_program

_EXIT_S = 3.0
_KEPT = 50


class JobList(QObject):
    """Starts jobs and keeps them, oldest first.

    Args:
        parent: owner.
        program: what runs the words of a command; None: CostLab's command line.
        grace_ms: how long a cancel may take before the child is killed.

    Signals:
        added: a job (JobProcess) came.
        changed: state or progress of a job (JobProcess) is new.
        ended: a job (JobProcess) has ended.
    """

    added = Signal(object)
    changed = Signal(object)
    ended = Signal(object)

    def __init__(
        self,
        parent: QObject | None = None,
        program: tuple[str, ...] | None = None,
        grace_ms: int = GRACE_MS,
    ) -> None:
        super().__init__(parent)
        self._program = program or this_program()
        self._grace_ms = grace_ms
        self._jobs: list[JobProcess] = []

    @property
    def all(self) -> tuple[JobProcess, ...]:
        return tuple(self._jobs)

    @property
    def active(self) -> tuple[JobProcess, ...]:
        """Those that run or wait."""
        return tuple(one for one in self._jobs if not one.job.ended)

    def start(self, command: Command, program: tuple[str, ...] | None = None) -> JobProcess:
        """Run ``command`` now, or when the one that measures before it has ended.

        Args:
            command: what to run.
            program: what runs its words instead of CostLab's command line.
        """
        process = JobProcess(command, program or self._program, self, self._grace_ms)
        process.changed.connect(lambda: self.changed.emit(process))
        process.ended.connect(lambda: self._end(process))
        self._jobs.append(process)
        self._forget_old()
        self.added.emit(process)
        self._start_next()
        return process

    def end_all(self) -> None:
        """End every child with its tree. The app calls this when it exits; it may take 3 s."""
        for process in reversed(self.active):
            process.cancel()
        end = time.monotonic() + _EXIT_S
        for process in self.active:
            if not process.wait(max(int(1000 * (end - time.monotonic())), 1)):
                process.kill()
                process.wait(1000)

    def _start_next(self) -> None:
        busy = any(one.job.command.alone and one.job.state == RUNNING for one in self._jobs)
        for process in self._jobs:
            if process.job.state != WAITING or (process.job.command.alone and busy):
                continue
            busy = busy or process.job.command.alone
            process.start()

    def _end(self, process: JobProcess) -> None:
        self.ended.emit(process)
        self._start_next()

    def _forget_old(self) -> None:
        over = [one for one in self._jobs if one.job.ended][: max(len(self._jobs) - _KEPT, 0)]
        for process in over:
            self._jobs.remove(process)
            process.deleteLater()
