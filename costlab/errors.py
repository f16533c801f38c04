"""The exception tree of CostLab.

Every error says what was given, what is allowed and what to do, and carries these as fields so
that the command line, the app and reports can word them. Anything that is not a ``CostLabError``
is a defect of CostLab itself.

    CostLabError
    ├── InputError            the caller's sizes, names or files are wrong (exit code 2)
    │   ├── SizeError         a size is not an integer, out of range, or contradicts another
    │   ├── StoreError        the file of runs cannot be opened, read or written
    │   └── UnknownNameError  no such architecture, device, metric; carries the nearest names
    ├── ModuleError           the user's module or factory failed or returned something else
    ├── DerivationError       no formula holds for this module; names the operator and the line
    ├── MeasurementError      a measured run could not be made
    └── AlgebraError          an expression outside the cost algebra
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CostLabError(Exception):
    """Base class; ``given``, ``allowed`` and ``advice`` are plain text, possibly empty."""

    def __init__(
        self, message: str, *, given: str = "", allowed: str = "", advice: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.given = given
        self.allowed = allowed
        self.advice = advice

    def __str__(self) -> str:
        parts = [self.message]
        if self.given:
            parts.append(f"given: {self.given}")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        if self.advice:
            parts.append(self.advice)
        return "; ".join(parts)


class InputError(CostLabError):
    """What the caller gave cannot be used."""


class SizeError(InputError):
    """A size is not a positive integer, outside the domain, or contradicts another size."""


class StoreError(InputError):
    """The file of runs is damaged, locked, full, read-only or of a newer version."""


class UnknownNameError(InputError):
    """A name that is not in a registry; ``nearest`` holds the closest known names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        self.nearest = tuple(difflib.get_close_matches(name, known, n=3, cutoff=0.5))
        advice = f"did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        super().__init__(f"unknown {kind}", given=name, allowed=", ".join(known), advice=advice)


class ModuleError(CostLabError):
    """A user's module or factory raised, hung, or returned something unusable."""


class DerivationError(CostLabError):
    """No closed form holds; ``operator`` and ``where`` name the cause."""

    def __init__(
        self, message: str, *, operator: str = "", where: str = "", advice: str = ""
    ) -> None:
        given = " at ".join(part for part in (operator, where) if part)
        super().__init__(message, given=given, advice=advice)
        self.operator = operator
        self.where = where


class MeasurementError(CostLabError):
    """A measured run could not be made."""


class AlgebraError(CostLabError):
    """An expression outside the cost algebra (see ``costlab.algebra``)."""
