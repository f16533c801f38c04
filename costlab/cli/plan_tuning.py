"""``costlab plan --job finetune|lora|qlora|distill|dpo|rlhf``: how it is asked for and printed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from costlab.cli.common import parsed, print_json, table
from costlab.i18n import _
from costlab.units import format_count, format_value, parse_bytes, parse_count, parse_rate

if TYPE_CHECKING:
    from costlab.planning.tuning import Tuning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of tuning jobs."""
    group = parser.add_argument_group(_("fine-tuning, distillation, preferences"))
    group.add_argument("--micro", default="1", metavar="N", help=_("sequences of a device"))
    group.add_argument("--rank", metavar="R", help=_("of adapters (default: 16)"))
    group.add_argument("--targets", default="q,v", metavar="LIST", help=_("q,v or all"))
    group.add_argument("--answer", default="512", metavar="N", help=_("tokens RLHF generates"))
    group.add_argument("--other", metavar="MODEL", help=_("teacher; reward model and critic"))
    group.add_argument("--zero", type=int, default=3, choices=(0, 1, 2, 3), help=_("ZeRO stage"))
    group.add_argument(
        "--offload", action="store_true", help=_("gradients and optimizer in the host's memory")
    )
    group.add_argument("--host-link", metavar="RATE", help=_("of a device to its host: 31.5GB/s"))
    group.add_argument("--recompute", action="store_true", help=_("compute layers again"))


def show_tuning(args: argparse.Namespace, model: str, device: str, gpus: int) -> int:
    """Print what a tuning job needs."""
    from costlab.planning.bundled import named
    from costlab.planning.model import usual_length
    from costlab.planning.tuning import Asked, tune

    config = named(model)
    asked = Asked(
        length=parsed(parse_count, "--length", args.length)
        if args.length
        else usual_length(config),
        micro=parsed(parse_count, "--micro", args.micro),
        rank=parsed(parse_count, "--rank", args.rank) if args.rank else 0,
        targets=tuple(args.targets.split(",")),
        other=named(args.other) if args.other else None,
        zero=args.zero,
        output=parsed(parse_count, "--answer", args.answer),
        recompute=args.recompute,
        offload=args.offload,
        **(
            {"host_bytes_per_s": parsed(parse_rate, "--host-link", args.host_link)}
            if args.host_link
            else {}
        ),
    )
    answer = tune(
        args.job,
        config,
        device,
        gpus,
        asked,
        memory_bytes=args.memory and parsed(parse_bytes, "--memory", args.memory),
    )
    if args.json:
        print_json(answer.to_json())
    else:
        print(_text(answer))
    return 0


def _text(answer: Tuning) -> str:
    head = _("{job} of {model}: {trained} parameters learn, {n} sequences of {length} a device")
    peak = _("peak of a device: {peak} of {size}; most of it {binds}")
    lines = [
        head.format(
            job=answer.job, model=answer.model.name, trained=format_count(answer.trained),
            n=answer.sequences, length=answer.length,
        ),
        peak.format(
            peak=format_value(int(answer.peak_bytes), "B"),
            size=format_value(int(answer.capacity), "B"), binds=answer.binds,
        ),
        "  " + ", ".join(f"{k} {format_value(int(v), 'B')}" for k, v in answer.held.items()),
        *([_("in the host's memory, per device: {size}").format(
            size=format_value(int(answer.host), "B"))] if answer.host else []),
        "",
        table(
            (_("phase"), "FLOP", _("bytes of the moment"), _("at least")),
            [
                (phase.name, format_value(phase.flop, "FLOP"),
                 format_value(int(phase.moment_bytes), "B"),
                 format_value(answer.phase_s(phase), "s"))
                for phase in answer.phases
            ],
            right="lrrr",
        ),
        _("a step takes at least {time} at the makers' rates").format(
            time=format_value(answer.seconds, "s")
        ),
        *(_("assumed: {what}").format(what=what) for what in answer.assumed),
    ]  # fmt: skip
    return "\n".join(lines)
