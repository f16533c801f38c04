"""The list of roles is complete, and every colour and length comes from the theme."""

from __future__ import annotations

import re

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from costlab_gui.theme import stylesheet as module
from costlab_gui.theme.fonts import text_font
from costlab_gui.theme.stylesheet import stylesheet
from costlab_gui.theme.tokens import DARK, LIGHT

ROLE = re.compile(r'\[role="(\w+)"\]')


def test_every_role_is_documented_and_every_documented_role_exists(qapp: QApplication) -> None:
    documented = set(re.findall(r"``(\w+)``", (module.__doc__ or "").split("A QLineEdit")[0]))
    used = set(ROLE.findall(stylesheet(DARK, text_font())))
    assert documented - {"role"} == used


def test_no_colour_is_written_into_the_sheet(qapp: QApplication) -> None:
    def colours(sheet: str) -> list[str]:
        return re.findall(r"#[0-9a-f]{6}\b", sheet)

    dark, light = (colours(stylesheet(theme, text_font())) for theme in (DARK, LIGHT))
    assert len(dark) == len(light)
    assert all(one != other for one, other in zip(dark, light, strict=True))


def test_lengths_follow_the_font(qapp: QApplication) -> None:
    large = QFont(text_font())
    large.setPointSizeF(large.pointSizeF() * 2)

    def longest(sheet: str) -> int:
        return max(int(pixels) for pixels in re.findall(r"(?<![.\d])(\d+)px", sheet))

    assert longest(stylesheet(DARK, large)) >= 1.8 * longest(stylesheet(DARK, text_font()))
