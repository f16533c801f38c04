"""Sentences about formulas: domains, how they were derived; and lines of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costlab.formulas.record import Condition, CostClass, Derivation
from costlab.i18n import _
from costlab.units import format_percent


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an explanation: a label (may be empty), its text, and an address to open."""

    label: str
    text: str
    link: str = ""

    def __str__(self) -> str:
        line = f"{self.label}: {self.text}" if self.label and self.text else self.label + self.text
        return f"{line} <{self.link}>" if self.link else line


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of an explanation."""

    title: str
    lines: tuple[Line, ...]


def share_text(share: float) -> str:
    """A share as a percentage; what is next to nothing is not spelled out."""
    if 0 < abs(share) < _NEXT_TO_NOTHING:
        return f"< {format_percent(_NEXT_TO_NOTHING)}"
    return format_percent(share)


_NEXT_TO_NOTHING = 1e-4
_SIGNS = {">=": "≥", "<=": "≤", "<": "<", "==": "="}


def condition(one: Condition) -> str:
    """One condition in words: "w divides n", "n ≥ 2"."""
    if one.kind == "divides":
        return _("{left} divides {right}").format(left=one.left, right=one.right)
    if one.kind == "not divides":
        return _("{left} does not divide {right}").format(left=one.left, right=one.right)
    return f"{one.left} {_SIGNS[one.kind]} {one.right}"


def conditions(domain: Sequence[Condition]) -> str:
    """A domain in words."""
    return ", ".join(condition(one) for one in domain) or _("all sizes")


def how_derived(derivation: Derivation, item: CostClass) -> str:
    """How much stands behind the formulas of a class."""
    count = len(item.verified_at)
    checked = _("verified against real runs at {count} sizes that took no part").format(count=count)
    if derivation.derived == "proved":
        return _("proved by a symbolic run, and {checked}").format(checked=checked)
    return checked
