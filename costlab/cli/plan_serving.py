"""``costlab plan --job serve`` and ``--fits``: how they are asked for and printed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from costlab.cli.common import parsed, print_json, table
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import (
    format_count,
    format_value,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)

if TYPE_CHECKING:
    from costlab.planning.request import Request
    from costlab.planning.retrieval import Retrieval, Way
    from costlab.planning.service import Service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of serving."""
    group = parser.add_argument_group(_("serving"))
    group.add_argument("--fits", metavar="BYTES", help=_("which models fit: 24GiB"))
    group.add_argument("--prompt", default="1024", metavar="N", help=_("tokens of a prompt"))
    group.add_argument("--output", default="256", metavar="N", help=_("tokens of an answer"))
    group.add_argument("--weights", default="bf16", metavar="FORMAT", help=_("fp8, int4-g128, ..."))
    group.add_argument("--kv", default="bf16", metavar="FORMAT", help=_("of keys and values"))
    group.add_argument("--block", default="16", metavar="N", help=_("tokens of a paged block"))
    group.add_argument("--chunk", metavar="N", help=_("tokens of a prompt with each decode step"))
    group.add_argument("--draft", metavar="MODEL", help=_("a smaller model that guesses tokens"))
    group.add_argument("--guesses", default="4", metavar="N", help=_("tokens guessed at a time"))
    group.add_argument(
        "--acceptance", default="0.8", metavar="P", help=_("how likely a guess is kept")
    )
    group.add_argument(
        "--passages", metavar="KxM", help=_("retrieved and put before the prompt: 8x512")
    )
    group.add_argument(
        "--cached", action="store_true", help=_("keys and values of the passages are there already")
    )
    group.add_argument(
        "--documents", metavar="N", help=_("tokens of all documents, to compare with --passages")
    )
    group.add_argument("--tpot", metavar="TIME", help=_("longest time of a token: 100ms"))
    group.add_argument("--ttft", metavar="TIME", help=_("longest time to the first token: 1s"))


def question_of(args: argparse.Namespace) -> Request:
    """The request that the options describe, without passages."""
    from costlab.planning.bundled import named as model_named
    from costlab.planning.precision import named
    from costlab.planning.request import Request

    try:
        acceptance = float(args.acceptance)
    except ValueError as error:
        raise InputError(_("cannot read --acceptance"), given=args.acceptance) from error
    return Request(
        prompt=parsed(parse_count, "--prompt", args.prompt),
        output=parsed(parse_count, "--output", args.output),
        weights=named(args.weights),
        kv=named(args.kv),
        block=parsed(parse_count, "--block", args.block),
        chunk=parsed(parse_count, "--chunk", args.chunk) if args.chunk else 0,
        draft=model_named(args.draft) if args.draft else None,
        guesses=parsed(parse_count, "--guesses", args.guesses),
        acceptance=acceptance,
    )


def retrieval_of(args: argparse.Namespace) -> Retrieval | None:
    """The passages that the options describe.

    Raises:
        InputError: if something of retrieval is given without passages.
    """
    from costlab.planning.retrieval import Retrieval

    if not args.passages:
        if args.cached or args.documents:
            raise InputError(
                _("--cached and --documents go with --passages"),
                given="--cached" if args.cached else f"--documents {args.documents}",
                advice=_("say for example --passages 8x512"),
            )
        return None
    count, _x, tokens = args.passages.lower().partition("x")
    return Retrieval(
        parsed(parse_count, "--passages", count),
        parsed(parse_count, "--passages", tokens),
        parsed(parse_count, "--documents", args.documents) if args.documents else 0,
    )


def request_of(args: argparse.Namespace) -> Request:
    """The request that the options describe, passages included."""
    from dataclasses import replace

    question, retrieval = question_of(args), retrieval_of(args)
    if retrieval is None:
        return question
    before = retrieval.passages * retrieval.tokens
    return replace(question, prompt=before + question.prompt, cached=before if args.cached else 0)


