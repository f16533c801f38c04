"""The answer to a serving job: concurrencies of the best server."""

from __future__ import annotations

from typing import Any

from costlab.figures.spec import LINEAR, Axis, Layer, Mark, StackSpec
from costlab.i18n import _
from costlab.planning.cluster import Rates
from costlab.planning.precision import named
from costlab.planning.request import TERMS, Request
from costlab.planning.service import Service, serve
from costlab.units import format_count, format_value
from costlab_gui.model.plan import Answer, Head, amount, count, written
from costlab_gui.model.to_plan import ToPlan

_NARROW = "bf16"


def heads(currency: str) -> tuple[Head, ...]:
    """The columns of concurrencies."""
    return (
        Head("concurrency", _("concurrency"), "count", TERMS["concurrency"]),
        Head("ttft_s", "TTFT", "s", TERMS["TTFT"]),
        Head("tpot_s", "TPOT", "s", TERMS["TPOT"]),
        Head("stall_s", _("stall"), "s", TERMS["stall"]),
        Head("tokens_per_s", _("tokens/s"), "count", TERMS["throughput"]),
        Head("state_bytes", _("state of a device"), "B", _("keys, values and states")),
        Head("cost_per_million_tokens", _("{c} per 1M tokens").format(c=currency), "price"),
        Head("decode_limiter", _("decode limited by")),
    )


def service(wish: ToPlan) -> Service:
    """What the engine finds.

    Raises:
        InputError: see :func:`costlab_gui.model.plan.answer`.
    """
    request = Request(
        prompt=count(wish, "prompt", 1024) or 0,
        output=count(wish, "output", 256) or 0,
        weights=named(wish.weights or _NARROW),
        kv=named(wish.kv or _NARROW),
        chunk=count(wish, "chunk", 0) or 0,
    )
    return serve(
        wish.model,
        wish.device,
        count(wish, "gpus", 8) or 0,
        request,
        tpot_s=amount(wish, "tpot"),
        ttft_s=amount(wish, "ttft"),
        per_node=count(wish, "per_node"),
        link_bytes_per_s=amount(wish, "link"),
        memory_bytes=amount(wish, "memory"),
        rates=Rates(amount(wish, "price")),
    )


def served(wish: ToPlan) -> Answer:
    """The answer to a serving job; see :func:`costlab_gui.model.plan.answer`."""
    found = service(wish)
    data = found.to_json()
    rows: tuple[dict[str, Any], ...] = tuple(data["rows"])
    best = next(i for i, row in enumerate(rows) if row["concurrency"] == data["chosen_concurrency"])
    headline = _("{model}, weights in {weights}, on {gpus} x {device}: {rate} tokens/s at {most} "
                 "requests at once; {replicas} x tp {tp}").format(
        model=data["model"], weights=data["weights"], gpus=data["gpus"], device=data["device"],
        rate=written(rows[best]["tokens_per_s"], "count"), most=rows[best]["concurrency"],
        replicas=data["replicas"], tp=data["tp"],
    )  # fmt: skip
    reasons = [_reasons(found, data, row) for row in rows]
    return Answer(
        wish, data, headline, heads(data["currency"]), rows, best, _memory(found, data, rows),
        None, tuple(_facts(data, row) for row in rows), tuple(reasons),
        _usual(found),
    )  # fmt: skip


def _usual(found: Service) -> dict[str, str]:
    machines, request = found.cluster, found.server.request
    return {
        "prompt": str(request.prompt), "output": str(request.output),
        "weights": request.weights.name, "kv": request.kv.name,
        "per_node": str(machines.per_node),
        "link": format_value(machines.link_bytes_per_s, "B/s"),
        "memory": format_value(int(found.server.memory), "B"),
    }  # fmt: skip


def _memory(found: Service, data: dict[str, Any], rows: tuple[dict[str, Any], ...]) -> StackSpec:
    usable = found.server.memory * found.server.request.share
    reserve = usable - data["weights_bytes"] - data["free_bytes"]
    return StackSpec(
        title=_("Memory of a device, {model} on {gpus} x {device}").format(
            model=data["model"], gpus=data["gpus"], device=data["device"]
        ),
        y=Axis(_("memory of a device"), "B", LINEAR),
        moments=tuple(format_count(row["concurrency"]) for row in rows),
        phases=("",) * len(rows),
        layers=(
            Layer(_("weights"), tuple(data["weights_bytes"] for _row in rows), 3),
            Layer(_("reserve"), tuple(reserve for _row in rows), 7),
            Layer(_("keys, values, states"), tuple(row["state_bytes"] for row in rows), 0),
        ),
        marks=(
            Mark("y", usable, _("the server may use {size}").format(
                size=format_value(int(usable), "B"))),
        ),
    )  # fmt: skip


def _facts(data: dict[str, Any], row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    longest = data["max_context"]
    return (
        ("TTFT", written(row["ttft_s"], "s")),
        ("TPOT", written(row["tpot_s"], "s")),
        (_("tokens/s"), written(row["tokens_per_s"], "count")),
        (_("weights of a device"), written(data["weights_bytes"], "B")),
        (_("most at once, a replica"), written(data["max_concurrency"], "count")),
        (_("longest sequence"), _("any") if longest is None else format_count(longest)),
    )


def _reasons(
    found: Service, data: dict[str, Any], row: dict[str, Any]
) -> tuple[tuple[str, str], ...]:
    binds = _("The first token waits for {first}, the next ones for {next}.").format(
        first=_limiter(row["prefill_limiter"]), next=_limiter(row["decode_limiter"])
    )
    reasons = [(_("What binds"), binds)]
    if row["concurrency"] == data["max_concurrency"]:
        text = _("{free} are left for requests beside the weights, each holds {one}: memory binds "
                 "the concurrency").format(
            free=written(data["free_bytes"], "B"),
            one=written(found.server.sequence_bytes(found.server.request.context), "B"),
        )  # fmt: skip
        reasons.append((_("Why no more at once"), text))
    if row["concurrency"] != found.chosen:
        reasons.append(
            (_("Why it lost"), _("{rate} tokens/s, the best has {best} within the limits").format(
                rate=written(row["tokens_per_s"], "count"),
                best=written(next(r["tokens_per_s"] for r in data["rows"]
                                  if r["concurrency"] == found.chosen), "count"),
            ))
        )  # fmt: skip
    return tuple(reasons)


def _limiter(name: str) -> str:
    return {
        "products": _("the products"), "weights": _("reading the weights"),
        "attention": _("attention's products"), "state": _("reading keys, values and states"),
        "links": _("the links"),
    }.get(name, name)  # fmt: skip
