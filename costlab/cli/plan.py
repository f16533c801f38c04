"""``costlab plan``: will it fit, how fast, how many devices, what does it cost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from costlab.cli.common import Subparsers, add_command, add_words, parsed, print_json, table
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import (
    format_count,
    format_percent,
    format_value,
    parse_bytes,
    parse_count,
    parse_rate,
)

if TYPE_CHECKING:
    from costlab.planning.api import Training


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "plan",
        run,
        help=_("whether a model fits a cluster, how fast, and what it costs"),
        examples=[
            "costlab plan gpt3-175b --gpus 1024xA100-80 --tokens 300B",
            "costlab plan --model gpt3-13b --device h100-sxm --gpus 64 --price 2.5",
        ],
    )
    add_words(parser, "MODEL", _("a model"))
    parser.add_argument("--model", metavar="MODEL", help=_("the model, instead of a word"))
    parser.add_argument("--device", metavar="NAME", help=_("a device profile or .toml file"))
    parser.add_argument(
        "--gpus", default="8", metavar="COUNT[xNAME]", help=_("how many devices (default: 8)")
    )
    parser.add_argument(
        "--tokens", default="300B", metavar="COUNT", help=_("tokens of training (default: 300B)")
    )
    parser.add_argument("--batch", metavar="COUNT", help=_("sequences a step (default: 4M tokens)"))
    parser.add_argument("--length", default="2048", metavar="N", help=_("tokens of a sequence"))
    parser.add_argument("--per-node", metavar="COUNT", help=_("devices of a node"))
    parser.add_argument("--link", metavar="RATE", help=_("between devices of a node: 300GB/s"))
    parser.add_argument("--network", metavar="RATE", help=_("of a device to others: 200Gb/s"))
    parser.add_argument("--memory", metavar="BYTES", help=_("memory a device may use: 70GiB"))
    parser.add_argument(
        "--software",
        metavar="NAME",
        help=_("whose measured constants: megatron, megatron-flash, megatron-b200, fsdp"),
    )
    parser.add_argument("--price", type=float, metavar="AMOUNT", help=_("of a device hour"))
    parser.add_argument("--carbon", type=float, metavar="GRAMS", help=_("CO2 of a kWh"))


def run(args: argparse.Namespace) -> int:
    """Search the plans and print the best."""
    from costlab.planning.api import plan
    from costlab.planning.cluster import Rates

    count, _x, device = args.gpus.partition("x")
    device = args.device or device
    model = args.model or (args.words[0] if args.words else "")
    if not model or not device:
        raise InputError(
            _("a plan needs a model and a device"),
            given=" ".join(args.words),
            advice="costlab plan gpt3-175b --gpus 1024xA100-80",
        )
    answer = plan(
        model,
        device,
        parsed(parse_count, "--gpus", count),
        tokens=parsed(parse_count, "--tokens", args.tokens),
        length=parsed(parse_count, "--length", args.length),
        batch=args.batch and parsed(parse_count, "--batch", args.batch),
        per_node=args.per_node and parsed(parse_count, "--per-node", args.per_node),
        link_bytes_per_s=args.link and parsed(parse_rate, "--link", args.link),
        network_bytes_per_s=args.network and parsed(parse_rate, "--network", args.network),
        memory_bytes=args.memory and parsed(parse_bytes, "--memory", args.memory),
        program=args.software,
        rates=Rates(price_per_hour=args.price, carbon_g_per_kwh=args.carbon),
    )
    if args.json:
        print_json(answer.to_json())
    else:
        print(_text(answer))
    return 0


def _text(answer: Training) -> str:
    found, best = answer.found, answer.shown[0]
    row = answer.row(best)
    cost = answer.bill(best)
    lines = [
        _("{model}: {parameters} parameters, {tokens} tokens on {gpus} x {device}").format(
            model=found.work.name,
            parameters=format_count(int(found.work.parameters)),
            tokens=format_count(int(answer.tokens)),
            gpus=found.cluster.devices,
            device=found.cluster.profile.name,
        ),
        _("best of {tried} plans, {fit} of which fit: {plan}").format(
            tried=len(found.plans), fit=len(found.order), plan=row["text"]
        ),
        _("{days} days, {hours} device hours; MFU {mfu}, {rate} tokens/s, {step} a step").format(
            days=f"{cost.days:.1f}",
            hours=format_count(round(cost.device_hours)),
            mfu=format_percent(row["mfu"]),
            rate=format_count(round(row["tokens_per_s"])),
            step=format_value(row["step_s"], "s"),
        ),
        _("memory of a device: {total} of {capacity}").format(
            total=format_value(int(row["memory_total_bytes"]), "B"),
            capacity=format_value(int(found.cluster.capacity_bytes), "B"),
        ),
        "  "
        + ", ".join(
            f"{kind} {format_value(int(size), 'B')}" for kind, size in row["memory_bytes"].items()
        ),
        _("limited by {limiter} ({share} of the step)").format(
            limiter=row["limiter"], share=format_percent(row["limiter_share"])
        ),
    ]
    if cost.cost is not None:
        lines.append(f"{format_count(round(cost.cost))} {cost.currency}")
    if cost.energy_kwh is not None:
        lines.append(
            _("{kwh} kWh at the power limit").format(kwh=format_count(round(cost.energy_kwh)))
        )
    others = [
        (
            answer.row(index)["text"],
            f"{answer.bill(index).days:.1f}",
            format_percent(found.mfu(index)),
            format_value(int(found.memory.total[index]), "B"),
        )
        for index in answer.shown
    ]
    lines += ["", table([_("plan"), _("days"), "MFU", _("memory")], others, right="lrrr")]
    lines += [_("assumed: {what}").format(what=what) for what in answer.assumptions()]
    return "\n".join(lines)
