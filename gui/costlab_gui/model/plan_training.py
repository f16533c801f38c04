"""The answer to a training job: plans, the fastest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlab.figures.spec import LINEAR, Axis, Layer, Mark, StackSpec
from costlab.i18n import _
from costlab.planning.api import Training, plan
from costlab.planning.cluster import Rates
from costlab.planning.step_time import CAUSES
from costlab.units import format_count, format_value
from costlab_gui.model.plan import Answer, Head, amount, count, written
from costlab_gui.model.plan_fields import SHOWN
from costlab_gui.model.to_plan import ToPlan

# Bottom of the stack first, with palette indices that neighbours tell apart.
KINDS = {"weights": 3, "gradients": 4, "optimizer": 1, "activations": 0, "buffers": 2, "reserve": 7}
# Recurrence is of recurrent layers, expert of mixtures: one colour serves both.
_CAUSE_COLOURS = dict(zip(CAUSES, (3, 6, 1, 4, 6, 2, 7, 0, 5), strict=True))


def heads(currency: str) -> tuple[Head, ...]:
    """The columns of plans."""
    return (
        Head("number", "#", "count", _("place among those that fit, the fastest first")),
        Head("short", _("division"), hint=_("dp replicas, tp tensor, pp pipeline, cp context, ep "
                                            "expert parallel, v stages of a rank; sequences of a "
                                            "pass x passes")),
        Head("days", _("days"), "days"),
        Head("mfu", "MFU", "percent", _("model FLOP/s over the peak rate, recomputation not "
                                        "counted")),
        Head("memory_total_bytes", _("memory"), "B", _("of the fullest device")),
        Head("cost", _("cost"), "money", _("GPU hours at the price")),
        Head("energy_j", _("energy"), "kWh", _("at the power limit")),
        Head("tokens_per_s", _("tokens/s"), "count", _("of all devices")),
        Head("step_s", _("step"), "s", _("time of one step")),
        Head("gpu_hours", _("GPU hours"), "count"),
        Head("carbon_kg", _("CO2 [kg]"), "count", _("energy at the carbon intensity")),
        Head("limiter", _("limited by")),
    )  # fmt: skip


def training(wish: ToPlan, show: int = SHOWN) -> Training:
    """What the engine finds.

    Raises:
        InputError: see :func:`costlab_gui.model.plan.answer`.
    """
    return plan(
        wish.model,
        wish.device,
        count(wish, "gpus", 8) or 0,
        tokens=count(wish, "tokens", 300_000_000_000) or 0,
        length=count(wish, "length"),
        batch=count(wish, "batch"),
        per_node=count(wish, "per_node"),
        link_bytes_per_s=amount(wish, "link"),
        network_bytes_per_s=amount(wish, "network"),
        memory_bytes=amount(wish, "memory"),
        program=wish.software or None,
        rates=Rates(amount(wish, "price"), carbon_g_per_kwh=amount(wish, "carbon")),
        show=show,
    )


def trained(wish: ToPlan) -> Answer:
    """The answer to a training job; see :func:`costlab_gui.model.plan.answer`."""
    found = training(wish)
    data = found.to_json()
    rows = [
        {"number": at + 1, "short": short(row["plan"]), **row}
        for at, row in enumerate(data["plans"])
    ]
    currency = data["plans"][0]["currency"]
    best = rows[0]
    headline = _("{model}, {tokens} tokens on {gpus} x {device}: {days} days; the best of {tried} "
                 "plans, {fit} of which fit").format(
        model=data["model"], tokens=_billions(found.tokens), gpus=data["gpus"],
        device=data["device"], days=written(best["days"], "days"), tried=data["tried"],
        fit=data["fit"],
    )  # fmt: skip
    return Answer(
        wish, data, headline, heads(currency), tuple(rows), 0, _memory(data, rows),
        _time(data, rows), tuple(_facts(found, row, currency) for row in rows),
        tuple(_reasons(found, data, at) for at in range(len(rows))), _usual(found),
    )  # fmt: skip


def short(plan: Mapping[str, Any]) -> str:
    """A division of :meth:`Plan.to_json` in few letters: what is 1 or usual is left out.

    >>> short({"dp": 8, "tp": 2, "pp": 1, "cp": 1, "ep": 1, "interleave": 1, "zero": 3,
    ...        "recompute": "full", "micro": 1, "accumulation": 4})
    'dp 8 · tp 2 · ZeRO-3 · 1 x 4 · full recompute'
    """
    words = [f"{name} {plan[name]}" for name in ("dp", "tp", "pp", "cp", "ep") if plan[name] > 1]
    words += [f"v {plan['interleave']}"] if plan["interleave"] > 1 else []
    words += [f"ZeRO-{plan['zero']}"] if plan["zero"] > 1 else []
    words += [f"{plan['micro']} x {plan['accumulation']}"]
    if plan["recompute"] != "none":
        words.append(_("{level} recompute").format(level=plan["recompute"]))
    return " · ".join(words)


def _usual(found: Training) -> dict[str, str]:
    machines, plans = found.found.cluster, found.found.plans
    return {
        "length": str(found.found.work.length),
        "batch": str(int(plans.batch[found.shown[0]])),
        "tokens": "300B",
        "software": found.software.name,
        "per_node": str(machines.per_node),
        "link": _rate(machines.link_bytes_per_s),
        "network": _rate(machines.network_bytes_per_s),
        "memory": format_value(int(found.capacity), "B"),
    }


def _billions(tokens: float) -> str:
    return f"{tokens / 1e9:g}B" if tokens >= 1e9 else format_count(int(tokens))


def _rate(value: float) -> str:
    return format_value(value, "B/s") if value else _("none")


def _memory(data: dict[str, Any], rows: list[dict[str, Any]]) -> StackSpec:
    capacity = data["capacity_bytes"]
    mark = Mark("y", capacity, _("capacity {size}").format(size=format_value(int(capacity), "B")))
    title = _("Memory of the fullest device, {model} on {gpus} x {device}")
    axis = Axis(_("memory of a device"), "B", LINEAR)
    return _stack(title, axis, data, rows, "memory_bytes", KINDS, (mark,))


def _time(data: dict[str, Any], rows: list[dict[str, Any]]) -> StackSpec:
    title = _("Time of a step, {model} on {gpus} x {device}")
    axis = Axis(_("time of a step"), "s", LINEAR)
    return _stack(title, axis, data, rows, "time_s", _CAUSE_COLOURS)


def _stack(
    title: str,
    axis: Axis,
    data: dict[str, Any],
    rows: list[dict[str, Any]],
    quantity: str,
    colours: Mapping[str, int],
    marks: tuple[Mark, ...] = (),
) -> StackSpec:
    """A bar for each plan of what ``quantity`` of it is made of, as far as any plan has it."""
    return StackSpec(
        title=title.format(model=data["model"], gpus=data["gpus"], device=data["device"]),
        y=axis,
        moments=tuple(row["text"] for row in rows),
        phases=("",) * len(rows),
        layers=tuple(
            Layer(part, tuple(row[quantity][part] for row in rows), colour)
            for part, colour in colours.items()
            if any(row[quantity][part] for row in rows)
        ),
        marks=marks,
    )


def _facts(found: Training, row: dict[str, Any], currency: str) -> tuple[tuple[str, str], ...]:
    size = format_value(int(found.capacity), "B")
    facts = [
        (_("time"), _("{days} days").format(days=written(row["days"], "days"))),
        (_("tokens/s"), written(row["tokens_per_s"], "count")),
        ("MFU", written(row["mfu"], "percent")),
        (_("memory"), f"{written(row['memory_total_bytes'], 'B')} / {size}"),
        (_("GPU hours"), written(row["gpu_hours"], "count")),
        (_("cost"), written(row["cost"], "money", currency)),
        (_("energy"), written(row["energy_j"], "kWh")),
    ]
    return tuple(fact for fact in facts if fact[1] != "–")


def _reasons(found: Training, data: dict[str, Any], at: int) -> tuple[tuple[str, str], ...]:
    rows = data["plans"]
    reasons = [(_("Division"), rows[at]["text"]), (_("What binds"), rows[at]["why"])]
    if at:
        reasons.append((_("Why it lost"), _lost(rows, at)))
        return tuple(reasons)
    if len(rows) > 1:
        reasons.append((_("Why the runner-up lost"), f"{rows[1]['text']}: {_lost(rows, 1)}"))
    large = found.too_large()
    if large is not None:
        reasons.append(
            (_("With more memory"), large.text(found.found.plans[large.index].text()))
        )  # fmt: skip
    return tuple(reasons)


def _lost(rows: list[dict[str, Any]], at: int) -> str:
    if rows[at]["step_s"] > rows[0]["step_s"]:
        return str(rows[at]["lost"])
    return _("as fast, but takes {more} of memory instead of {best}").format(
        more=written(rows[at]["memory_total_bytes"], "B"),
        best=written(rows[0]["memory_total_bytes"], "B"),
    )
