"""Themes are put on the application; fonts and icons are there and follow the theme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from costlab_gui.theme import fonts, icons
from costlab_gui.theme.apply import apply, system_theme
from costlab_gui.theme.stylesheet import set_role, stylesheet
from costlab_gui.theme.tokens import DARK, LIGHT, Theme, current

WRITTEN = "⁰¹²³⁴⁵⁶⁷⁸⁹×−≤≥±→µ·…≈αΣ√∞"


@pytest.fixture(autouse=True)
def bare_afterwards(qapp: QApplication) -> Iterator[None]:
    yield
    apply(qapp, DARK)
    qapp.setStyleSheet("")


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_a_theme_is_on_everything(qapp: QApplication, qtbot: QtBot, theme: Theme) -> None:
    label = QLabel("n must be positive")
    qtbot.addWidget(label)
    apply(qapp, theme)
    set_role(label, "error")
    label.show()

    assert current() is theme
    assert qapp.palette().window().color().name() == theme.window
    assert label.palette().windowText().color().name() == theme.bad
    assert not re.search(r"\$\w", stylesheet(theme, qapp.font()))


def test_without_a_wish_of_the_desktop_the_theme_is_dark(qapp: QApplication) -> None:
    assert system_theme(qapp) is DARK


def test_bundled_fonts_have_every_sign_and_figures_of_one_width(qapp: QApplication) -> None:
    assert {fonts.TEXT, fonts.MONO} <= set(fonts.load())
    for font in (fonts.text_font(), fonts.mono_font()):
        metrics = QFontMetricsF(font)
        assert [sign for sign in WRITTEN if not metrics.inFontUcs4(ord(sign))] == []
        widths = {round(metrics.horizontalAdvance(digit * 10), 2) for digit in "0123456789"}
        assert len(widths) == 1
    assert QFontInfo(fonts.text_font()).family() == fonts.TEXT
    assert QFontInfo(fonts.mono_font()).family() == fonts.MONO


def test_every_bundled_font_has_its_licence() -> None:
    folder = files("costlab_gui.theme") / "fonts"
    bundled = {entry.name.partition("-")[0] for entry in folder.iterdir() if ".ttf" in entry.name}
    assert bundled == {"Inter", "JetBrainsMono"}
    for name in bundled:
        assert "SIL OPEN FONT LICENSE" in (folder / f"{name}-OFL.txt").read_text(encoding="utf-8")


def test_icons_are_tinted_and_follow_the_theme(qapp: QApplication, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    icons.set_icon(button, "measure", "accent")
    for theme in (LIGHT, DARK):
        apply(qapp, theme)
        image = button.icon().pixmap(QSize(32, 32)).toImage()
        solid = {
            image.pixelColor(x, y).name()
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y).alpha() == 255
        }
        assert solid == {theme.accent}


def test_icons_name_no_colour_of_their_own() -> None:
    folder = files("costlab_gui.theme.icons")
    for name in icons.names():
        text = (folder / f"{name}.svg").read_text(encoding="utf-8")
        assert 'stroke="currentColor"' in text and 'stroke-width="1.5"' in text
        assert not re.search(r"#[0-9a-f]{3}", text)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_marks_of_the_style_sheet_have_the_colours_of_the_tokens(
    qapp: QApplication, theme: Theme
) -> None:
    folder = icons.STYLE_FOLDER / theme.name
    named = re.findall(r"/([\w-]+\.svg)\)", stylesheet(theme, qapp.font()))
    assert set(named) == {path.name for path in folder.iterdir()}
    inks = {"check": "on_accent", "dash": "on_accent", "dot": "on_accent", "tick": "text"}
    for path in folder.iterdir():
        colours = set(re.findall(r"#[0-9a-f]{6}", path.read_text(encoding="utf-8")))
        assert colours == {getattr(theme, inks.get(path.stem, "dim"))}
