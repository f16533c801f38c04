"""Try a user's module in a child process first, so that one that hangs or crashes costs a line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

from costlab import errors
from costlab.errors import CostLabError, ModuleError
from costlab.i18n import _

TIMEOUT_S = 60.0
_START_TIMEOUT_S = 120.0
_ROOT = Path(__file__).resolve().parents[2]


def check_in_child(
    target: str,
    sizes: Mapping[str, int],
    timeout_s: float = TIMEOUT_S,
    *,
    mode: str = "forward",
    options: Mapping[str, bool] | None = None,
    dtype: str = "float32",
) -> None:
    """Build ``target`` and run one pass of ``mode`` in a child process.

    Call it before ``resolve``, which runs the user's file in this process.

    Args:
        target: ``FILE.py:FACTORY`` or ``hf:FILE.json``.
        sizes: sizes that must be these; the others are small ones of our choice, and a failure at
            sizes of our choice is no error (a size without default may have to divide another).
        timeout_s: wall time in seconds for import, factory and pass together, counted from the
            moment at which the child has loaded torch.
        mode: one of the source's modes.
        options: flags of the source.
        dtype: floating type of parameters and inputs.

    Raises:
        ModuleError: if it fails, crashes or takes longer; the child and its own children are gone.
        InputError: as ``resolve`` and ``Source.complete`` do.
    """
    job: dict[str, object] = {
        "target": target, "sizes": dict(sizes), "mode": mode, "options": dict(options or {}),
        "dtype": dtype,
    }  # fmt: skip
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "costlab.sources.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(),
            start_new_session=True,
        )
        try:
            _talk(process, job, timeout_s, log)
        finally:
            _end(process)


def _talk(
    process: subprocess.Popen[bytes], job: dict[str, object], timeout_s: float, log: IO[bytes]
) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    lines: Queue[bytes] = Queue()
    reader = Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
    shown = " ".join(filter(None, [str(job["target"]), _sizes_text(job["sizes"])]))
    for limit_s in (_START_TIMEOUT_S, timeout_s):
        try:
            line = lines.get(timeout=limit_s)
        except Empty:
            raise ModuleError(
                _("the module does not come to an end"),
                given=shown,
                allowed=_("{limit:g} s for its factory and one pass").format(limit=limit_s),
                advice=_("look for an endless loop, or give smaller sizes"),
            ) from None
        if not line:
            raise ModuleError(
                _("the module's process died ({cause})").format(cause=_cause(process, log)),
                given=shown,
            )
    answer = json.loads(line)
    if answer["error"]:
        raise _error(answer)


def _read(stream: IO[bytes], lines: Queue[bytes]) -> None:
    """Queue the stream's lines; an empty one marks its end."""
    for line in stream:
        lines.put(line)
    lines.put(b"")


def _error(answer: dict[str, str]) -> CostLabError:
    kinds: dict[str, type[CostLabError]] = {
        "InputError": errors.InputError,
        "UnknownNameError": errors.InputError,
        "SizeError": errors.SizeError,
    }
    kind = kinds.get(answer["error"], ModuleError)
    return kind(
        answer["message"],
        given=answer["given"],
        allowed=answer["allowed"],
        advice=answer["advice"],
    )


def _cause(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    """Exit code or signal of a dead child and the last line it wrote."""
    code = process.wait()
    cause = _("exit code {code}").format(code=code)
    if code < 0:
        with contextlib.suppress(ValueError):
            cause = signal.Signals(-code).name
    log.seek(0)
    said = log.read()[-4000:].decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    return f"{cause}: {last[:200]}" if last else cause


def _sizes_text(sizes: object) -> str:
    return " ".join(f"{k}={v}" for k, v in sizes.items()) if isinstance(sizes, dict) else ""


def _environment() -> dict[str, str]:
    """This process's environment, with CostLab importable and Hugging Face offline."""
    search = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(_ROOT), *([search] if search else [])])
    return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the child and whatever it started; release its pipes."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
