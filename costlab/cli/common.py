"""What commands share: the parser's behaviour, words and sizes, tables, JSON and cancelling."""

from __future__ import annotations

import argparse
import json
import os
import signal
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from costlab.errors import InputError
from costlab.i18n import _
from costlab.symbols import is_assignment, parse_sizes, single

MODES = (
    "forward", "train", "prefill", "decode", "optimizer", "optimizer-sgd", "optimizer-momentum",
    "optimizer-adafactor", "optimizer-adam8",
)  # fmt: skip
DTYPES = ("float64", "float32", "bfloat16", "float16")
BACKENDS = ("cpu", "cuda", "math")
SCOPES = ("layer", "core")

_FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}

_HELP_WIDTH = 96

Subparsers = Any  # argparse keeps the class of subparsers to itself


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=20, width=_HELP_WIDTH)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose ``--help`` keeps examples as written."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        options.setdefault("allow_abbrev", False)
        options["description"] = textwrap.fill(options.get("description") or "", _HELP_WIDTH)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say as bad input."""
        raise InputError(message, advice=_("see {prog} --help").format(prog=self.prog))


def add_command(
    subparsers: Subparsers,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    examples: Sequence[str],
    json: bool = True,
) -> Parser:
    """Add a command with what all have and, where it returns data, ``--json``."""
    title = _("example") if len(examples) == 1 else _("examples")
    parser: Parser = subparsers.add_parser(
        name,
        help=help,
        description=help[:1].upper() + help[1:] + ".",
        epilog=f"{title}:\n" + "\n".join(f"  {example}" for example in examples),
    )
    parser.set_defaults(run=run)
    parser.add_argument("--quiet", action="store_true", help=_("no progress on stderr"))
    parser.add_argument(
        "--progress",
        choices=("text", "json"),
        default="text",
        help=_("on stderr: text on a terminal (default), or JSON lines for a program"),
    )
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help=_("the end of stdin cancels: for a program that starts this one through a pipe"),
    )
    if json:
        parser.add_argument("--json", action="store_true", help=_("JSON on stdout"))
    return parser


def add_words(parser: Parser, metavar: str, help: str) -> None:
    """Add the words of a command: targets and ``name=value`` sizes in any order."""
    parser.add_argument("words", nargs="*", metavar=metavar, help=help)


def add_program(
    parser: Parser, *, dtype: bool = True, backend: bool = False, modes: Sequence[str] = MODES
) -> None:
    """Add the options that say which program of a module is meant."""
    parser.add_argument(
        "--mode", choices=modes, default="forward", help=_("which run (default: forward)")
    )
    if dtype:
        parser.add_argument(
            "--dtype", choices=DTYPES, default="float32", help=_("element type (default: float32)")
        )
    if backend:
        parser.add_argument(
            "--backend", choices=BACKENDS, default="cpu", help=_("whose operators (default: cpu)")
        )


def add_store(parser: Parser) -> None:
    """Add ``--store``, the file of runs."""
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FILE",
        help=_("file of runs (default: in $COSTLAB_HOME, else in the user's data folder)"),
    )


def add_settings(parser: Parser) -> None:
    """Add ``--set``, which fixes a size or a flag of the architecture."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=_("fix a size or a flag: h=8, causal=yes (may be repeated)"),
    )


def split_words(words: Iterable[str]) -> tuple[list[str], dict[str, tuple[int, ...]]]:
    """Separate targets from sizes.

    Raises:
        SizeError: if a size is not a positive integer, a list or a range of them.
    """
    words = list(words)
    targets = [word for word in words if not is_assignment(word)]
    return targets, parse_sizes(word for word in words if is_assignment(word))


def require_targets(targets: Sequence[str], least: int, most: int | None, what: str) -> None:
    """Raise ``InputError`` unless there are ``least`` to ``most`` targets."""
    if len(targets) < least or (most is not None and len(targets) > most):
        raise InputError(
            _("wrong number of targets"),
            given=" ".join(targets) or _("none"),
            allowed=what,
            advice=_("`costlab list` names the architectures"),
        )


def positive(text: str) -> int:
    """The positive integer of an option such as ``--threads``."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(_("{text!r} is no positive integer").format(text=text))
    return int(text)


def check_output(path: Path) -> None:
    """Raise ``InputError`` if ``path`` cannot be written, before the work for it is done."""
    folder = path.absolute().parent
    if path.is_dir():
        reason = _("it is a folder")
    elif not folder.is_dir():
        reason = _("there is no folder {folder}").format(folder=folder)
    elif not os.access(path if path.exists() else folder, os.W_OK):
        reason = _("no permission")
    else:
        return
    raise InputError(
        _("the output cannot be written"),
        given=f"{path}: {reason}",
        advice=_("give another file with -o"),
    )


def prepare_home() -> None:
    """Make the data folder, so that one that cannot be written fails before a long measurement.

    Raises:
        InputError: if it cannot be made or written.
    """
    from costlab.store import home

    folder = home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise InputError(
            _("the data folder cannot be written"),
            given=str(folder),
            advice=_("set COSTLAB_HOME to a folder of yours"),
        )


def parsed(parse: Callable[[str], Any], option: str, text: str) -> Any:
    """Return ``parse(text)``, its ``ValueError`` worded as bad input of ``option``."""
    try:
        return parse(text)
    except ValueError as error:
        raise InputError(
            _("cannot read {option}").format(option=option), given=str(error)
        ) from None


def print_json(data: object, *, indent: int | None = 2) -> None:
    """Print ``data`` as JSON, at once; exact fractions become numbers."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, default=_plain, allow_nan=False)
    print(text, flush=True)


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> str:
    """Text of aligned columns.

    Args:
        headers: titles of the columns.
        rows: the cells, as text.
        right: one character for each column, "r" for columns flushed right (numbers).
    """
    cells = [list(headers), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    sides = right.ljust(len(headers), "l")
    lines = [
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


@contextmanager
def cancellable() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question that answers True; the second one interrupts.

    Child processes are thus ended in order, and what is measured already is kept.
    """
    asked = False

    def ask(_signal: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, previous)


def parse_options(settings: Iterable[str]) -> tuple[dict[str, int], dict[str, bool]]:
    """Separate ``--set`` values into sizes (``h=8``) and flags (``causal=yes``).

    Raises:
        InputError: if a value is neither.
    """
    sizes: dict[str, int] = {}
    flags: dict[str, bool] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(_("--set takes name=value"), given=setting, allowed="h=8, causal=yes")
        if text.lower() in _FLAGS:
            flags[name] = _FLAGS[text.lower()]
        elif not text[:1].isdigit():
            raise InputError(
                _("--set takes a size or a flag"),
                given=setting,
                allowed=_("a positive integer, or yes, no"),
            )
        else:
            sizes |= single(parse_sizes([setting]))
    return sizes, flags
