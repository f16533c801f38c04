"""``costlab report``: one record as a file in one of many formats."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_store,
    add_words,
    check_output,
    parse_options,
    require_targets,
    split_words,
)
from costlab.cli.joined import compare_stored
from costlab.cli.predict import add_machine, predict_words
from costlab.cli.progress import progress_of
from costlab.errors import InputError
from costlab.i18n import _

_PNG = ".png"

if TYPE_CHECKING:
    from costlab.reporting.api import Source
    from costlab.reporting.document import Document


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "report",
        run,
        help=_(
            "write a run's comparison, predictions or a module's formulas as .html, .md, .json, "
            ".csv, or their first figure as .svg or .png"
        ),
        examples=[
            "costlab report latest -o report.html",
            "costlab report latest --against 20261129T1200-ab12 -o runs.html",
            "costlab report full_attention lstm n=256:8k:x2 d=512 --device L4 -o predicted.html",
            "costlab report full_attention lstm n=256:8k:x2 d=512 --device L4 -o time.svg",
            "costlab report full_attention --mode train -o formulas.md",
        ],
        json=False,
    )
    add_words(
        parser,
        "SOURCE|NAME=VALUES",
        _("a run, `latest`, an architecture or FILE.py:FACTORY; with sizes: predictions"),
    )
    parser.add_argument("--against", metavar="RUN2", help=_("another run, the baseline"))
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    add_program(parser, backend=True)
    add_settings(parser)
    add_machine(parser)
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    from costlab.reporting.api import check_format, report

    check_format(args.output, also=[_PNG])
    check_output(args.output)
    if args.output.suffix.lower() == _PNG:
        path = _save_png(args)
    else:
        path = report(_source(args), args.output)
    print(_("wrote {path}").format(path=path))
    return 0


def _save_png(args: argparse.Namespace) -> Path:
    """The first figure as dots, drawn by the app's part that needs no display."""
    from importlib import import_module

    from costlab.reporting.api import first_figure, to_document

    try:
        # By name: the core does not depend on the app.
        export = import_module("costlab_gui.export")
    except ImportError as error:
        raise InputError(
            _("a .png needs Qt, which is not installed"),
            given=str(error),
            advice=_("write an .svg, or: pip install 'costlab[gui]'"),
        ) from None
    path: Path = export.save_figure(first_figure(to_document(_source(args))), args.output)
    return path


def _source(args: argparse.Namespace) -> Source:
    from costlab.arch import registry
    from costlab.cli.joined import compare_run, load_points
    from costlab.cli.programs import load_program

    targets, sizes = split_words(args.words)
    if sizes:
        return _predictions(args)
    require_targets(targets, 1, 1, _("one run, architecture or FILE.py:FACTORY, or sizes too"))
    (source,) = targets
    progress = progress_of(args)
    if ":" in source or source in registry.names():
        fixed, flags = parse_options(args.set)
        found = load_program(
            source,
            args.mode,
            args.dtype,
            args.backend,
            fixed=fixed,
            flags=flags,
            progress=progress,
        )
        progress.clear()
        return found
    name, points = load_points(args.store, source)
    if args.against is not None:
        return compare_stored(args.store, name, points, args.against)
    return compare_run(name, points, progress)


def _predictions(args: argparse.Namespace) -> Document:
    """Predictions, and the formulas that they are made from."""
    from costlab.reporting.api import to_document
    from costlab.reporting.sections import formula_section

    programs, found = predict_words(args, args.words)
    document = to_document(found)
    formulas = tuple(formula_section(program) for program in programs)
    return replace(document, sections=(*document.sections, *formulas))
