"""``costlab map``: the cheapest architecture in each cell of a grid of two sizes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_words,
    check_output,
    parse_options,
    print_json,
    require_targets,
    split_words,
)
from costlab.cli.crossover import METRICS
from costlab.cli.footing import footing, footing_text
from costlab.cli.predict import add_machine
from costlab.cli.progress import progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.symbols import parse_values, single
from costlab.units import format_percent

if TYPE_CHECKING:
    from costlab.prediction.maps import WinnerMap

_DEFAULT_RANGE = "64:64k:x2"
_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "map",
        run,
        help=_("winner map: the cheapest architecture over two sizes, undecided where too close"),
        examples=[
            "costlab map full_attention lstm --over n,d --metric flop",
            "costlab map full_attention lstm --over n,d n=64:16k:x2 d=64:2k:x2 -o map.svg",
        ],
    )
    add_words(parser, "ARCH|NAME=VALUES", _("what to compare; ranges of the two sizes; others"))
    parser.add_argument("--over", required=True, metavar="X,Y", help=_("the two sizes that vary"))
    parser.add_argument("--metric", choices=METRICS, default="time", help=_("default: time"))
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=_(".svg or .json"))
    add_program(parser)
    add_settings(parser)
    add_machine(parser)


def run(args: argparse.Namespace) -> int:
    """Compute the map; print it or write it to a file."""
    import numpy as np

    from costlab.calibration.choice import load_machine
    from costlab.cli.programs import check_sizes, load_program, own_flags
    from costlab.prediction.maps import winner_map

    if args.output is not None:
        if args.output.suffix not in (".svg", ".json"):
            raise InputError(_("unknown format"), given=str(args.output), allowed=".svg, .json")
        check_output(args.output)
    targets, words = split_words(args.words)
    require_targets(targets, 2, len(_SIGNS), _("two or more architectures or FILE.py:FACTORY"))
    over = tuple(args.over.split(","))
    if len(over) != 2 or over[0] == over[1]:
        raise InputError(_("--over takes two sizes"), given=args.over, allowed="n,d")
    fixed, flags = parse_options(args.set)
    axes = [words.pop(name, ()) or parse_values(_DEFAULT_RANGE, name) for name in over]
    sizes = {**single(words), **fixed}
    machine = None
    if args.metric == "time":
        machine = load_machine(args.device, args.dtype, args.threads)
    backend = "cpu" if machine is None else machine.backend
    progress = progress_of(args)
    own = own_flags(targets, flags)
    programs = [
        load_program(target, args.mode, args.dtype, backend, flags=own[target], progress=progress)
        for target in targets
    ]
    progress.clear()
    check_sizes(programs, (*over, *sizes))
    x, y = (np.array(sorted(axis), dtype=float) for axis in axes)
    found = winner_map(programs, (over[0], over[1]), x, y, sizes, machine, args.metric)
    rests_on = footing(programs, sizes, over, machine)
    data = {**found.to_json(), **rests_on}
    if args.output is None:
        if args.json:
            print_json(data)
        else:
            print(f"{_text(found)}\n{footing_text(rests_on)}")
        return 0
    if args.output.suffix == ".json":
        args.output.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    else:
        from costlab.figures.build import map_figure
        from costlab.figures.map_svg import map_svg

        args.output.write_text(map_svg(map_figure(found)), encoding="utf-8")
    print(_("wrote {path}").format(path=args.output))
    return 0


def _text(found: WinnerMap) -> str:
    """The map in letters, the largest y at the top."""
    cells = found.winner.size
    lines = []
    for i, name in enumerate(found.names):
        share = format_percent(round(int((found.winner == i).sum()) / cells, 3))
        lines.append(_("{sign}  {name}, {share} of the cells").format(
            sign=_SIGNS[i], name=name, share=share
        ))  # fmt: skip
    seen = set(found.winner.flat)
    lines += [_("?  undecided")] if -1 in seen else []
    lines += [_(".  outside the formulas")] if -2 in seen else []
    lines.append("")
    width = max(len(f"{value:.0f}") for value in found.y)
    for row in reversed(range(len(found.y))):
        signs = " ".join(_sign(int(cell)) for cell in found.winner[row])
        lines.append(f"{found.y[row]:>{width}.0f} | {signs}")
    first = f"{found.x[0]:.0f}"
    last = f"{found.x[-1]:.0f}" if len(found.x) > 1 else ""
    span = max(2 * len(found.x) - 1 - len(first) - len(last), 1)
    lines.append(f"{' ' * width}   {first}{' ' * span}{last}".rstrip())
    lines.append(_("across: {x}, up: {y}; cheapest in {metric}").format(
        x=found.x_name, y=found.y_name, metric=found.metric
    ))  # fmt: skip
    return "\n".join(lines)


def _sign(cell: int) -> str:
    return _SIGNS[cell] if cell >= 0 else "?" if cell == -1 else "."
