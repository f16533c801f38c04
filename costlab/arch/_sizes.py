"""Checks of the sizes that factories and configs take."""

from __future__ import annotations

import numbers

from costlab.errors import SizeError
from costlab.i18n import _


def check_positive(**sizes: object) -> None:
    """Raise :class:`SizeError` unless every size is an integer of at least 1.

    Symbolic integers registered as ``numbers.Integral`` pass, so that modules can be traced.
    """
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise SizeError(
                _("size {name} must be a positive integer").format(name=name),
                given=f"{name}={value!r}",
                allowed="1, 2, 3, ...",
            )


def check_heads(d: int, h: int) -> None:
    """Raise :class:`SizeError` unless the width ``d`` splits evenly over ``h`` heads."""
    check_positive(d=d, h=h)
    if d % h:
        near = sorted({max(1, d // h) * h, (d // h + 1) * h})
        raise SizeError(
            _("the width d must be a multiple of the number of heads h"),
            given=f"d={d}, h={h}",
            allowed="d = " + ", ".join(map(str, near)),
        )


def check_groups(h: int, g: int) -> None:
    """Raise :class:`SizeError` unless ``h`` query heads share ``g`` key/value heads evenly."""
    check_positive(h=h, g=g)
    if h % g:
        near = sorted({max(1, h // g) * g, (h // g + 1) * g})
        raise SizeError(
            _("the number of query heads h must be a multiple of the key/value heads g"),
            given=f"h={h}, g={g}",
            allowed="h = " + ", ".join(map(str, near)),
        )


def check_even(**sizes: int) -> None:
    """Raise :class:`SizeError` unless every size is a positive multiple of 2."""
    check_positive(**sizes)
    for name, value in sizes.items():
        if value % 2:
            raise SizeError(
                _("size {name} must be even: its channels turn in pairs").format(name=name),
                given=f"{name}={value}",
                allowed="2, 4, 6, ...",
            )
