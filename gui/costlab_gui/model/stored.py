"""Which stored points a session shows, without looking at every point in every frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from costlab.formulas.identity import Same, cached_by_identity
from costlab_gui.model.session import Session

Point = Mapping[str, Any]
_Sizes = tuple[tuple[str, int], ...]


def fitting(points: Sequence[Point], session: Session, target: str) -> tuple[Point, ...]:
    """The stored points of ``target`` at the session's setting, but for ``over``, as they stand.

    Args:
        points: as ``costlab profile --json`` prints them. A tuple is sorted by program and
            sizes once, anything else in every call.
        session: what is shown.
        target: a program.

    Returns:
        The same object as long as the same points fit.
    """
    setting = session.setting
    kept = points if isinstance(points, tuple) else tuple(points)
    own = _by_program(kept).get((target, setting.mode, setting.dtype))
    if own is None:
        return ()
    here = setting.sizes
    alike = _by_sizes(Same(own), session.over)
    chosen = tuple(
        sizes
        for sizes in alike
        if all(value == here[name] for name, value in sizes if name in here)
    )
    return _joined(Same(alike), chosen)


@cached_by_identity(8)
def _by_program(points: tuple[Point, ...]) -> Mapping[tuple[str, str, str], tuple[Point, ...]]:
    found: dict[tuple[str, str, str], list[Point]] = {}
    for one in points:
        found.setdefault((one["architecture"], one["mode"], one["dtype"]), []).append(one)
    return {key: tuple(own) for key, own in found.items()}


@lru_cache(maxsize=256)
def _by_sizes(own: Same, over: str) -> Mapping[_Sizes, tuple[tuple[int, Point], ...]]:
    """The points that have the size ``over``, with their places, by their other sizes."""
    found: dict[_Sizes, list[tuple[int, Point]]] = {}
    for place, one in enumerate(own.item):
        sizes = one["sizes"]
        if over in sizes:
            others = tuple((name, value) for name, value in sizes.items() if name != over)
            found.setdefault(others, []).append((place, one))
    return {sizes: tuple(places) for sizes, places in found.items()}


@lru_cache(maxsize=256)
def _joined(alike: Same, chosen: tuple[_Sizes, ...]) -> tuple[Point, ...]:
    places = [place for sizes in chosen for place in alike.item[sizes]]
    return tuple(one for _place, one in sorted(places, key=lambda place: place[0]))
