"""Entry point of ``costlab`` and ``python -m costlab``: parse, run one command, word errors.

Exit codes: 0 done, 1 done but a check failed, 2 bad input, 130 cancelled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from costlab import __version__
from costlab.cli import (
    calibrate,
    claims,
    compare,
    crossover,
    demo,
    derive,
    diff,
    doctor,
    export,
    gui,
    import_run,
    list,
    map,
    monitor,
    plan,
    predict,
    profile,
    report,
    runs,
    structure,
)
from costlab.cli.common import Parser
from costlab.cli.parent import cancel_when_stdin_ends
from costlab.errors import CostLabError, InputError
from costlab.i18n import _

COMMANDS = (
    demo,
    list,
    structure,
    claims,
    derive,
    diff,
    predict,
    crossover,
    map,
    plan,
    calibrate,
    profile,
    compare,
    report,
    runs,
    export,
    import_run,
    monitor,
    doctor,
    gui,
)
"""The commands in the order in which ``--help`` names them."""

DONE, BAD_INPUT, CANCELLED = 0, 2, 130


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="costlab",
        description=_(
            "What a sequence architecture costs: formulas derived from its PyTorch code, a "
            "prediction for a machine, and a measurement on it."
        ),
        epilog=_("example:\n  costlab derive full_attention --mode train"),
    )
    parser.add_argument("--version", action="version", version=f"costlab {__version__}")
    subparsers = parser.add_subparsers(metavar=_("COMMAND"), required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: that of the process) and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A console that lacks a sign of ours must not end the command.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    try:
        args, rest = build_parser().parse_known_args(argv)
        _take_words(args, rest)
        if args.until_stdin_ends:
            cancel_when_stdin_ends()
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except CostLabError as error:
        return _fail(str(error))
    except SystemExit as leave:  # argparse, after --help and --version
        return leave.code if isinstance(leave.code, int) else DONE
    except KeyboardInterrupt:
        print(_("costlab: cancelled"), file=sys.stderr)
        return CANCELLED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing more can be written, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        reason = error.strerror or str(error)
        return _fail(f"{reason}: {error.filename}" if error.filename else reason)


def _take_words(args: object, rest: Sequence[str]) -> None:
    """Add words that stood behind an option to the command's words; refuse unknown options."""
    words = getattr(args, "words", None)
    for word in rest:
        if word.startswith("-") or words is None:
            raise InputError(
                _("unknown argument"), given=word, advice=_("--help lists what there is")
            )
        words.append(word)


def _fail(text: str) -> int:
    print("costlab: " + " ".join(text.split()), file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
