"""One clear line for an exception in a user's code: what failed, why, and at which line."""

from __future__ import annotations

import traceback
from pathlib import Path

from costlab.errors import ModuleError
from costlab.i18n import _

_LONGEST = 240
_OURS = Path(__file__).resolve().parents[1]


def blame(
    error: BaseException, doing: str, file: Path | None = None, given: str = ""
) -> ModuleError:
    """Make a ``ModuleError`` that names the user's line.

    Args:
        error: what was raised.
        doing: what failed, in words ("the factory of x.py:f failed").
        file: the user's file; its deepest line on the stack is named. Without it, the deepest
            line of a module, which is neither torch's nor of CostLab's machinery.
        given: the sizes it was called with, or other input.
    """
    return ModuleError(f"{doing}: {summary(error)}{_where(error, file)}", given=given)


def summary(error: BaseException) -> str:
    """The exception's type and its message on one line, cut at a sensible length."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _where(error: BaseException, file: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return _at(error.filename, error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    if file is not None:
        folder = file.resolve().parent
        own = [f for f in frames if Path(f.filename).resolve() == file.resolve()]
        near = [f for f in frames if Path(f.filename).resolve().parent == folder]
        frames = traceback.StackSummary.from_list(own or near)
    else:
        modules = [f for f in frames if not _is_machinery(Path(f.filename))]
        frames = traceback.StackSummary.from_list(modules or frames)
    return _at(frames[-1].filename, frames[-1].lineno) if frames else ""


def _is_machinery(path: Path) -> bool:
    ours = _OURS in path.parents and _OURS / "arch" not in path.parents
    return ours or "torch" in path.parts


def _at(filename: str, line: int | None) -> str:
    return " " + _("at {place}").format(place=f"{filename}:{line}")
