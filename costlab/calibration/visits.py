"""What cases take alone, from visits some of which shared their core with somebody. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from costlab.calibration.suite import Case
from costlab.measurement.statistics import median

# So many cases seen in both states tell by how much sharing slows their kind.
_ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Visit:
    """One timing of a case: seconds of a call, and whether the core was its own meanwhile."""

    time_s: float
    alone: bool


def times_alone(
    suite: Sequence[Case], visits: Mapping[int, Sequence[Visit]]
) -> dict[int, tuple[float, ...]]:
    """Seconds of a call by place in ``suite``, one per visit that tells them.

    Those are the visits alone. A case that had none is taken to be slowed by what slowed its kind,
    else its table, else all others, of which some were seen alone and shared; where there are
    none of these, the whole calibration shared its cores, and times stay as they are.
    """
    slowed: dict[tuple[str, ...], list[float]] = {}
    for place, seen in visits.items():
        alone, shared = _split(seen)
        if alone and shared:
            for key in _keys(suite[place]):
                slowed.setdefault(key, []).append(median(shared) / median(alone))
    found = {}
    for place, seen in visits.items():
        alone, shared = _split(seen)
        factor = next(
            (
                median(slowed[key])
                for key in _keys(suite[place])
                if len(slowed.get(key, ())) >= _ENOUGH
            ),
            1.0,
        )
        found[place] = tuple(alone or [time_s / max(factor, 1.0) for time_s in shared])
    return found


def widths_alone(
    visits: Sequence[Sequence[Visit]], of: Callable[[Sequence[float]], float]
) -> list[float]:
    """What one kernel takes alone at many widths: ``of`` the visits alone at each.

    A width that had none is taken to be slowed by what slowed the others, as far as that is known.
    """
    split = [_split(seen) for seen in visits]
    slowed = [of(shared) / of(alone) for alone, shared in split if alone and shared]
    factor = max(median(slowed), 1.0) if slowed else 1.0
    return [of(alone) if alone else of(shared) / factor for alone, shared in split]


def _split(visits: Sequence[Visit]) -> tuple[list[float], list[float]]:
    return (
        [one.time_s for one in visits if one.alone],
        [one.time_s for one in visits if not one.alone],
    )


def _keys(case: Case) -> Iterator[tuple[str, ...]]:
    yield case.table, case.name
    yield (case.table,)
    yield ()
