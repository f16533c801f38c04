"""``costlab plan`` for training: one model on one cluster, or several beside one another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from costlab.cli.common import parsed, print_json, table
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
    from costlab.planning.cluster import Rates
    from costlab.planning.front import Choice
    from costlab.planning.starting import Written


def rates_of(args: argparse.Namespace, clusters: int) -> list[Rates]:
    """Price and carbon of each cluster.

    Raises:
        InputError: if there are several prices and not one per cluster.
    """
    from costlab.planning.cluster import Rates

    words = (args.price or "").split(",")
    if len(words) not in (1, clusters):
        raise InputError(
            _("one price, or one per cluster"), given=args.price, allowed=str(clusters)
        )
    try:
        prices = [float(word) if word else None for word in words]
    except ValueError as error:
        raise InputError(_("cannot read --price"), given=args.price) from error
    many = prices * clusters if len(prices) == 1 else prices
    return [Rates(price_per_hour=price, carbon_g_per_kwh=args.carbon) for price in many]


def _host_rate(args: argparse.Namespace) -> float:
    """Rate of a device to its host if it keeps gradients and optimizer there, else 0."""
    from costlab.planning.tuning import HOST_BYTES_PER_S

    if not args.offload:
        return 0.0
    given = args.host_link and parsed(parse_rate, "--host-link", args.host_link)
    return given or HOST_BYTES_PER_S


def show(args: argparse.Namespace, models: list[str], machines: list[tuple[int, str]]) -> int:
    """Search the plans and print the best, or the best of each model and cluster."""
    from costlab.planning.api import plan
    from costlab.planning.front import clusters, front

    job: dict[str, Any] = {
        "tokens": parsed(parse_count, "--tokens", args.tokens),
        "length": args.length and parsed(parse_count, "--length", args.length),
        "batch": args.batch and parsed(parse_count, "--batch", args.batch),
        "per_node": args.per_node and parsed(parse_count, "--per-node", args.per_node),
        "link_bytes_per_s": args.link and parsed(parse_rate, "--link", args.link),
        "network_bytes_per_s": args.network and parsed(parse_rate, "--network", args.network),
        "memory_bytes": args.memory and parsed(parse_bytes, "--memory", args.memory),
        "program": args.software,
        "host_bytes_per_s": _host_rate(args),
        "show": parsed(parse_count, "--show", args.show),
    }
    rates = rates_of(args, len(machines))
    if len(models) == len(machines) == 1:
        gpus, device = machines[0]
        answer = plan(models[0], device, gpus, rates=rates[0], **job)
        files = _configurations(answer, args.write_config) if args.write_config else None
        if args.json:
            data = answer.to_json()
            print_json(data if files is None else data | {"files": [f.to_json() for f in files]})
        else:
            print("\n".join([_text(answer), *(file.text() for file in files or ())]))
        return 0
    if args.write_config:
        raise InputError(
            _("--write-config is for one model on one cluster"),
            given=" ".join((*models, args.gpus)),
        )
    asked = [(device, gpus, rate) for (gpus, device), rate in zip(machines, rates, strict=True)]
    choices = {model: clusters(model, asked, **job) for model in models}
    best = {model: front(found) for model, found in choices.items()}
    if args.json:
        print_json(_compared_json(choices, best))
    else:
        print(_compared(choices, best))
    return 0


def _configurations(answer: Training, folder: str) -> list[Written]:
    from costlab.planning.starting import write

    return write(folder, answer.model, answer.best, answer.found.work.length, answer.tokens)


def _compared_json(
    choices: dict[str, list[Choice]], best: dict[str, list[Choice]]
) -> dict[str, Any]:
    rows = [
        {
            "model": model,
            "device": choice.device,
            "gpus": choice.gpus,
            "on_front": choice in best[model],
            "reason": choice.reason or None,
            "best": choice.training and choice.training.row(choice.training.shown[0]),
        }
        for model, found in choices.items()
        for choice in found
    ]
    return {"schema": "costlab.plan/1", "job": "train", "clusters": rows}


def _compared(choices: dict[str, list[Choice]], best: dict[str, list[Choice]]) -> str:
    rows, notes = [], []
    for model, found in choices.items():
        for choice in found:
            name, where = model, f"{choice.gpus} x {choice.device}"
            if choice.training is None:
                rows.append((name, where, "", "", "", "", _("does not fit")))
                notes.append(f"{name}, {where}: {choice.reason}")
                continue
            answer = choice.training
            row, cost = answer.row(answer.shown[0]), answer.bill(answer.shown[0])
            rows.append(
                (
                    ("* " if choice in best[model] else "") + name,
                    where,
                    f"{row['days']:.1f}",
                    format_count(round(row["gpu_hours"])),
                    ""
                    if cost.cost is None
                    else f"{format_count(round(cost.cost))} {cost.currency}",
                    ""
                    if cost.energy_kwh is None
                    else f"{format_count(round(cost.energy_kwh))} kWh",
                    row["limiter"],
                )
            )
            notes.append(f"{name}, {where}: {row['text']}; {row['why']}")
    heads = (_("model"), _("devices"), _("days"), _("device hours"), _("cost"), _("energy"),
             _("limited by"))  # fmt: skip
    front = _("* no other cluster is better in time, cost and energy at once")
    return "\n".join([table(heads, rows, right="llrrrrl"), front, "", *notes])


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
        _("limited by {why}").format(why=row["why"]),
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
            "" if index == best else answer.loss(index).text(),
        )
        for index in answer.shown
    ]
    lines += [
        "",
        table([_("plan"), _("days"), "MFU", _("memory"), _("why it lost")], others, right="lrrrl"),
    ]
    large = answer.too_large()
    if large:
        lines.append(large.text(found.plans[large.index].text()))
    lines += [_("assumed: {what}").format(what=what) for what in answer.assumptions()]
    return "\n".join(lines)