def show_fits(args: argparse.Namespace) -> int:
    """Print which bundled models fit a memory."""
    from dataclasses import asdict

    from costlab.planning.service import SCHEMA, what_fits

    memory = parsed(parse_bytes, "--fits", args.fits)
    request = request_of(args)
    found = what_fits(memory, request)
    if args.json:
        print_json({"schema": SCHEMA, "job": "fits", "memory_bytes": memory,
                    "models": [asdict(fit) for fit in found]})  # fmt: skip
        return 0
    print(
        _("models that answer requests of {prompt} + {output} tokens in {size}").format(
            prompt=request.prompt, output=request.output, size=format_value(memory, "B")
        )
    )
    rows = [
        (fit.name, format_count(fit.parameters), fit.weights, format_value(fit.weights_bytes, "B"),
         _length(fit.longest), format_count(fit.at_once))
        for fit in found
    ]  # fmt: skip
    heads = (_("model"), _("parameters"), _("stored in"), _("weights"), _("longest sequence"),
             _("requests at once"))  # fmt: skip
    print(table(heads, rows, right="lrlrrr"))
    return 0


def show_service(args: argparse.Namespace, model: str, device: str, gpus: int) -> int:
    """Print how devices serve a model."""
    from costlab.cli.plan_training import rates_of
    from costlab.planning.retrieval import compare_ways
    from costlab.planning.service import serve

    limits = _limits(args) | {"rates": rates_of(args, 1)[0]}
    answer = serve(model, device, gpus, request_of(args), **limits)
    retrieval = retrieval_of(args)
    ways = (
        compare_ways(model, device, gpus, question_of(args), retrieval, **limits)
        if retrieval
        else []
    )
    if args.json:
        data = answer.to_json()
        print_json(data | {"retrieval": [way.to_json() for way in ways]} if ways else data)
    else:
        print("\n".join([_text(answer), *([_ways(ways, answer)] if ways else [])]))
    return 0


def show_services(args: argparse.Namespace, model: str, machines: list[tuple[int, str]]) -> int:
    """Print how each of several clusters serves a model, the cheapest or quickest marked.

    Raises:
        InputError: if the model fits none of them, or something asks for one cluster.
    """
    from costlab.cli.plan_training import rates_of
    from costlab.planning.service import SCHEMA, services

    if args.passages:
        raise InputError(
            _("--passages is for one cluster"),
            given=args.gpus,
            advice=_("leave one of them out"),
        )
    rates = rates_of(args, len(machines))
    asked = [(device, gpus, rate) for (gpus, device), rate in zip(machines, rates, strict=True)]
    found = services(model, asked, request_of(args), **_limits(args))
    best = min((one for one in found if one.service), key=lambda one: one.mark)
    if args.json:
        rows = [one.to_json() | {"best": one is best} for one in found]
        print_json({"schema": SCHEMA, "job": "serve", "model": model, "clusters": rows})
        return 0
    lines, notes = [], []
    for one in found:
        where = f"{one.gpus} x {one.device}"
        row = one.row
        if row is None:
            lines.append((where, *[""] * 6))
            notes.append(f"{where}: {one.reason}")
            continue
        cost = row["cost_per_million_tokens"]
        lines.append(
            (("* " if one is best else "") + where, f"{row['replicas']} x tp {row['tp']}",
             str(row["concurrency"]), format_value(row["ttft_s"], "s"),
             format_value(row["tpot_s"], "s"), format_count(round(row["tokens_per_s"])),
             "" if cost is None else f"{cost:.2f}")
        )  # fmt: skip
    heads = (_("devices"), _("replicas"), _("concurrency"), "TTFT", "TPOT", _("tokens/s"),
             _("{c} per 1M tokens").format(c=rates[0].currency))  # fmt: skip
    shown = len(heads) - all(rate.price_per_hour is None for rate in rates)
    mark = _("* fewest {c} per token") if shown == len(heads) else _("* most tokens/s a device")
    print(table(heads[:shown], [line[:shown] for line in lines], right="llrrrrr"[:shown]))
    print("\n".join([mark.format(c=rates[0].currency), *notes]))
    return 0


