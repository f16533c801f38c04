"""Caches for functions of large values that never change, by which object it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False, slots=True)
class Same:
    """Stands for an object that is too large to compare; equal only to what holds the same one."""

    item: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.item is other.item

    def __hash__(self) -> int:
        return id(self.item)


def cached_by_identity(
    maxsize: int,
) -> Callable[[Callable[[Given], Found]], Callable[[Given], Found]]:
    """Like ``functools.lru_cache``, without hashing or comparing what is given.

    The cache holds what was given, so that no other object takes its identity meanwhile; the
    oldest leave first.
    """

    def decorate(function: Callable[[Given], Found]) -> Callable[[Given], Found]:
        known: dict[int, tuple[Given, Found]] = {}

        @wraps(function)
        def call(given: Given) -> Found:
            entry = known.get(id(given))
            if entry is not None:
                return entry[1]
            found = function(given)
            while len(known) >= maxsize:
                # Another thread may have removed the same one.
                known.pop(next(iter(known)), None)
            known[id(given)] = (given, found)
            return found

        return call

    return decorate
