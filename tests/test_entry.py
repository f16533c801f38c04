"""Ctrl-C at any moment of a command: one line, exit code 130, no process left behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CODE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from costlab.__main__ import main
sys.argv = ["costlab", "profile", "lstm", "n=3", "d=8", "--store", {store!r}]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    [
        "costlab.cli",
        "costlab.errors",
        "costlab.cli.derive",
        "costlab.cli.profile",
        "costlab.store",
        "costlab.sweep.run",
        "costlab.measurement.api",
        "sqlite3",
    ],
)
def test_ctrl_c_while_a_command_is_imported_is_one_line(
    module: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = str(tmp_path_factory.mktemp("store") / "runs.sqlite")

    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(module=module, store=store)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "costlab: cancelled\n")
