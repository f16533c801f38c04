"""The child process that derives the formulas of a user's module; it alone runs the user's code.

Its words are target, mode, dtype, backend, the SHA-256 of the file that was agreed to, and the
flags that are on. It answers with one JSON line on stdout.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import traceback
from importlib import import_module
from typing import Any

from costlab.cli.parent import cancel_when_stdin_ends
from costlab.cli.programs import load_program
from costlab.cli.progress import Progress
from costlab.errors import CostLabError, InputError
from costlab.formulas.store import pack
from costlab.i18n import _
from costlab_gui.model.opened import as_line, fingerprint, path_of

_DONE, _FAILED, _CANCELLED = 0, 1, 130


def main() -> int:
    """Derive, answer, and return the exit code."""
    parser = argparse.ArgumentParser()
    for name in ("target", "mode", "dtype", "backend", "sha256"):
        parser.add_argument(name)
    parser.add_argument("flags", nargs="*")
    parser.add_argument("--progress", choices=("json",))
    parser.add_argument("--until-stdin-ends", action="store_true")
    args = parser.parse_args()
    if args.until_stdin_ends:
        cancel_when_stdin_ends()
    progress = Progress(lines=args.progress == "json")
    answer: dict[str, Any]
    try:
        answer = {"kind": "derived", "derivation": _derive(args, progress)}
    except CostLabError as error:
        print(f"costlab: {error}", file=sys.stderr)
        answer = as_line(error, _details(error))
    except KeyboardInterrupt:
        return _CANCELLED
    print(json.dumps(answer), flush=True)
    return _DONE if answer["kind"] == "derived" else _FAILED


def _derive(args: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    if fingerprint(path_of(args.target)) != args.sha256:
        raise InputError(
            _("the file has changed since it was agreed to run it"),
            given=str(path_of(args.target)),
        )
    progress(_("trying the module in a process of its own"))
    # While the trial runs, what the derivation needs is loaded.
    threading.Thread(target=import_module, args=("costlab.derivation.work",), daemon=True).start()
    derivation = load_program(
        args.target, args.mode, args.dtype, args.backend,
        flags=dict.fromkeys(args.flags, True), progress=progress,
    )  # fmt: skip
    return pack(derivation)


def _details(error: CostLabError) -> str:
    """The traceback of what the user's code raised; "" where there is none."""
    cause = error.__cause__
    return "" if cause is None else "".join(traceback.format_exception(cause))


if __name__ == "__main__":
    sys.exit(main())
