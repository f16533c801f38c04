"""``costlab crossover``: where B overtakes A, how large a size may get, which term rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_words,
    parse_options,
    parsed,
    print_json,
    require_targets,
    split_words,
)
from costlab.cli.footing import footing, footing_text
from costlab.cli.predict import add_machine
from costlab.cli.progress import progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.symbols import single
from costlab.units import format_count, parse_bytes, parse_seconds

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.prediction.crossover import Ceiling, Crossover, TermTurn

METRICS = ("time", "flop", "bytes", "memory", "energy")


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "crossover",
        run,
        help=_("where B overtakes A; with A alone the largest size that fits and is fast enough"),
        examples=[
            "costlab crossover full_attention lstm --over n d=512 --metric flop",
            "costlab crossover full_attention --over n d=512 --device L4 --within 100ms",
            "costlab crossover transformer_block --over n d=512 --metric flop --terms",
        ],
    )
    add_words(parser, "A [B] NAME=VALUE", _("one or two architectures, and the other sizes"))
    parser.add_argument("--over", required=True, metavar="NAME", help=_("the size that varies"))
    parser.add_argument("--metric", choices=METRICS, default="time", help=_("default: time"))
    parser.add_argument("--fits", metavar="BYTES", help=_("memory limit, e.g. 24GiB"))
    parser.add_argument("--within", metavar="TIME", help=_("time limit, e.g. 100ms"))
    parser.add_argument(
        "--terms", action="store_true", help=_("where one term overtakes all the others")
    )
    add_program(parser)
    add_settings(parser)
    add_machine(parser)


def run(args: argparse.Namespace) -> int:
    """Solve for the crossovers, ceilings and terms."""
    from costlab.calibration.choice import load_machine
    from costlab.cli.programs import check_sizes, load_program, own_flags, own_sizes
    from costlab.hardware.machine import DATASHEET
    from costlab.prediction.crossover import SCHEMA, ceiling, cheaper, crossovers

    targets, words = split_words(args.words)
    require_targets(targets, 1, 2, _("one or two architectures or FILE.py:FACTORY"))
    fixed, flags = parse_options(args.set)
    sizes = {**single(words), **fixed}
    if args.over in sizes:
        raise InputError(
            _("the size that varies cannot be given"), given=f"{args.over}={sizes[args.over]}"
        )
    fits = None if args.fits is None else parsed(parse_bytes, "--fits", args.fits)
    within = None if args.within is None else parsed(parse_seconds, "--within", args.within)
    limited = fits is not None or within is not None
    wants_ceiling = limited or (len(targets) == 1 and not args.terms)
    needs_machine = args.metric == "time" and len(targets) == 2
    needs_machine |= wants_ceiling and (within is not None or fits is None)
    machine = load_machine(args.device, args.dtype, args.threads) if needs_machine else None
    backend = "cpu" if machine is None else machine.backend
    progress = progress_of(args)
    own = own_flags(targets, flags)
    programs = [
        load_program(target, args.mode, args.dtype, backend, flags=own[target], progress=progress)
        for target in targets
    ]
    progress.clear()
    check_sizes(programs, sizes)
    turned: list[Crossover] = []
    if len(programs) == 2:
        turned = crossovers(programs[0], programs[1], args.over, sizes, machine, args.metric)
    ceilings: list[Ceiling] = []
    if wants_ceiling:
        ceilings = [
            ceiling(
                program,
                args.over,
                own_sizes(program, sizes),
                machine,
                fits_bytes=fits,
                within_s=within,
            )
            for program in programs
        ]
    terms: list[TermTurn] = []
    if args.terms:
        terms = [
            turn
            for program in programs
            for turn in _turns(program, args, own_sizes(program, sizes))
        ]
    always = None
    if len(programs) == 2 and not turned:
        always = cheaper(programs[0], programs[1], args.over, sizes, machine, args.metric)
    rests_on = footing(programs, sizes, (args.over,), machine)
    if args.json:
        print_json({
            "schema": SCHEMA,
            "crossovers": [one.to_json() for one in turned],
            "ceilings": [one.to_json() for one in ceilings],
            "terms": [one.to_json() for one in terms],
            "cheaper": always,
            **rests_on,
        })  # fmt: skip
        return 0
    if len(programs) == 2 and not turned:
        only_bounds = machine is not None and machine.basis == DATASHEET
        _show_order(always, targets, args, only_bounds=only_bounds)
    for turn in turned:
        _show_crossover(turn)
    for one in ceilings:
        _show_ceiling(one)
    if args.terms:
        _show_terms(terms, args)
    print(footing_text(rests_on))
    return 0


def _turns(
    program: Derivation, args: argparse.Namespace, sizes: Mapping[str, int]
) -> Iterator[TermTurn]:
    """Where one term rules: of the metric, and for FLOP of the matrix products alone as well."""
    from costlab.prediction.terms import term_turn

    for metric in (args.metric, *(["flop_matmul"] if args.metric == "flop" else [])):
        turn = term_turn(program, args.over, sizes, metric)
        if turn is not None:
            yield turn


def _show_order(
    cheaper: str | None, targets: list[str], args: argparse.Namespace, *, only_bounds: bool
) -> None:
    """One line where the order of two never changes."""
    a, b = targets
    if cheaper is None:
        text = _("no {name} suits both {a} and {b}")
    elif not cheaper:
        text = _("{a} and {b} are equal in {metric} at every {name}")
    else:
        text = _("{cheaper} is cheaper in {metric} at every {name}{bounds}")
    bounds = _(", as far as bounds tell") if only_bounds else ""
    print(text.format(cheaper=cheaper, a=a, b=b, name=args.over, metric=args.metric, bounds=bounds))


def _show_crossover(one: Crossover) -> None:
    low, high = one.interval
    if one.metric == "time" and low is None and high is None:
        bounds = _("undecided: the intervals overlap everywhere, or only bounds are known")
    elif one.metric == "time":
        bounds = _("the intervals overlap for {low} .. {high}").format(
            low=_("all below") if low is None else format_count(low),
            high=_("all above") if high is None else format_count(high),
        )
    elif low is None:
        bounds = _("exact")
    else:
        bounds = _("exact: at {low} {other} still is").format(
            low=format_count(low), other=one.a if one.cheaper == one.b else one.b
        )
    text = _("from {name} = {at} on {cheaper} is cheaper in {metric}  ({bounds})")
    print(
        text.format(
            name=one.variable,
            at=format_count(one.at),
            cheaper=one.cheaper,
            metric=one.metric,
            bounds=bounds,
        )
    )


def _show_ceiling(one: Ceiling) -> None:
    if one.at is None and one.binds:
        text = _("{name}: no {variable} is small enough; {binds} binds")
    elif one.at is None:
        text = _("{name}: no limit is reached")
    else:
        text = _("{name}: {variable} up to {at}; {binds} binds first")
    at = "" if one.at is None else format_count(one.at)
    print(text.format(name=one.architecture, variable=one.variable, at=at, binds=one.binds))
    for metric, limit in one.by.items():
        if limit is not None:
            print(_("  by {metric}: {at}").format(metric=metric, at=format_count(limit)))


def _show_terms(found: list[TermTurn], args: argparse.Namespace) -> None:
    from costlab.formulas.plain import formula
    from costlab.formulas.text import parse

    if not found:
        print(_("no term overtakes the rest over {name}").format(name=args.over))
    for one in found:
        exact = f" = {formula(parse(one.exact))}" if one.exact else ""
        text = _("{name}, {metric}: from {variable}{exact} = {at} on {term} exceeds {rest}")
        print(
            text.format(
                name=one.architecture,
                metric=one.metric,
                variable=one.variable,
                exact=exact,
                at=format_count(round(one.at, 3)),
                term=formula(parse(one.term)),
                rest=formula(parse(one.rest)),
            )
        )
