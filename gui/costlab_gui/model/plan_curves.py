"""How a plan's figures follow one input, and which clusters no other beats: pictures as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from costlab.errors import CostLabError
from costlab.figures.spec import LOG, Axis, FigureSpec, Ring, Series
from costlab.i18n import _
from costlab_gui.model.plan import Answer, Head, Problem, answer, ask
from costlab_gui.model.plan_fields import FIELDS, command_line
from costlab_gui.model.to_plan import SERVE, TRAIN, VIEWS, ToPlan

MEMORY, TIME, PARETO, GPUS, LENGTH, BATCH = VIEWS
_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
_SHARE = 100.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A picture of several answers; ``figure`` is None where ``why`` says so.

    Attributes:
        text: the picture in words.
        missing: inputs that have no answer, with the reason.
    """

    figure: FigureSpec | None = None
    text: str = ""
    missing: Mapping[int, str] = field(default_factory=dict)
    why: str = ""


def view_titles(job: str) -> dict[str, str]:
    """The views that a job has, with what stands on their buttons."""
    named = {
        MEMORY: _("Memory"), TIME: _("Time"), PARETO: _("Pareto"), GPUS: _("GPUs"), LENGTH: "n",
        BATCH: "b",
    }  # fmt: skip
    if job == SERVE:
        named |= {LENGTH: _("Prompt"), BATCH: _("Concurrency")}
    left_out = {TRAIN: (), SERVE: (TIME,)}.get(job, (TIME, PARETO))
    return {key: title for key, title in named.items() if key not in left_out}


def quantities(wish: ToPlan, view: str) -> tuple[Head, ...]:
    """What can be drawn in a view; the first is drawn unless another one is chosen."""
    money = Head("cost", _("cost"), "money") if wish.price else Head(
        "gpu_hours", _("GPU hours"), "count"
    )  # fmt: skip
    energy = Head("energy_j", _("energy"), "kWh")
    if view in (MEMORY, TIME):
        return ()
    if view == PARETO:
        rate = Head("tokens_per_s", _("tokens/s"), "count")
        return (money, energy) if wish.job == TRAIN else (rate,)
    if wish.job == TRAIN:
        return (
            Head("days", _("days"), "days"), money, energy,
            Head("tokens_per_s", _("tokens/s"), "count"), Head("mfu", "MFU", "percent"),
            Head("memory_total_bytes", _("memory"), "B"),
        )  # fmt: skip
    if wish.job == SERVE:
        price = Head("cost_per_million_tokens", _("price per 1M tokens"), "price")
        return (
            Head("tokens_per_s", _("tokens/s"), "count"), Head("tpot_s", "TPOT", "s"),
            Head("ttft_s", "TTFT", "s"), *((price,) if wish.price else ()),
        )  # fmt: skip
    return (
        Head("step_s_at_least", _("least time of a step"), "s"),
        Head("peak_bytes", _("memory"), "B"),
    )


def chosen(wish: ToPlan, view: str, key: str) -> Head:
    """The quantity ``key``, or the first of the view.

    Raises:
        IndexError: for a view without quantities.
    """
    found = quantities(wish, view)
    return next((head for head in found if head.key == key), found[0])


def curve(wish: ToPlan, view: str, key: str, wanted: Callable[[], bool] = lambda: True) -> Curve:
    """The picture of a view.

    Args:
        wish: what is asked for.
        view: one of ``VIEWS`` that is a curve.
        key: of :func:`quantities`.
        wanted: asked before each answer; once it is False, what was found so far is returned.
    """
    try:
        here = answer(wish)
    except CostLabError as error:
        return Curve(why=str(error))
    head = chosen(wish, view, key)
    if wish.job == SERVE and view in (BATCH, PARETO):
        return _over_concurrency(here, view, head)
    name = _input(wish, view)
    start = int(_value(here, name))
    found: dict[int, Answer] = {}
    missing: dict[int, str] = {}
    for value in _values(start, name):
        if not wanted():
            break
        one = ask(replace(wish, **{name: str(value)}))  # type: ignore[arg-type]
        if isinstance(one, Problem):
            missing[value] = one.text
        else:
            found[value] = one
    if view == PARETO:
        return _pareto(here, found, missing, head)
    return _over(here, name, start, found, missing, head)


def command(wish: ToPlan, view: str) -> str:
    """The command that prints what a view shows."""
    if wish.job != TRAIN or view not in (PARETO, GPUS) or not wish.gpus.isdigit():
        return command_line(wish)
    counts = ",".join(f"{at}x{wish.device}" for at in _values(int(wish.gpus), "gpus"))
    return command_line(wish, counts)


def _input(wish: ToPlan, view: str) -> str:
    if view == LENGTH:
        return "prompt" if wish.job == SERVE else "length"
    if view == BATCH:
        return "batch" if wish.job == TRAIN else "micro"
    return "gpus"


def _value(here: Answer, name: str) -> float:
    from costlab.units import parse_count

    text = str(getattr(here.wish, name)) or here.usual.get(name, "") or FIELDS[name].usual
    return parse_count(text)


def _values(start: int, name: str) -> Iterator[int]:
    """``start`` times powers of two, whole and within the field's range."""
    known = FIELDS[name]
    for factor in _FACTORS:
        value = start * factor
        if value == int(value) and max(known.low, 1) <= value <= known.high:
            yield int(value)


