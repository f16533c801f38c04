"""Doctor's line on the noise floor: how much the same work differs between fresh processes."""

from __future__ import annotations

from collections.abc import Callable

from costlab.cli.doctor import FAIL, PASS, WARN, Check
from costlab.errors import CostLabError
from costlab.i18n import _
from costlab.measurement.noise import NoiseFloor, noise_floor
from costlab.units import format_percent, format_value

# Half the spread is about the change that five processes a side can just show.
_LOUD = 0.10


def noise_check(measure: Callable[[], NoiseFloor] = noise_floor) -> Check:
    """Measure the noise floor and judge it; a spread over 10 % hides changes of 5 %."""
    name = _("noise floor")
    try:
        found = measure()
    except CostLabError as error:
        return Check(name, FAIL, str(error), _("measure by hand: costlab profile full_attention"))
    text = _(
        "{spread} between {count} processes of {work} of fixed work; an empty call takes {empty}"
    ).format(
        spread=format_percent(found.spread),
        count=len(found.work_s),
        work=format_value(sorted(found.work_s)[len(found.work_s) // 2], "s"),
        empty=format_value(found.empty_s, "s"),
    )
    if "interference" in found.flags:
        text += _(", and other programs took the processor meanwhile")
    elif found.spread <= _LOUD:
        return Check(name, PASS, text)
    return Check(
        name, WARN, text,
        _("end other programs, or time more processes: costlab profile ... --budget 5m"),
    )  # fmt: skip
