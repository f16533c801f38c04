"""Factories of programs whose costs are known by hand, for tests of measurement."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

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
