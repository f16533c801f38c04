"""Where a number of a plan comes from: its sum or quotient, the constants and their sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from costlab.hardware.catalogue import load_profile
from costlab.hardware.profile import DeviceProfile
from costlab.i18n import _
from costlab.planning.request import TERMS
from costlab.units import format_value
from costlab_gui.model.constants import published
from costlab_gui.model.origin import Origin
from costlab_gui.model.plan import Answer, Head
from costlab_gui.model.plan_fields import FIELDS
from costlab_gui.model.plan_serving import service
from costlab_gui.model.plan_training import training
from costlab_gui.model.to_plan import SERVE, TRAIN
from costlab_gui.model.wording import Line, Section, share_text

_DAY = 86_400


def origin(answer: Answer, row: int, head: Head) -> Origin:
    """The origin of the number of a row and column, or of the row's first figure.

    It is computed anew where the answer holds too little, in up to a few tenths of a second.
    """
    sections = [Section(_("Formula"), tuple(_formula(answer, row, head)))]
    profile = load_profile(answer.wish.device)
    sections.append(Section(_("Constants and their sources"), tuple(_constants(answer, profile))))
    sections.append(Section(_("Basis"), tuple(_basis(answer))))
    sections.append(Section(_("Assumptions"), tuple(Line("", text) for text in answer.assumptions)))
    return Origin(
        _("{what}: {headline}").format(what=head.title, headline=_of(answer, row)),
        answer.text(row, head),
        _("predicted, not measured"),
        tuple(sections),
    )


def _of(answer: Answer, row: int) -> str:
    data, found = answer.data, answer.rows[row]
    where = _("{model} on {gpus} x {device}").format(
        model=data["model"], gpus=data["gpus"], device=data["device"]
    )
    name = found.get("text") or found.get("name")
    if answer.wish.job == SERVE:
        name = _("{n} requests at once").format(n=found["concurrency"])
    return f"{where}, {name}"


def _formula(answer: Answer, row: int, head: Head) -> Iterator[Line]:
    of_job = {TRAIN: _training, SERVE: _serving}.get(answer.wish.job, _tuning)
    yield from of_job(answer, row, head)


def _training(answer: Answer, at: int, head: Head) -> Iterator[Line]:
    data, row = answer.data, answer.rows[at]
    step, rate = format_value(row["step_s"], "s"), _count(row["tokens_per_s"])
    hours = _count(row["gpu_hours"])
    seconds = row["days"] * _DAY
    plan = row["plan"]
    key = head.key
    if key in ("days", "gpu_hours", "cost", "energy_j", "carbon_kg"):
        yield Line(
            _("time"),
            _("{tokens} tokens / {rate} tokens/s = {time}").format(
                tokens=_count(data["tokens"]), rate=rate, time=format_value(seconds, "s")
            ),
        )
    if key in ("gpu_hours", "cost"):
        yield Line(
            _("GPU hours"),
            _("{days} days x 24 x {gpus} = {hours}").format(
                days=f"{row['days']:.4g}", gpus=data["gpus"], hours=hours
            ),
        )
    if key == "cost":
        yield Line(_("cost"), f"{hours} x {answer.wish.price} {answer.currency}")
    if key in ("energy_j", "carbon_kg"):
        yield Line(
            _("energy"), _("power limit x {gpus} x time: an upper figure").format(gpus=data["gpus"])
        )
    if key == "carbon_kg":
        yield Line("CO2", _("energy x {grams} g/kWh").format(grams=answer.wish.carbon))
    if key in ("tokens_per_s", "days"):
        yield Line(
            _("tokens/s"),
            _("{b} sequences x {n} tokens / {step} = {rate}").format(
                b=plan["batch"], n=data["length"], step=step, rate=rate
            ),
        )
    if key == "mfu":
        found = training(answer.wish).found
        flop = found.work.model_flop * plan["batch"]
        peak = found.cluster.flop_per_s("bfloat16")
        yield Line(
            "MFU",
            _("{flop} of the model a step / ({step} x {peak} x {gpus}) = {mfu}").format(
                flop=format_value(flop, "FLOP"),
                step=step,
                gpus=data["gpus"],
                peak=format_value(peak, "FLOP/s"),
                mfu=answer.text(at, head),
            ),
        )
    if key == "memory_total_bytes":
        yield from _sum(row["memory_bytes"], "B")
    elif key not in ("number", "short"):
        yield Line(_("a step"), _("the sum of its causes, {step}").format(step=step))
        yield from _sum(row["time_s"], "s")
    if key in ("short", "limiter", "number"):
        yield Line(_("division"), row["text"])
        yield Line(_("what binds"), row["why"])


def _serving(answer: Answer, at: int, head: Head) -> Iterator[Line]:
    row, data = answer.rows[at], answer.data
    found = service(answer.wish)
    meaning = {
        "ttft_s": "TTFT",
        "tpot_s": "TPOT",
        "stall_s": "stall",
        "tokens_per_s": "throughput",
    }.get(head.key, "concurrency")
    yield Line(meaning, TERMS[meaning])
    if head.key in ("ttft_s", "stall_s", "tokens_per_s"):
        yield Line(_("prefill"), _("of {n} tokens, the sum of its causes").format(n=data["prompt"]))
        yield from _sum(found.server.prefill(), "s")
    if head.key != "ttft_s":
        yield Line(
            _("one token"),
            _("of {n} sequences, the sum of its causes").format(n=row["concurrency"]),
        )
        yield from _sum(found.server.decode(row["concurrency"]), "s")
    if head.key == "state_bytes":
        one = found.server.sequence_bytes(found.server.request.context)
        yield Line(
            _("state"),
            _("{n} requests x {one} in blocks of {block} tokens").format(
                n=row["concurrency"], one=format_value(int(one), "B"), block=data["block_tokens"]
            ),
        )
    if head.key == "cost_per_million_tokens":
        yield Line(
            _("price"),
            _("{price} x {gpus} an hour / {rate} tokens/s x 1M / 3600").format(
                price=answer.wish.price, gpus=data["gpus"], rate=_count(row["tokens_per_s"])
            ),
        )


def _tuning(answer: Answer, at: int, head: Head) -> Iterator[Line]:
    row, data = answer.rows[at], answer.data
    if head.key in ("total_bytes", "moment_bytes"):
        held: dict[str, float] = dict(data["held_bytes"])
        yield from _sum(held | {_("of the moment"): row["moment_bytes"]}, "B")
    else:
        yield Line(
            "FLOP",
            _("of {n} sequences of {length} tokens on {gpus} devices: {flop}").format(
                n=data["sequences"],
                length=data["length"],
                gpus=data["gpus"],
                flop=format_value(row["flop"], "FLOP"),
            ),
        )
        yield Line(
            _("at least"),
            _("FLOP / (matrix rate x {gpus}), or what has to be read or sent: {time}").format(
                gpus=data["gpus"], time=format_value(row["seconds_at_least"], "s")
            ),
        )


def _sum(parts: dict[str, float], unit: str) -> Iterator[Line]:
    total = sum(parts.values()) or 1.0
    for name, value in sorted(parts.items(), key=lambda item: -item[1]):
        if value:
            number: Any = int(value) if unit == "B" else value
            yield Line(name, f"{format_value(number, unit)} ({share_text(value / total)})")


def _constants(answer: Answer, profile: DeviceProfile) -> Iterator[Line]:
    wanted = {"matrix.bfloat16", "bandwidth", "capacity", "power", "link", "network", "per_node"}
    if "matrix.bfloat16" not in profile.constants():
        wanted.add("matrix.float16")
    given = {"capacity": "memory", "link": "link", "network": "network", "per_node": "per_node"}
    typed = {name: str(getattr(answer.wish, field)) for name, field in given.items()}
    for whole, constant in profile.constants().items():
        name = whole.removeprefix("interconnect.")
        if name in wanted and not typed.get(name):
            yield published(name, constant)
    for name, text in typed.items():
        if text:
            yield Line(FIELDS[given[name]].title, _("{value}, as it was given").format(value=text))


def _basis(answer: Answer) -> Iterator[Line]:
    yield Line(
        _("work"), _("formulas derived from the operators of each part of the model, at its sizes")
    )
    if answer.wish.job == TRAIN:
        soft = training(answer.wish).software
        yield Line(
            _("rates"),
            _("{title}: {products} of the matrix rate in products, {core} in attention").format(
                title=soft.title, products=share_text(soft.products), core=share_text(soft.core)
            ),
        )
        yield Line(_("fitted on"), soft.fitted)
        yield Line(_("errors"), soft.errors)
    else:
        yield Line(_("rates"), _("as their makers state them: times are lower bounds"))


def _count(value: float) -> str:
    return format_value(round(value), "")
