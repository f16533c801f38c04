"""Lists of sizes as one types them, on the command line and in the app."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from costlab.symbols import parse_values
from costlab_gui.model.session import Session


def values_of(session: Session, text: str) -> tuple[int, ...]:
    """The sizes of ``session.over`` in ``text``.

    Raises:
        SizeError: as the command line would.
    """
    return tuple(sorted(parse_values(text.replace(" ", ""), session.over)))


def first_values(session: Session) -> str:
    """A range over the x axis, coarse enough for a first look."""
    low = max(session.low, 1)
    factor = 2
    while low * factor**5 < session.high:
        factor *= 2
    return f"{low}:{session.high}:x{factor}"


def values_text(values: Sequence[int]) -> str:
    """Sizes as one types them: a range where they are one, else a list."""
    ordered = sorted(set(values))
    if len(ordered) > 2:
        factor = ordered[1] // ordered[0]
        if factor > 1 and all(a * factor == b for a, b in pairwise(ordered)):
            return f"{ordered[0]}:{ordered[-1]}:x{factor}"
    return ",".join(map(str, ordered))