def _limits(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "tpot_s": args.tpot and parsed(parse_seconds, "--tpot", args.tpot),
        "ttft_s": args.ttft and parsed(parse_seconds, "--ttft", args.ttft),
        "per_node": args.per_node and parsed(parse_count, "--per-node", args.per_node),
        "link_bytes_per_s": args.link and parsed(parse_rate, "--link", args.link),
        "memory_bytes": args.memory and parsed(parse_bytes, "--memory", args.memory),
    }


def _ways(ways: list[Way], answer: Service) -> str:
    """Ways to bring documents to a question, each at its best concurrency."""
    rows, reasons = [], []
    for way in ways:
        data = way.to_json()
        best = data["best"]
        if best is None:
            rows.append((way.name, format_count(way.request.prompt), "", "", "", "", ""))
            reasons.append(f"{way.name}: {way.reason}")
            continue
        cost = best["cost_per_million_tokens"]
        rows.append(
            (way.name, format_count(way.request.prompt), str(best["concurrency"]),
             format_value(best["ttft_s"], "s"), format_value(best["tpot_s"], "s"),
             format_count(round(best["tokens_per_s"])), "" if cost is None else f"{cost:.2f}")
        )  # fmt: skip
    currency = answer.cluster.rates.currency
    heads = (_("before the question"), _("prompt"), _("concurrency"), "TTFT", "TPOT",
             _("tokens/s"), _("{c} per 1M tokens").format(c=currency))  # fmt: skip
    shown = len(heads) - (answer.cluster.rates.price_per_hour is None)
    found = table(heads[:shown], [row[:shown] for row in rows], right="lrrrrrr"[:shown])
    return "\n".join(["", found, *reasons])


def _length(tokens: int | None) -> str:
    return _("any") if tokens is None else format_count(tokens)


def _text(answer: Service) -> str:
    server, data = answer.server, answer.to_json()
    lines = [
        _("{model}: {parameters} parameters, weights in {weights}, on {gpus} x {device}").format(
            model=server.model.name, parameters=format_count(data["parameters"]),
            weights=data["weights"], gpus=data["gpus"], device=data["device"],
        ),
        _("{replicas} x tp {tp}; of {size} a device: weights {weights}, left {free}").format(
            replicas=answer.replicas, tp=server.tp, size=format_value(server.memory, "B"),
            weights=format_value(data["weights_bytes"], "B"),
            free=format_value(data["free_bytes"], "B"),
        ),
        _("requests of {prompt} + {output} tokens: at most {most} at once a replica; longest "
          "sequence {longest}; {blocks} blocks of {block} tokens").format(
            prompt=data["prompt"], output=data["output"],
            most=format_count(data["max_concurrency"]), longest=_length(data["max_context"]),
            blocks=_length(data["blocks"]), block=data["block_tokens"],
        ),
        "",
    ]  # fmt: skip
    rows = [
        (
            ("* " if row["concurrency"] == answer.chosen else "") + str(row["concurrency"]),
            format_value(row["ttft_s"], "s"),
            format_value(row["tpot_s"], "s"),
            format_value(row["stall_s"], "s"),
            format_count(round(row["tokens_per_s"])),
            format_value(int(row["state_bytes"]), "B"),
            row["decode_limiter"],
            "" if row["cost_per_million_tokens"] is None
            else f"{row['cost_per_million_tokens']:.2f}",
        )
        for row in data["rows"]
    ]  # fmt: skip
    heads = (_("concurrency"), "TTFT", "TPOT", _("stall"), _("tokens/s"),
             _("state of a device"),
             _("decode limited by"), _("{c} per 1M tokens").format(c=data["currency"]))  # fmt: skip
    shown = len(heads) - (data["rows"][0]["cost_per_million_tokens"] is None)
    lines.append(table(heads[:shown], [row[:shown] for row in rows], right="rrrrrrlr"[:shown]))
    lines.append(_("* the most tokens per second within the limits"))
    lines += [f"{name}: {meaning}" for name, meaning in data["terms"].items()]
    lines += [_("assumed: {what}").format(what=what) for what in data["assumptions"]]
    return "\n".join(lines)
