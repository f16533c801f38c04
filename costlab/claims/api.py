"""All claims and their answers."""

from __future__ import annotations

from collections.abc import Iterable

from costlab.claims import attention, models, recurrent, remedies
from costlab.claims.record import CLAIMS, Answer, Facts, answer
from costlab.errors import InputError
from costlab.i18n import _

GROUPS = (recurrent, attention, remedies, models)


def answers(numbers: Iterable[int] = (), facts: Facts | None = None) -> tuple[Answer, ...]:
    """Answer the claims with these numbers, by default all, from what holds now.

    Raises:
        InputError: if there is no claim of that number.
    """
    known = sorted(CLAIMS)
    wanted = list(numbers) or known
    for number in wanted:
        if number not in CLAIMS:
            raise InputError(
                _("no claim of that number"), given=str(number), allowed=f"{known[0]} - {known[-1]}"
            )
    source = facts or Facts()
    return tuple(answer(CLAIMS[number], source) for number in wanted)