def _figures(one: Answer, key: str) -> float | None:
    """A figure of the proposed row, or of the whole answer."""
    value = one.rows[one.best].get(key, one.data.get(key))
    return None if value is None else float(value)


def _drawn(head: Head, value: float) -> float:
    """The value on the axis of :func:`_axis`."""
    return {"percent": _SHARE, "kWh": 1 / 3.6e6}.get(head.form, 1.0) * value


def _axis(head: Head, currency: str) -> Axis:
    units = {"percent": "%", "s": "s", "B": "B"}
    named = {"kWh": _("energy in kWh"), "money": _("cost in {currency}").format(currency=currency)}
    return Axis(named.get(head.form, head.title), units.get(head.form, ""), LOG)


def _over(
    here: Answer, name: str, start: int, found: Mapping[int, Answer],
    missing: Mapping[int, str], head: Head,
) -> Curve:  # fmt: skip
    points = [
        (float(at), _drawn(head, value))
        for at, one in found.items()
        if (value := _figures(one, head.key)) is not None and value > 0
    ]
    if not points:
        return Curve(why=_("nothing is known of {what} here").format(what=head.title))
    x, y = zip(*points, strict=True)
    series = [Series(here.wish.model, x, y)]
    now = dict(points).get(float(start))
    if name == "gpus" and head.key == "days" and now is not None:
        ideal = tuple(now * start / at for at in x)
        series.append(Series(_("as if time shrank with every GPU"), x, ideal, colour=7, faint=True))
    field_ = FIELDS[name]
    label = _("GPUs") if name == "gpus" else f"{field_.title}, {field_.hint}"
    rings: tuple[Ring, ...] = ()
    if now is not None:
        value = _figures(here, head.key)
        words = _written(here, head, value)
        rings = (Ring(float(start), now, words),)
    figure = FigureSpec(
        _("{model}: {what} of the best plan at each point").format(
            what=head.title, model=here.data["model"]
        ),
        Axis(label, "", LOG),
        _axis(head, here.currency),
        tuple(series),
        rings=rings,
    )
    told = [
        _("{at}: {value}").format(at=at, value=_written(one, head, _figures(one, head.key)))
        for at, one in found.items()
    ]
    return Curve(figure, f"{label}: " + "; ".join(told), missing)


def _pareto(
    here: Answer, found: Mapping[int, Answer], missing: Mapping[int, str], head: Head
) -> Curve:
    marks = {
        at: (float(one.rows[0]["days"]), _drawn(head, value))
        for at, one in found.items()
        if (value := _figures(one, head.key)) is not None and value > 0
    }
    if not marks:
        return Curve(why=_("nothing is known of {what} here").format(what=head.title))
    best = [at for at, mine in marks.items() if not _beaten(mine, list(marks.values()))]
    ordered = sorted(marks)
    all_of_it = Series(
        _("other numbers of GPUs"), *_columns([marks[at] for at in ordered]), colour=7, faint=True
    )
    front = Series(_("not beaten in both"), *_columns([marks[at] for at in best]))
    series = (front,) if len(best) == len(marks) else (all_of_it, front)
    figure = FigureSpec(
        _("{model} on {device}: time against {what}").format(
            what=head.title, model=here.data["model"], device=here.data["device"]
        ),
        Axis(_("days"), "", LOG),
        _axis(head, here.currency),
        series,
        rings=tuple(Ring(*marks[at], _("{n} GPUs").format(n=at)) for at in best),
    )
    told = [
        _("{n} GPUs: {days} days, {value}").format(
            n=at, days=found[at].text(0, Head("days", "", "days")),
            value=_written(found[at], head, _figures(found[at], head.key)),
        )
        for at in best
    ]  # fmt: skip
    return Curve(figure, "; ".join(told), missing)


def _over_concurrency(here: Answer, view: str, head: Head) -> Curve:
    over = "tpot_s" if view == PARETO else "concurrency"
    points = [(float(row[over]), float(row[head.key])) for row in here.rows]
    label, unit = (_("TPOT"), "s") if view == PARETO else (_("concurrency of a replica"), "")
    at = here.rows[here.best]
    words = _("{n} at once: {value}").format(
        n=at["concurrency"], value=_written(here, head, at[head.key])
    )
    figure = FigureSpec(
        _("{model} on {gpus} x {device}: {what}").format(
            what=head.title, model=here.data["model"], gpus=here.data["gpus"],
            device=here.data["device"],
        ),
        Axis(label, unit, LOG),
        _axis(head, here.currency),
        (Series(here.wish.model, *_columns(points)),),
        rings=(Ring(*points[here.best], words),),
    )  # fmt: skip
    told = [
        _("{n} at once: {value}").format(
            n=row["concurrency"], value=_written(here, head, row[head.key])
        )
        for row in here.rows
    ]
    return Curve(figure, "; ".join(told))


def _beaten(mine: tuple[float, float], others: list[tuple[float, float]]) -> bool:
    return any(o != mine and o[0] <= mine[0] and o[1] <= mine[1] for o in others)


def _columns(
    points: list[tuple[float, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(x for x, _y in points), tuple(y for _x, y in points)


def _written(one: Answer, head: Head, value: float | None) -> str:
    from costlab_gui.model.plan import written

    text = written(value, head.form, one.currency)
    return text if head.form not in ("days", "count") else f"{text} {head.title}"
