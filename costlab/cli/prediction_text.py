"""Parts of a prediction as text, shared by the commands that print some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from costlab.i18n import _
from costlab.units import format_value

if TYPE_CHECKING:
    from costlab.prediction.record import Prediction


def sizes_text(prediction: Prediction) -> str:
    """The sizes as they are written on the command line."""
    return " ".join(f"{name}={value}" for name, value in prediction.sizes.items())


def interval_text(prediction: Prediction) -> str:
    """The interval of the time, or the end of it that is known."""
    low, high = prediction.time_interval_s
    if low is None:
        return _("unknown")
    if high is None:
        return _("at least {time}").format(time=format_value(low, "s"))
    return f"{format_value(low, 's')} .. {format_value(high, 's')}"


def notes(found: Iterable[Prediction]) -> list[str]:
    """Lines of all assumptions, each once, and of what was not counted."""
    predictions = list(found)
    assumptions = dict.fromkeys(text for p in predictions for text in p.assumptions)
    lines = [f"  - {text}" for text in assumptions]
    gaps = dict.fromkeys(gap for p in predictions for gap in p.gaps)
    if gaps:
        lines.append(_("  - NOT COUNTED, no rule: {gaps}").format(gaps=", ".join(gaps)))
    return [_("assumptions"), *lines]
