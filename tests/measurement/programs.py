"""Factories of programs whose costs are known by hand, for tests of measurement."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

Factory = tuple[Callable[..., object], tuple[torch.Tensor, ...]]


def two_tensors(n: int, d: int = 7) -> Factory:
    """Keeps (n, d) input and two (n, n) results alive at once."""

    def call(x: torch.Tensor) -> torch.Tensor:
        y = x @ x.T
        return torch.exp(y)

    return call, (torch.randn(n, d),)


def square(n: int) -> Factory:
    """In training: the saved input, its output, the upstream gradient and two of the backward."""
    return torch.exp, (torch.randn(n),)


def sleeper(n: int) -> Factory:
    """Hangs in a call that a Python signal handler could not interrupt soon."""

    def call(x: torch.Tensor) -> torch.Tensor:
        time.sleep(600)
        return x

    return call, (torch.randn(n),)


def parent_of_sleeper(n: int) -> Factory:
    """Starts a process of its own that would outlive it, writes its pid, then hangs."""

    def call(x: torch.Tensor) -> torch.Tensor:
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        with open(os.environ["CHILD_PID_FILE"], "w") as file:
            file.write(str(pid))
        time.sleep(600)
        return x

    return call, (torch.randn(n),)


def hungry(n: int) -> Factory:
    """Asks for a petabyte."""

    def call(x: torch.Tensor) -> torch.Tensor:
        return torch.empty(n * 10**15, dtype=torch.uint8)

    return call, (torch.randn(n),)


def killed(n: int) -> Factory:
    """Dies as the kernel's out-of-memory killer would end it."""

    def call(x: torch.Tensor) -> torch.Tensor:
        os.kill(os.getpid(), signal.SIGKILL)
        return x

    return call, (torch.randn(n),)


def quitter(n: int) -> Factory:
    """Leaves the interpreter."""

    def call(x: torch.Tensor) -> torch.Tensor:
        sys.exit(3)

    return call, (torch.randn(n),)


def raiser(n: int) -> Factory:
    """Raises in its pass."""

    def call(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no such luck")

    return call, (torch.randn(n),)


def chatty(n: int) -> Factory:
    """Prints to stdout what looks like the protocol."""

    def call(x: torch.Tensor) -> torch.Tensor:
        print('{"kind": "timing"}', flush=True)
        return x + 1

    return call, (torch.randn(n),)


def not_a_number(n: int) -> Factory:
    """Returns NaN."""
    return torch.log, (-torch.ones(n),)


def logs_its_process(n: int) -> Factory:
    """Notes its process and whether a profiler is on, once for each state."""
    seen: set[bool] = set()

    def call(x: torch.Tensor) -> torch.Tensor:
        on = torch.autograd._profiler_enabled()  # type: ignore[attr-defined]
        if on not in seen:
            seen.add(on)
            _note("logs_its_process", f"{os.getpid()}:{'on' if on else 'off'}")
        return x + 1

    return call, (torch.randn(n),)


def logs_and_dies(n: int) -> Factory:
    """Notes its process and leaves it."""

    def call(x: torch.Tensor) -> torch.Tensor:
        _note("logs_and_dies", str(os.getpid()))
        os._exit(9)

    return call, (torch.randn(n),)


def _note(name: str, line: str) -> None:
    with open(os.path.join(os.environ["NOTE_FOLDER"], name), "a") as file:
        file.write(line + "\n")


def stuck_in_c(n: int) -> Factory:
    """Writes its pid, asks for a word before it is ended, and computes a hash for hours."""

    def call(x: torch.Tensor) -> torch.Tensor:
        signal.signal(signal.SIGTERM, lambda *_: None)
        _note("stuck_in_c", str(os.getpid()))
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
        return x

    return call, (torch.randn(n),)


def limited(n: int) -> Factory:
    """Asks for ``n`` MiB more than its address space may grow by."""

    def call(x: torch.Tensor) -> torch.Tensor:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 2**20, resource.RLIM_INFINITY))
        return torch.empty(n * 2**20, dtype=torch.uint8)

    return call, (torch.randn(n),)


def says_its_pid_and_sleeps(n: int) -> Factory:
    """Writes its pid and its server's, then hangs."""

    def call(x: torch.Tensor) -> torch.Tensor:
        _note("says_its_pid_and_sleeps", f"{os.getpid()} {os.getppid()}")
        time.sleep(600)
        return x

    return call, (torch.randn(n),)
