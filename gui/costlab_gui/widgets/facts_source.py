"""Facts about formulas, worked out in a thread and kept."""

from __future__ import annotations

from functools import cache

from costlab_gui.model.facts import Facts, facts, key
from costlab_gui.model.place import Place
from costlab_gui.widgets.background import Background

_KEPT = 200


@cache
def source() -> Background:
    """The one cache of facts; ``came`` tells when there are more."""
    return Background(_KEPT)


def known_facts(place: Place, quantity: str, scope: str) -> Facts | None:
    """The facts; None while they are worked out."""
    which = key(place, quantity, scope)
    if not source().known(which, lambda: facts(place, quantity, scope)):
        return None
    found: Facts | None = source().answer(which)
    return found
