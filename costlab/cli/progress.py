"""How far a command is: one line on a terminal, or JSON lines for a program that started it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TextIO, Union

Fact = Union[int, float, str, None]


class Progress:
    """Progress on stderr. As text it is one line that rewrites itself, and only on a terminal.

    Args:
        quiet: say nothing at all.
        stream: where to, instead of stderr.
        lines: a JSON line for each step, terminal or not: ``{"kind": "progress", "text": ..}``
            with the facts of the step.
    """

    def __init__(
        self, quiet: bool = False, stream: TextIO | None = None, *, lines: bool = False
    ) -> None:
        self._stream = stream or sys.stderr
        self._lines = lines and not quiet
        self._enabled = not quiet and not lines and self._stream.isatty()
        self._width = 0

    def __call__(self, text: str, **facts: Fact) -> None:
        """Show ``text`` in place of what was shown before; ``facts`` go into the JSON line."""
        if self._lines:
            line = json.dumps({"kind": "progress", "text": text, **facts}, ensure_ascii=False)
            self._stream.write(line + "\n")
            self._stream.flush()
        if self._enabled:
            text = text[:100]
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._enabled and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def progress_of(args: argparse.Namespace) -> Progress:
    """Progress as the options ``--quiet`` and ``--progress`` of a command want it."""
    return Progress(args.quiet, lines=args.progress == "json")
