"""``costlab predict``: time, memory, FLOP and bytes at sizes on a machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from costlab.cli.common import (
    MODES,
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_words,
    parse_options,
    positive,
    print_json,
    require_targets,
    split_words,
    table,
)
from costlab.cli.generate import GENERATE, add_writing, check_writing, run_generate
from costlab.cli.prediction_text import interval_text, notes, sizes_text
from costlab.cli.progress import progress_of
from costlab.cli.stream import stream_lines, streams_of
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.symbols import expand
from costlab.units import format_count, format_percent, format_ratio, format_value

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.prediction.record import Prediction

_MORE_THAN = 1  # from two points on a table reads better than blocks


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "predict",
        run,
        help=_("time with its interval and limiter, memory, FLOP, bytes and energy"),
        examples=[
            "costlab predict full_attention n=4k d=512 --device L4",
            "costlab predict full_attention lstm n=256:8k:x2 d=512 --mode train",
            "costlab predict gpt_block d=768 L=12 --mode generate --prompt 1k --new 256",
            "costlab predict gqa_attention n=4k --mode decode --stream 50/s --device L4",
        ],
    )
    add_words(parser, "ARCH|FILE.py:FACTORY|NAME=VALUES", _("what to predict, and its sizes"))
    add_program(parser, modes=(*MODES, GENERATE))
    add_writing(parser)
    add_settings(parser)
    add_machine(parser)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the machine."""
    parser.add_argument(
        "--device",
        default="this",
        metavar="NAME",
        help=_("a device profile, a .toml file, or `this` machine (default: this)"),
    )
    parser.add_argument("--threads", type=positive, help=_("threads (default: those calibrated)"))


def run(args: argparse.Namespace) -> int:
    """Predict every combination of the sizes."""
    from costlab.prediction.api import to_json

    check_writing(args)
    if args.mode == GENERATE:
        return run_generate(args)
    programs, found = predict_words(args, args.words)
    streams = streams_of(args, programs, found)
    if args.json:
        data = to_json(found)
        for point, stream in zip(data["points"], streams, strict=False):
            point["stream"] = stream.to_json()
        print_json(data)
    elif len(found) > _MORE_THAN:
        print("\n".join([_table(found), *stream_lines(streams, found)]))
    else:
        print("\n".join([_block(found[0], programs[0]), *stream_lines(streams, found)]))
    return 0


def predict_words(
    args: argparse.Namespace, words: Sequence[str]
) -> tuple[list[Derivation], list[Prediction]]:
    """The programs that ``words`` name and a prediction for each combination of their sizes.

    Args:
        args: the options of ``add_program``, ``add_settings`` and ``add_machine``.
        words: targets and sizes.

    Raises:
        InputError: for no target, or a device, a setting or sizes that cannot be.
    """
    from costlab.calibration.choice import load_machine
    from costlab.cli.programs import check_sizes, load_program, own_flags, own_sizes
    from costlab.prediction.api import predict

    targets, sizes = split_words(words)
    require_targets(targets, 1, None, _("one or more architectures or FILE.py:FACTORY"))
    fixed, flags = parse_options(args.set)
    grid = {**sizes, **{name: (value,) for name, value in fixed.items()}}
    machine = load_machine(args.device, args.dtype, args.threads)
    progress = progress_of(args)
    own = own_flags(targets, flags)
    programs = [
        load_program(
            target, args.mode, args.dtype, machine.backend, flags=own[target], progress=progress
        )
        for target in targets
    ]
    check_sizes(programs, grid)
    found: list[Prediction] = []
    for program in programs:
        for point in expand(own_sizes(program, grid)):
            progress(f"{program.architecture} {' '.join(f'{k}={v}' for k, v in point.items())}")
            try:
                found.append(predict(program, point, machine, threads=args.threads))
            except SizeError as error:
                if len(programs) > 1 and program.architecture not in error.message:
                    error.message = f"{program.architecture}: {error.message}"
                raise
    progress.clear()
    return programs, found


def _table(found: list[Prediction]) -> str:
    rows = [
        (
            p.architecture,
            sizes_text(p),
            format_value(p.time_s, "s"),
            interval_text(p),
            p.limiter,
            format_value(p.peak_bytes, "B"),
            format_value(p.flop, "FLOP"),
            format_value(p.bytes, "B"),
        )
        for p in found
    ]
    headers = (
        _("name"), _("sizes"), _("time"), _("interval"), _("limiter"), _("peak"), "FLOP",
        _("bytes"),
    )  # fmt: skip
    text = table(headers, rows, right="llrllrrr")
    return "\n".join([_heading(found[0]), "", text, "", *notes(found)])


def _heading(p: Prediction) -> str:
    return _("predicted: {mode} in {dtype} on {device}, {threads} thread(s), {basis}").format(
        mode=p.mode, dtype=p.dtype, device=p.device, threads=p.threads, basis=p.basis
    )


def _block(p: Prediction, program: Derivation) -> str:
    total = sum(p.shares.values()) or 1.0
    shares = ", ".join(
        f"{name} {format_percent(share / total)}" for name, share in p.shares.items() if share
    )
    rows = [
        (_("sizes"), sizes_text(p)),
        (_("time"), f"{format_value(p.time_s, 's')}  ({interval_text(p)})"),
        (_("limiter"), f"{p.limiter}  ({shares})"),
        (_("peak memory"), format_value(p.peak_bytes, "B")),
        (_("FLOP"), format_value(p.flop, "FLOP") + _useful(p, program)),
        (_("bytes moved"), format_value(p.bytes, "B")),
    ]
    if p.state_bytes is not None:
        rows.append((_("state"), format_value(p.state_bytes, "B")))
    if p.steps is not None:
        rows.append((_("dependent steps"), format_count(p.steps)))
    energy = format_value(p.energy_j, "J") if p.energy_j is not None else p.energy_reason
    rows.append((_("energy"), energy))
    for name, factors in p.doubling.items():
        if p.sizes[name] > 1 or name == "n":
            text = ", ".join(f"{q} {format_ratio(f)}" for q, f in factors.items() if f is not None)
            rows.append((_("doubling {name}").format(name=name), text))
    width = max(len(label) for label, _text in rows)
    lines = [f"  {label.ljust(width)}  {text}" for label, text in rows]
    return "\n".join([f"{p.architecture}  {_heading(p)}", *lines, *notes([p])])


def _useful(p: Prediction, program: Derivation) -> str:
    """What of the matrix products a mask keeps, where it does not keep all."""
    from costlab.prediction.sizes import complete_sizes, select_class

    full = complete_sizes(program, p.sizes)
    chosen = select_class(program, full)
    matmul, useful = chosen.cost["flop_matmul"].expr, chosen.cost["flop_useful"].expr
    if matmul is None or useful is None or matmul == useful or p.flop_useful is None:
        return ""
    return _("  (matmul {matmul}, of which the mask keeps {useful})").format(
        matmul=format_value(round(matmul.evaluate(full)), "FLOP"),
        useful=format_value(p.flop_useful, "FLOP"),
    )
