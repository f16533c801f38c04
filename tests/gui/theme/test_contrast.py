"""Whoever reads the app can read it: WCAG contrast of every token that is used as text or line."""

from __future__ import annotations

import pytest

from costlab.figures.palette import CURVES
from costlab_gui.theme.tokens import DARK, LIGHT, Theme

THEMES = [DARK, LIGHT]
GROUNDS = ("window", "panel", "card")
TEXTS = ("text", "dim", "accent", "good", "warn", "bad")


def luminance(colour: str) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_texts_are_readable_on_every_ground(theme: Theme) -> None:
    found = {
        (text, ground): contrast(getattr(theme, text), getattr(theme, ground))
        for text in TEXTS
        for ground in GROUNDS
    }
    assert {pair: value for pair, value in found.items() if value < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_text_on_the_accent_is_readable(theme: Theme) -> None:
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_curves_stand_out_from_every_ground(theme: Theme) -> None:
    found = {
        (index, ground): contrast(theme.curve(index), getattr(theme, ground))
        for index in range(len(CURVES))
        for ground in GROUNDS
    }
    assert {pair: value for pair, value in found.items() if value < 3} == {}


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_rows_stay_readable_whatever_is_done_to_them(theme: Theme) -> None:
    for ground in (theme.hover, theme.pressed, theme.selected, theme.stripe):
        assert contrast(theme.text, ground) >= 4.5
    assert contrast(theme.dim, theme.stripe) >= 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_small_controls_have_a_visible_edge(theme: Theme) -> None:
    for ground in (theme.window, theme.card):
        assert contrast(theme.edge, ground) >= 3
        assert contrast(theme.accent, ground) >= 3
