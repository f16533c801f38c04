"""Trials in a real child process: hangs are killed, crashes are named, failures are one line."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from costlab.errors import InputError, ModuleError
from costlab.sources.check import check_in_child

FILE = """
import os, subprocess, sys, time
import torch
from torch import nn

print("noise on stdout")

def good(*, b=1, n, d, h):
    assert d % h == 0
    return nn.Linear(d, d), (torch.randn(b, n, d),)

def forever(*, n=3):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.path.join(os.path.dirname(__file__), "pid"), "w") as file:
        file.write(str(child.pid))
    while True:
        time.sleep(0.01)

class Slow(nn.Module):
    def forward(self, x):
        while True:
            time.sleep(0.01)

def slow_pass(*, n=3):
    return Slow(), (torch.ones(n),)

def crash(*, n=3):
    print("about to abort", file=sys.stderr)
    os.abort()

def wrong_shapes(*, n=3):
    return nn.Linear(n, n), (torch.ones(n, n + 1),)

def picky(*, n):
    assert n % 7 == 0, "seven"
    return nn.Linear(n, n), (torch.ones(n, n),)

def returns_module(*, n):
    return nn.Linear(n, n)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trial") / "mine.py"
    file.write_text(FILE)
    return file


def test_a_good_module_passes_in_every_mode_it_has(path: Path) -> None:
    check_in_child(f"{path}:good", {"n": 5}, 30, mode="train", dtype="bfloat16")


def test_an_endless_factory_is_ended_with_its_children(path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ModuleError, match=r"come to an end.*1 s for its factory") as caught:
        check_in_child(f"{path}:forever", {}, 1.0)
    assert time.monotonic() - started < 60
    assert "\n" not in str(caught.value)
    pid = int((path.parent / "pid").read_text())
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the factory's own child still runs"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("factory", "sizes", "said"),
    [
        ("slow_pass", {}, "come to an end"),
        ("crash", {}, "SIGABRT: about to abort"),
        ("wrong_shapes", {"n": 5}, "cannot be multiplied"),
        ("picky", {"n": 8}, "AssertionError: seven at "),
    ],
)
def test_a_bad_module_is_one_line(
    path: Path, factory: str, sizes: dict[str, int], said: str
) -> None:
    with pytest.raises(ModuleError) as caught:
        check_in_child(f"{path}:{factory}", sizes, 1.5)
    assert said in str(caught.value)
    assert factory in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_size_of_our_choice_that_is_refused_is_no_error(path: Path) -> None:
    check_in_child(f"{path}:picky", {}, 30)


def test_what_a_factory_returns_is_wrong_at_any_size(path: Path) -> None:
    with pytest.raises(ModuleError, match="given: Linear; allowed: "):
        check_in_child(f"{path}:returns_module", {}, 30)


def test_names_are_checked_in_the_child_too(path: Path) -> None:
    with pytest.raises(InputError, match="did you mean good"):
        check_in_child(f"{path}:god", {}, 30)
