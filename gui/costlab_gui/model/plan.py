"""The Plan page as data: the answer of ``costlab plan`` to what is asked, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from costlab.errors import CostLabError, InputError, UnknownNameError
from costlab.figures.spec import StackSpec
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.i18n import _
from costlab.planning.api import usual_batch
from costlab.planning.bundled import named, names
from costlab.planning.model import usual_length
from costlab.units import (
    format_count,
    format_percent,
    format_value,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)
from costlab_gui.model.plan_fields import FIELDS
from costlab_gui.model.to_plan import SERVE, TRAIN, ToPlan

_KWH = 3.6e6


class FieldError(InputError):
    """What stands in one field cannot be read; ``field`` is its name."""

    def __init__(self, field: str, given: str) -> None:
        super().__init__(
            _("cannot read {field}").format(field=FIELDS[field].title), given=given
        )  # fmt: skip
        self.field = field


@dataclass(frozen=True, slots=True)
class Head:
    """A column: the key of the rows, what stands above it, and how values are written.

    ``form`` is a unit of :func:`costlab.units.format_value`, or "count", "percent", "days",
    "money" (with the currency), "price", "kWh" or "text".
    """

    key: str
    title: str
    form: str = "text"
    hint: str = ""

    @property
    def figures(self) -> bool:
        return self.form != "text"


@dataclass(frozen=True, slots=True)
class Answer:
    """What ``costlab plan`` answers, with its words.

    Attributes:
        data: the answer as ``costlab plan --json`` prints it.
        headline: the answer in one sentence.
        heads, rows: the table, in the order of the columns of the picture.
        best: the row that is proposed.
        memory: bytes of a device by kind against its memory, one column per row.
        time: seconds by cause, likewise; None where causes are not known.
        facts: of each row, names and values in short.
        reasons: of each row, titled sentences: what binds, why it lost, what would help.
        usual: what was taken for fields that are empty, as it is typed.
    """

    wish: ToPlan
    data: Mapping[str, Any]
    headline: str
    heads: tuple[Head, ...]
    rows: tuple[Mapping[str, Any], ...]
    best: int
    memory: StackSpec
    time: StackSpec | None
    facts: tuple[tuple[tuple[str, str], ...], ...]
    reasons: tuple[tuple[tuple[str, str], ...], ...]
    usual: Mapping[str, str]

    def text(self, row: int, head: Head) -> str:
        """What stands in a cell."""
        return written(self.rows[row].get(head.key), head.form, self.currency)

    @property
    def currency(self) -> str:
        return str(self.data.get("currency") or "EUR")

    @property
    def assumptions(self) -> Sequence[str]:
        found: Sequence[str] = self.data["assumptions"]
        return found


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer, in one line; ``field`` is the one to be changed, "" none."""

    text: str
    field: str = ""


def ask(wish: ToPlan) -> Answer | Problem:
    """The answer to ``wish``, or why there is none."""
    try:
        return answer(wish)
    except FieldError as error:
        return Problem(str(error), error.field)
    except UnknownNameError as error:
        # All names of a kind are more than one line holds.
        found = [error.message, _("given: {name}").format(name=error.given), error.advice]
        field = "model" if error.given == wish.model else ""
        return Problem("; ".join(filter(None, found)), field)
    except CostLabError as error:
        return Problem(str(error))


def usual(wish: ToPlan) -> dict[str, str]:
    """What stands in for empty fields where there is no answer, as far as it is known."""
    found: dict[str, str] = {}
    with suppress(CostLabError):
        found["length"] = str(usual_length(named(wish.model)))
        length = count(wish, "length") or int(found["length"])
        found["batch"] = str(usual_batch(count(wish, "gpus", 8) or 1, length))
    with suppress(CostLabError):
        profile = load_profile(wish.device)
        constants = {"link": profile.link, "network": profile.network}
        rates = {name: c.value for name, c in constants.items() if c is not None}
        found |= {name: format_value(rate, "B/s") for name, rate in rates.items()}
        if profile.per_node is not None:
            found["per_node"] = str(int(profile.per_node.value))
        if profile.capacity is not None:
            found["memory"] = format_value(int(profile.capacity.value), "B")
    return found


def written(value: Any, form: str, currency: str = "EUR") -> str:
    """A value as ``costlab plan`` prints it; a dash where there is none."""
    if value is None:
        return "–"
    writers: dict[str, Callable[[Any], str]] = {
        "text": str,
        "count": lambda v: format_count(round(v)),
        "percent": format_percent,
        "days": lambda v: f"{v:.1f}",
        "money": lambda v: f"{format_count(round(v))} {currency}",
        "price": lambda v: f"{v:.2f}",
        "kWh": lambda v: f"{format_count(round(v / _KWH))} kWh",
        "B": lambda v: format_value(int(v), "B"),
    }
    write = writers.get(form)
    return format_value(value, form) if write is None else write(value)


@lru_cache(maxsize=256)
def answer(wish: ToPlan) -> Answer:
    """The answer to ``wish``, computed now.

    Raises:
        FieldError: if the text of a field cannot be read.
        InputError: if nothing is known under a name, no plan is valid, or none fits; says what
            binds and the smallest change that helps.
    """
    from costlab_gui.model.plan_serving import served
    from costlab_gui.model.plan_training import trained
    from costlab_gui.model.plan_tuning import tuned

    if wish.job == TRAIN:
        return trained(wish)
    return served(wish) if wish.job == SERVE else tuned(wish)


def count(wish: ToPlan, name: str, usual: int | None = None) -> int | None:
    """A count that was asked for.

    Raises:
        FieldError: if it is none.
    """
    found = _read(wish, name, parse_count)
    return usual if found is None else int(found)


def amount(wish: ToPlan, name: str) -> float | None:
    """Bytes, bytes per second, seconds, or a plain number, whichever the field is.

    Raises:
        FieldError: if it cannot be read.
    """
    parse: Callable[[str], float] = {
        "memory": parse_bytes, "link": parse_rate, "network": parse_rate,
        "tpot": parse_seconds, "ttft": parse_seconds,
    }.get(name, _number)  # fmt: skip
    found: float | None = _read(wish, name, parse)
    return found


def choices() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Bundled models and devices; the first call reads them all."""
    return names(), device_names()


def device_names() -> tuple[str, ...]:
    """Bundled profiles that plans can be made for."""
    return _with_memory()


@cache
def _with_memory() -> tuple[str, ...]:
    return tuple(name for name in profile_names() if load_profile(name).capacity is not None)


def _read(wish: ToPlan, name: str, parse: Callable[[str], Any]) -> Any:
    text = str(getattr(wish, name)).strip()
    if not text:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise FieldError(name, str(error)) from None
    except CostLabError as error:
        raise FieldError(name, str(error)) from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(_("{text!r} is no number").format(text=text)) from None
    if not 0 <= value < float("inf"):
        raise ValueError(_("{text!r} is no amount").format(text=text))
    return value
