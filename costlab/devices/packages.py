"""Which versions of other packages are here, and which CostLab was made for."""

from __future__ import annotations

import re
from importlib import metadata


def installed(name: str) -> str | None:
    """Version of a distribution; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def allowed(name: str) -> str:
    """The range of versions that CostLab asks for, such as ">=6.10.1,<6.12"; "" if it names none.

    Of CostLab itself only the installed distribution knows.
    """
    try:
        wanted = metadata.requires("costlab") or []
    except metadata.PackageNotFoundError:
        return ""
    for text in wanted:
        found = re.match(r"([\w.-]+)\s*(\[[^]]*\])?\s*([^;]*)", text)
        if found and found[1].lower() == name.lower():
            return found[3].strip()
    return ""


def within(version: str, allowed: str) -> bool:
    """Whether a release lies in a range written with ``>=`` and ``<``."""

    def release(text: str) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", text.partition("+")[0])))

    return all(
        release(version) >= release(bound) if sign == ">=" else release(version) < release(bound)
        for sign, bound in re.findall(r"(>=|<)([\d.]+)", allowed)
    )
