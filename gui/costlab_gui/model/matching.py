"""Finds names by a few of their letters."""

from __future__ import annotations

from collections.abc import Iterable


def ranked(typed: str, names: Iterable[str]) -> list[str]:
    """The names that hold the letters of ``typed`` in this order, the best first.

    A name that begins with it comes first, then one with a word that does, then one that holds it
    as a whole, then the others, each group as given.
    """
    wanted = typed.strip().lower()
    found = [(_rank(wanted, name.lower()), name) for name in names]
    return [name for rank, name in sorted(found, key=lambda pair: pair[0] or 0) if rank is not None]


def _rank(wanted: str, name: str) -> int | None:
    if name.startswith(wanted):
        return 0
    if any(word.startswith(wanted) for word in name.replace("-", " ").split()):
        return 1
    if wanted in name:
        return 2
    letters = iter(name)
    return 3 if all(letter in letters for letter in wanted if letter != " ") else None
