"""``costlab predict --mode generate``: a prompt, and the tokens written after it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from costlab.cli.common import (
    parse_options,
    print_json,
    require_targets,
    split_words,
    table,
)
from costlab.cli.prediction_text import interval_text, notes, sizes_text
from costlab.cli.progress import Progress, progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.symbols import expand, parse_size
from costlab.units import format_count, format_percent, format_value

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.hardware.machine import Machine
    from costlab.prediction.generation import Generation

GENERATE = "generate"
_PARTS = ("prefill", "decode")


def add_writing(parser: argparse.ArgumentParser) -> None:
    """Add the options of a generation and of a stream."""
    parser.add_argument(
        "--prompt", metavar="SIZE", help=_("tokens of the prompt, for --mode generate")
    )
    parser.add_argument(
        "--new", metavar="SIZE", help=_("tokens to write after it, for --mode generate")
    )
    parser.add_argument(
        "--stream",
        metavar="RATE",
        help=_("tokens that arrive in a second (50/s), for --mode decode: does a step keep up?"),
    )


def check_writing(args: argparse.Namespace) -> None:
    """Raise ``InputError`` where an option and the mode do not go together."""
    generates = args.mode == GENERATE
    for option, text, wanted in (
        ("--prompt", args.prompt, generates),
        ("--new", args.new, generates),
        ("--stream", args.stream, args.mode == "decode"),
    ):
        if text is not None and not wanted:
            mode = "decode" if option == "--stream" else GENERATE
            raise InputError(
                _("{option} is for another mode").format(option=option),
                given=f"--mode {args.mode}",
                allowed=f"--mode {mode}",
            )
        if text is None and wanted and option != "--stream":
            raise InputError(
                _("--mode generate needs a prompt and the tokens to write"),
                given=_("no {option}").format(option=option),
                advice="--prompt 1k --new 256",
            )


def run_generate(args: argparse.Namespace) -> int:
    """Predict the generation at every combination of the other sizes."""
    from costlab.prediction.record import SCHEMA

    found = _generations(args)
    if args.json:
        print_json({"schema": SCHEMA, "points": [generation.to_json() for generation in found]})
    elif len(found) > 1:
        print(_table(found))
    else:
        print(_block(found[0]))
    return 0


def _generations(args: argparse.Namespace) -> list[Generation]:
    from costlab.calibration.choice import load_machine
    from costlab.cli.programs import check_sizes, own_flags, own_sizes
    from costlab.prediction.generation import generate

    prompt, new = parse_size(args.prompt, "n"), parse_size(args.new, "n")
    targets, words = split_words(args.words)
    require_targets(targets, 1, None, _("one or more architectures with the mode decode"))
    fixed, flags = parse_options(args.set)
    grid = {**words, **{name: (value,) for name, value in fixed.items()}}
    machine = load_machine(args.device, args.dtype, args.threads)
    progress = progress_of(args)
    own = own_flags(targets, flags)
    pairs = [_pair(target, args.dtype, machine, own[target], progress) for target in targets]
    check_sizes([program for pair in pairs for program in pair], grid)
    found = []
    for prefill, decode in pairs:
        sizes = {**own_sizes(prefill, grid), **own_sizes(decode, grid)}
        for point in expand(sizes):
            progress(_("generating with {name}").format(name=decode.architecture))
            found.append(
                generate(
                    prefill, decode, point, machine, prompt=prompt, new=new, threads=args.threads
                )
            )
    progress.clear()
    return found


def _pair(
    target: str, dtype: str, machine: Machine, flags: Mapping[str, bool], progress: Progress
) -> tuple[Derivation, Derivation]:
    """The formulas of prefill, which has no flags, and of decode."""
    from costlab.arch import registry
    from costlab.cli.programs import is_entry, load_program

    if not is_entry(target):
        raise InputError(
            _("only entries of the catalogue have a prefill and a decode step that fit together"),
            given=target,
            advice=_("predict --mode decode takes a module that returns its state"),
        )
    if target in registry.names() and not set(_PARTS) <= set(registry.spec(target).modes):
        raise InputError(
            _("{name} does not write token by token").format(name=target),
            given=f"--mode {GENERATE}",
            allowed=", ".join(registry.spec(target).modes),
        )
    prefill, decode = (
        load_program(
            target,
            mode,
            dtype,
            machine.backend,
            flags=flags if mode == "decode" else {},
            progress=progress,
        )
        for mode in _PARTS
    )
    return prefill, decode


def _table(found: Sequence[Generation]) -> str:
    rows = [
        (
            g.total.architecture,
            sizes_text(g.total),
            format_value(g.total.time_s, "s"),
            format_value(g.prefill.time_s, "s"),
            format_value(g.decode_s, "s"),
            _rate(g.tokens_per_s),
            format_value(g.total.peak_bytes, "B"),
            format_value(g.total.state_bytes, "B"),
        )
        for g in found
    ]
    headers = (
        _("name"), _("sizes"), _("time"), _("prefill"), _("decode"), _("tokens/s"), _("peak"),
        _("state"),
    )  # fmt: skip
    text = table(headers, rows, right="llrrrrrr")
    return "\n".join([_heading(found[0]), "", text, "", *notes([g.total for g in found])])


def _block(g: Generation) -> str:
    p = g.total
    shares = ", ".join(
        f"{name} {format_percent(share / p.time_s)}" for name, share in p.shares.items() if share
    )
    rows = [
        (_("sizes"), sizes_text(p)),
        (_("time"), f"{format_value(p.time_s, 's')}  ({interval_text(p)})"),
        (_("prefill"), format_value(g.prefill.time_s, "s")),
        (
            _("decode"),
            _("{time}; a step takes {first} at first, {last} at last").format(
                time=format_value(g.decode_s, "s"),
                first=format_value(g.first.time_s, "s"),
                last=format_value(g.last.time_s, "s"),
            ),
        ),
        (
            _("new tokens"),
            _("{rate}/s, {alone}/s without the prefill").format(
                rate=_rate(g.tokens_per_s), alone=_rate(g.decode_tokens_per_s)
            ),
        ),
        (_("limiter"), f"{p.limiter}  ({shares})"),
        (_("peak memory"), format_value(p.peak_bytes, "B")),
        (_("state at the end"), format_value(p.state_bytes, "B")),
        (_("FLOP"), format_value(p.flop, "FLOP")),
        (_("bytes moved"), format_value(p.bytes, "B")),
    ]
    if p.steps is not None:
        rows.append((_("dependent steps"), format_count(p.steps)))
    width = max(len(label) for label, _text in rows)
    lines = [f"  {label.ljust(width)}  {text}" for label, text in rows]
    return "\n".join([f"{p.architecture}  {_heading(g)}", *lines, *notes([p])])


def _rate(value: float) -> str:
    return format_count(float(f"{value:.3g}"))


def _heading(g: Generation) -> str:
    p = g.total
    return _(
        "predicted: {new} tokens after {prompt}, {dtype} on {device}, {threads} thread(s), {basis}"
    ).format(
        new=format_count(g.new), prompt=format_count(g.prompt), dtype=p.dtype, device=p.device,
        threads=p.threads, basis=p.basis,
    )  # fmt: skip
