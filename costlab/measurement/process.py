"""Starts worker processes, reads their messages, and ends them when time is up. No torch.

Only the parent can enforce a time-out: a signal to the worker waits until the operator that runs
returns. So a worker leads a process group of its own, and the whole group is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import psutil

from costlab.devices.limits import cgroup_limits

_ROOT = Path(__file__).parents[2]
GRACE_S = 0.5
"""How long a process that is to end may take to do so by itself."""

_POLL_S = 0.1
_WAIT_S = 0.01
# A kernel that kills for memory does so before a process holds all that was free.
_NEAR_LIMIT = 0.8
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a worker ended: ``status`` "ok" with its last message, or what went wrong and why."""

    status: str
    message: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


class Workers(Protocol):
    """Something that runs one request in one fresh process."""

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome: ...


class Child:
    """A process that talks JSON lines, in a session and process group of its own."""

    def __init__(self, module: str, threads: int) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            # -P keeps the user's folder, and files there named like modules, off the path.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            start_new_session=True,
            env=_environment(threads),
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed while reading
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def send(self, request: Mapping[str, Any]) -> None:
        """Write one request; a child that has died is noticed when its answer is read."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def receive(self, deadline: float, cancelled: Cancelled | None) -> Mapping[str, Any] | None:
        """The next message; None at the end of the stream.

        Raises:
            TimeoutError: when ``deadline`` (of ``time.monotonic``) has passed.
            InterruptedError: when ``cancelled`` says so.
        """
        while True:
            if cancelled is not None and cancelled():
                raise InterruptedError
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                line = self._lines.get(timeout=left if cancelled is None else min(left, _POLL_S))
            except queue.Empty:
                continue
            if line is None:
                return None
            with contextlib.suppress(json.JSONDecodeError):  # a line torn by the child's death
                message = json.loads(line)
                if isinstance(message, dict):
                    return message

    def wait(self, deadline: float) -> tuple[int, int | None]:
        """Exit code (minus the signal's number for a killed process), largest resident size.

        Raises:
            TimeoutError: if the child has closed its output but lives on at ``deadline``.
        """
        while hasattr(os, "wait4"):
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._process.returncode = os.waitstatus_to_exitcode(status)
                return self._process.returncode, peak_of(usage)
            if time.monotonic() >= deadline:
                raise TimeoutError
            time.sleep(_WAIT_S)
        try:
            return self._process.wait(deadline - time.monotonic()), None
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def complaint(self) -> str:
        """The last line the child wrote to stderr."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:500] if lines else ""

    def close(self) -> None:
        """Kill what is left of the group and release pipes and files."""
        kill_group(self.pid, lambda: self._process.poll() is not None)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._stderr.close()


class SpawnedWorkers:
    """Starts a new interpreter for each request: slow (it imports torch) but without a history."""

    def __init__(self, threads: int, module: str = "costlab.measurement.worker") -> None:
        self._threads = threads
        self._module = module

    def __enter__(self) -> SpawnedWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Nothing outlives a request."""

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        """Run one request in its own process; see :class:`Outcome`."""
        memory = memory_state()
        child = Child(self._module, self._threads)
        try:
            child.send({**request, "parent": os.getpid()})
            deadline = time.monotonic() + timeout_s
            message = child.receive(deadline, cancelled)
            if message is not None:
                return outcome_of(message)
            code, peak_bytes = child.wait(deadline)
            return death(code, child.complaint(), memory, peak_bytes)
        except TimeoutError:
            return timed_out(timeout_s)
        except InterruptedError:
            return Outcome("cancelled", reason="cancelled")
        finally:
            child.close()


def peak_of(usage: Any) -> int:
    """Bytes of a ``resource.struct_rusage``'s largest resident size."""
    return int(usage.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def outcome_of(message: Mapping[str, Any]) -> Outcome:
    """Read a worker's answer."""
    if message["kind"] == "failed":
        return Outcome(message["status"], message, message["reason"])
    if message["kind"] == "rejected":
        return Outcome("rejected", message, message["message"])
    return Outcome("ok", message)


def timed_out(timeout_s: float) -> Outcome:
    return Outcome("timeout", reason=f"no result within {timeout_s:.3g} s; the process was killed")


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What was known about memory before a worker started; None where it is not known.

    ``kills`` is how many processes the kernel has killed for memory, ``available_bytes`` what
    was left of the system's memory and of the control group's limit.
    """

    kills: int | None
    available_bytes: int | None


def memory_state() -> MemoryState:
    """The state now."""
    available = psutil.virtual_memory().available
    limit = cgroup_limits().memory_bytes
    return MemoryState(oom_kills(), available if limit is None else min(available, limit))


def death(code: int, complaint: str, before: MemoryState, peak_bytes: int | None = None) -> Outcome:
    """Why a process that sent no answer ended.

    A kill is "oom_suspected" if the kernel killed for memory meanwhile, or if the process had
    taken most of what there was; nobody can tell more from outside.

    Args:
        code: exit code, minus the signal's number for a killed process.
        complaint: the last it wrote to stderr.
        before: memory before it started.
        peak_bytes: its largest resident size; None if unknown.
    """
    if code != -signal.SIGKILL:
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return Outcome("crash", reason=f"the process died: {how}; {complaint}".rstrip("; "))
    kills = oom_kills()
    if before.kills is not None and kills is not None and kills > before.kills:
        return Outcome("oom_suspected", reason="killed while the system ran out of memory")
    if peak_bytes is None or before.available_bytes is None:
        return Outcome("oom_suspected", reason="killed by SIGKILL; its memory is not known")
    share = peak_bytes / before.available_bytes
    held = f"it held {share:.0%} of the memory that was free"
    if share >= _NEAR_LIMIT:
        return Outcome("oom_suspected", reason=f"killed by SIGKILL; {held}")
    return Outcome("crash", reason=f"killed by SIGKILL from outside; {held}")


def oom_kills(vmstat: Path = Path("/proc/vmstat")) -> int | None:
    """How many processes the kernel has killed for memory since it started; None if unknown."""
    try:
        text = vmstat.read_text()
    except OSError:
        return None
    counts = dict(line.split() for line in text.splitlines())
    return int(counts["oom_kill"]) if "oom_kill" in counts else None


def kill_group(pid: int, gone: Callable[[], bool]) -> None:
    """End the process group led by ``pid``: ask, wait shortly, then kill.

    The group may outlive its leader, so the kill is sent in any case.
    """
    if not hasattr(os, "killpg"):
        if not gone():
            os.kill(pid, signal.SIGTERM)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
        end = time.monotonic() + GRACE_S
        while not gone() and time.monotonic() < end:
            time.sleep(_WAIT_S)
        os.killpg(pid, signal.SIGKILL)


def _environment(threads: int) -> dict[str, str]:
    """The parent's variables with the thread count set and this CostLab importable."""
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
