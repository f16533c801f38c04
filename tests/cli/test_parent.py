"""Commands that end with the program that started them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

from costlab.store import Store

_ENDLESS = "import torch\n\n\ndef build(n=4):\n    return slow, (torch.ones(n),)\n" + (
    "\n\ndef slow(x):\n    while True:\n        pass\n"
)
# A program that starts a command through a pipe and then waits for ever.
_STARTER = """
import subprocess, sys
command = subprocess.Popen([sys.executable, "-m", "costlab", *sys.argv[1:]], stdin=subprocess.PIPE)
print(command.pid, flush=True)
command.wait()
"""


def _words(folder: Path, target: str) -> list[str]:
    """A sweep of two points without the resident pass, which takes longest."""
    sweep = folder / "sweep.toml"
    sweep.write_text(
        f"targets = [{target!r}]\nrepeats = 3\nresident = false\n[sizes]\nn = '32,33'\n",
        encoding="utf-8",
    )
    return [
        "profile", str(sweep), "--json", "--progress", "json", "--until-stdin-ends", "--store",
        str(folder / "runs.sqlite"),
    ]  # fmt: skip


def test_the_end_of_stdin_cancels_and_keeps_what_is_measured(tmp_path: Path) -> None:
    module = tmp_path / "endless.py"
    module.write_text(_ENDLESS)
    command = subprocess.Popen(
        [sys.executable, "-m", "costlab", *_words(tmp_path, f"{module}:build")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr is not None and command.stdin is not None
    first = json.loads(command.stderr.readline())
    assert first["kind"] == "progress" and first["points"] == 2
    command.stdin.close()
    command.stdin = None
    out, _err = command.communicate(timeout=60)

    assert command.returncode == 130
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("status") for line in lines] == ["cancelled", None]


def test_a_killed_starter_leaves_no_process_and_every_finished_point(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER, *_words(tmp_path, "full_attention")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert starter.stdout is not None
    command = psutil.Process(int(starter.stdout.readline()))
    point = json.loads(starter.stdout.readline())
    family = [command, *command.children(recursive=True)]
    os.kill(starter.pid, 9)
    starter.wait()
    starter.stdout.close()
    _gone, alive = psutil.wait_procs(family, timeout=30)

    assert len(family) > 1
    assert alive == []
    with Store(path, read_only=True) as store:
        kept = [one["point"] for one in store.points(store.runs()[-1].run)]
    assert point["point"] in kept
