"""The answer to fine-tuning, adapters, distillation and preferences: phases of a step."""

from __future__ import annotations

from typing import Any

from costlab.figures.spec import LINEAR, Axis, Layer, Mark, StackSpec
from costlab.i18n import _
from costlab.planning.bundled import named
from costlab.planning.model import usual_length
from costlab.planning.tuning import Asked, Tuning, tune
from costlab.units import format_value
from costlab_gui.model.plan import Answer, Head, amount, count, written
from costlab_gui.model.plan_fields import job_title, work_fields
from costlab_gui.model.to_plan import ToPlan

# Adapters take the place of gradients and optimizer, and no job has a teacher and a reward model.
_COLOURS = {
    "weights": 3, "gradients": 4, "optimizer": 1, "adapters": 4, "teacher": 6, "reference": 2,
    "reward": 6, "critic": 5, "reserve": 7,
}  # fmt: skip
_MOMENT, _OTHER = 0, 6


def heads() -> tuple[Head, ...]:
    """The columns of phases."""
    return (
        Head("name", _("phase")),
        Head("flop", "FLOP", "FLOP", _("of all devices")),
        Head("total_bytes", _("memory"), "B", _("of a device during the phase")),
        Head("moment_bytes", _("bytes of the moment"), "B", _("beside what stays")),
        Head("seconds_at_least", _("at least"), "s", _("at the makers' rates")),
    )


def tuning(wish: ToPlan) -> Tuning:
    """What the engine finds.

    Raises:
        InputError: see :func:`costlab_gui.model.plan.answer`.
    """
    config = named(wish.model)
    has = set(work_fields(wish.job))
    asked = Asked(
        length=count(wish, "length") or usual_length(config),
        micro=count(wish, "micro", 1) or 0,
        rank=(count(wish, "rank", 0) or 0) if "rank" in has else 0,
        targets=tuple((wish.targets or "q,v").split(",")) if "targets" in has else ("q", "v"),
        other=named(wish.other) if wish.other and "other" in has else None,
        zero=int(wish.zero or 3),
        recompute=wish.recompute,
        offload=wish.offload and "offload" in has,
        output=(count(wish, "answer", 512) or 0) if "answer" in has else 512,
    )
    return tune(
        wish.job, config, wish.device, count(wish, "gpus", 8) or 0, asked,
        memory_bytes=amount(wish, "memory"),
    )  # fmt: skip


def tuned(wish: ToPlan) -> Answer:
    """The answer to a tuning job; see :func:`costlab_gui.model.plan.answer`."""
    found = tuning(wish)
    data = found.to_json()
    held = sum(data["held_bytes"].values())
    rows: tuple[dict[str, Any], ...] = tuple(
        {**phase, "total_bytes": held + phase["moment_bytes"]} for phase in data["phases"]
    )
    best = max(range(len(rows)), key=lambda at: float(rows[at]["total_bytes"]))
    headline = _("{job} of {model} on {gpus} x {device}: {peak} of a device; a step takes at "
                 "least {time}").format(
        job=job_title(wish.job), model=data["model"], gpus=data["gpus"], device=data["device"],
        peak=written(data["peak_bytes"], "B"), time=format_value(data["step_s_at_least"], "s"),
    )  # fmt: skip
    return Answer(
        wish, data, headline, heads(), rows, best, _memory(data, rows), None,
        tuple(_facts(data, row) for row in rows), tuple(_reasons(data) for _row in rows),
        _usual(wish, found),
    )  # fmt: skip


def _usual(wish: ToPlan, found: Tuning) -> dict[str, str]:
    rank = "16" if wish.job in ("lora", "qlora") else _("none: every weight")
    size = format_value(int(found.capacity), "B")
    return {"length": str(found.length), "memory": size, "rank": rank}


def _memory(data: dict[str, Any], rows: tuple[dict[str, Any], ...]) -> StackSpec:
    layers = [
        Layer(kind, tuple(size for _row in rows), _COLOURS.get(kind, _OTHER))
        for kind, size in data["held_bytes"].items()
        if size
    ]
    moment = Layer(_("of the moment"), tuple(row["moment_bytes"] for row in rows), _MOMENT)
    capacity = data["capacity_bytes"]
    return StackSpec(
        title=_("Memory of a device, {job} of {model} on {gpus} x {device}").format(
            job=job_title(data["job"]), model=data["model"], gpus=data["gpus"],
            device=data["device"],
        ),
        y=Axis(_("memory of a device"), "B", LINEAR),
        moments=tuple(row["name"] for row in rows),
        phases=("",) * len(rows),
        layers=(*layers, moment),
        marks=(
            Mark("y", capacity, _("capacity {size}").format(size=format_value(int(capacity), "B"))),
        ),
    )  # fmt: skip


def _facts(data: dict[str, Any], row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    facts = [
        (_("peak of a device"), f"{written(data['peak_bytes'], 'B')} / "
                                f"{written(data['capacity_bytes'], 'B')}"),
        (_("parameters that learn"), written(data["trained_parameters"], "count")),
        (_("phase {name}").format(name=row["name"]), written(row["seconds_at_least"], "s")),
        (_("step, at least"), written(data["step_s_at_least"], "s")),
    ]  # fmt: skip
    if data["host_bytes"]:
        facts.append((_("host's memory, per device"), written(data["host_bytes"], "B")))
    return tuple(facts)


def _reasons(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    share = data["peak_bytes"] / data["capacity_bytes"]
    text = _("{binds} takes most of the memory; {share:.0%} of the device is used at the peak")
    return ((_("What binds"), text.format(binds=data["binds"], share=share)),)
