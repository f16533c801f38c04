"""The points of a sweep from targets and sizes, each target with the sizes that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from costlab.cli.programs import is_entry, own_flags
from costlab.errors import UnknownNameError
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.measurement.point import PointSpec

V = TypeVar("V")


def points_of(
    targets: Sequence[str],
    grid: Mapping[str, Sequence[int]],
    *,
    options: Mapping[str, bool],
    **settings: Any,
) -> tuple[PointSpec, ...]:
    """Every point of every target; ``settings`` are those of ``sweep.plan.expand``.

    Raises:
        UnknownNameError: for a target, a size or a flag that does not exist.
        SizeError: if h, k and d contradict each other.
    """
    from costlab.sweep.plan import expand

    grids = own_grids(targets, grid)
    flags = own_flags(targets, options)
    points = [
        point
        for target in targets
        for point in expand([target], grids[target], options=flags[target], **settings)
    ]
    return tuple(
        replace(point, sizes=_without_head_size(point.target, point.sizes))
        if is_entry(point.target)
        else point
        for point in points
    )


def own_grids(targets: Sequence[str], grid: Mapping[str, V]) -> dict[str, dict[str, V]]:
    """For each target the sizes that it has; a user's file is asked later and keeps all.

    Raises:
        UnknownNameError: for a target or a size that does not exist.
    """
    from costlab.arch import registry

    known: dict[str, set[str]] = {}
    for target in filter(is_entry, targets):
        known[target] = set(registry.spec(target).symbols)
        known[target] |= {"k"} if {"h", "d"} <= known[target] else set()
    if all(map(is_entry, targets)):
        everyone = set().union(*known.values())
        for name in grid:
            if name not in everyone:
                raise UnknownNameError(_("size"), name, everyone)
    return {
        target: {name: grid[name] for name in grid if name in known.get(target, grid)}
        for target in targets
    }


def _without_head_size(target: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """``sizes`` with h and d in place of a head size k."""
    from costlab.arch import registry
    from costlab.symbols import complete

    spec = registry.spec(target)
    if not {"h", "d"} <= set(spec.symbols) or "k" in spec.symbols:
        return dict(sizes)
    full = complete(sizes, spec.defaults)
    return {name: full[name] for name in spec.symbols if name in full}
