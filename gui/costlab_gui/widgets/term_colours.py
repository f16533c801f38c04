"""Colours of the terms of a formula, the same in the picture, the bar and the table."""

from __future__ import annotations

from costlab_gui.theme.tokens import Theme, mixed

_CURVES = (0, 2, 4, 1, 5, 6)


def term_colour(theme: Theme, index: int | None) -> str:
    """Colour of a term; None is the colour of text, below 0 the dim one."""
    if index is None:
        return theme.text
    if index < 0:
        return theme.dim
    return theme.accent if index == 0 else theme.curve(_CURVES[(index - 1) % len(_CURVES)])


def fill_colour(theme: Theme, index: int) -> str:
    """Colour of a term's part of a bar: that of the term, the dim one fainter."""
    colour = term_colour(theme, index)
    return mixed(theme.card, colour, 0.45) if index < 0 else colour
