"""The child process of ``check_in_child``: one job on stdin, two JSON lines on stdout.

The first line says that torch is loaded, the second how the trial ended. What the user's code
prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch

from costlab.errors import CostLabError, ModuleError
from costlab.i18n import _
from costlab.sources.blame import blame
from costlab.sources.program import Program, prepare, program_from, run, upstream_gradients
from costlab.sources.resolve import resolve
from costlab.sources.source import Source

_TRIAL = {
    "b": 2, "n": 16, "m": 16, "d": 32, "h": 4, "k": 8, "g": 2, "f": 64, "w": 4, "c": 8, "L": 2,
}  # fmt: skip
_TRIAL_OTHER = 8


def main() -> None:
    """Read the job, try it, answer."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    print(json.dumps({"ready": True}), file=answers)
    try:
        _try(job)
    except CostLabError as error:
        answer = {
            "error": type(error).__name__, "message": error.message, "given": error.given,
            "allowed": error.allowed, "advice": error.advice,
        }  # fmt: skip
    else:
        answer = {"error": ""}
    print(json.dumps(answer), file=answers)
    answers.flush()
    # A user's non-daemon threads or atexit handlers must not keep the trial alive.
    os._exit(0)


def _try(job: dict[str, Any]) -> None:
    """Try small sizes; where they fail, the defaults decide, or later the derivation itself.

    What hangs or crashes does so at small sizes too, and what kind of thing a factory returns
    does not depend on them; but a size of our choice may be one the module does not allow.
    """
    source = resolve(job["target"])
    given: dict[str, int] = job["sizes"]
    source.check(given)
    trial = {name: _TRIAL.get(name, _TRIAL_OTHER) for name in source.symbols} | given
    try:
        result = source.build(job["mode"], trial, job["options"])
    except ModuleError as error:
        failure = error
    else:
        program = program_from(result, job["mode"])
        try:
            _pass(source, job, program, trial)
            return
        except ModuleError as error:
            failure = error
    full = {**source.defaults, **given}
    if trial == given:
        raise failure
    if full.keys() == trial.keys():
        _pass(source, job, source.program(job["mode"], full, job["options"]), full)


def _pass(source: Source, job: dict[str, Any], program: Program, sizes: dict[str, int]) -> None:
    mode = job["mode"]
    try:
        ready = prepare(program, mode, job["dtype"])
        run(ready, mode, upstream_gradients(ready) if mode == "train" else ())
    except CostLabError:
        raise
    except (Exception, SystemExit) as error:
        shown = " ".join(f"{name}={size}" for name, size in sizes.items())
        doing = _("one {mode} pass of {name} failed").format(mode=mode, name=source.name)
        raise blame(error, doing, source.file, shown) from error


if __name__ == "__main__":
    main()
