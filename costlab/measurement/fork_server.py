"""Fresh processes without the wait: a server that has imported torch and run nothing forks them.

``python -m costlab.measurement.fork_server`` reads requests on stdin and forks a worker for each,
one at a time. Linux only, and not for CUDA, whose context must not exist before a fork.
:class:`ForkedWorkers` is its other end, in the parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn

from costlab.measurement.process import (
    Cancelled,
    Child,
    Outcome,
    death,
    kill_group,
    memory_state,
    outcome_of,
    peak_of,
    timed_out,
)
from costlab.measurement.worker import die_with_parent, serve

_START_S = 120.0
_CONFIRM_S = 5.0


def available() -> bool:
    """Whether this system can fork a process that has loaded torch."""
    return sys.platform == "linux"


class ForkedWorkers:
    """Runs each request in a process forked from one server. Use as a context manager.

    The server dies with the thread that started it, so one object belongs to one thread.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._server: Child | None = None

    def __enter__(self) -> ForkedWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _start(self, cancelled: Cancelled | None) -> Child | None:
        """The server, started if need be; None if it died at that."""
        if self._server is None:
            self._server = Child("costlab.measurement.fork_server", self._threads)
            self._server.send({"parent": os.getpid()})
            if self._server.receive(time.monotonic() + _START_S, cancelled) is None:
                return None
        return self._server

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        """Run one request in its own process; see :class:`~.process.Outcome`."""
        memory = memory_state()
        worker = 0
        try:
            server = self._start(cancelled)
            if server is None:
                return self._died()
            server.send(request)
            deadline = time.monotonic() + timeout_s
            answer: Outcome | None = None
            while True:
                message = server.receive(deadline, cancelled)
                if message is None:
                    return self._died()
                if message["kind"] == "forked":
                    worker = message["pid"]
                elif message["kind"] == "exited":
                    return answer or death(
                        message["code"], server.complaint(), memory, message["peak_bytes"]
                    )
                else:
                    answer = outcome_of(message)
        except TimeoutError:
            self._abandon(worker)
            return timed_out(timeout_s)
        except InterruptedError:
            self._abandon(worker)
            return Outcome("cancelled", reason="cancelled")
        except BaseException:
            self._abandon(worker)
            raise

    def _died(self) -> Outcome:
        complaint = self._server.complaint() if self._server is not None else ""
        self._stop()
        return Outcome("crash", reason=f"the fork server died: {complaint}".rstrip(": "))

    def _abandon(self, worker: int) -> None:
        """End the worker's group; stop the server too unless it confirms that in time."""
        if worker and self._server is not None:
            kill_group(worker, lambda: not _exists(worker))
            deadline = time.monotonic() + _CONFIRM_S
            with contextlib.suppress(TimeoutError):
                while message := self._server.receive(deadline, None):
                    if message["kind"] == "exited":
                        return
        self._stop()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Serve until stdin ends."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    die_with_parent(json.loads(sys.stdin.readline())["parent"])
    # The heavy imports, once and not in every fork.
    from costlab.measurement.preload import preload

    preload()
    _send(protocol, {"kind": "ready"})
    for line in sys.stdin:
        request = json.loads(line)
        preload(request.get("spec", {}).get("mode", ""))
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            _work(protocol, request, server)
        _pid, status, usage = os.wait4(pid, 0)
        _send(protocol, {
            "kind": "exited", "code": os.waitstatus_to_exitcode(status),
            "peak_bytes": peak_of(usage),
        })  # fmt: skip


def _work(protocol: int, request: Mapping[str, Any], server: int) -> NoReturn:
    os.setsid()
    die_with_parent(server)
    # What the module reads must not come out of the server's queue of requests.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 1
    try:
        _send(protocol, {"kind": "forked", "pid": os.getpid()})
        serve(request, lambda message: _send(protocol, message))
        code = 0
    finally:
        # Skips the interpreter's shutdown, which would run the server's exit handlers.
        os._exit(code)


def _send(protocol: int, message: Mapping[str, Any]) -> None:
    # The server is silent while a worker lives, so lines of two processes never mix.
    os.write(protocol, (json.dumps(message) + "\n").encode())


if __name__ == "__main__":
    main()
