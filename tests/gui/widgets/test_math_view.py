"""Formulas drawn: in colour, on several lines, or as text."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from costlab_gui.model.pieces import Piece
from costlab_gui.theme.tokens import DARK, LIGHT, choose
from costlab_gui.widgets.math_render import Wanted, draw, picture, to_svg
from costlab_gui.widgets.math_view import MathView

SUM = (
    Piece("8 b n d^{2}", "8·b·n·d²", 0),
    Piece("+", "+", None, 0.35),
    Piece("4 b n^{2} d", "4·b·n²·d", 1, 0.35, False),
)

_NEAR = 40


@pytest.fixture(autouse=True)
def dark() -> Any:
    choose(DARK)
    yield
    choose(DARK)


def _shown(qtbot: QtBot, pieces: tuple[Piece, ...], width: int = 600) -> MathView:
    view = MathView()
    qtbot.addWidget(view)
    view.show_pieces(pieces, "8·b·n·d² + 4·b·n²·d")
    view.resize(width, 60)
    view.show()
    qtbot.waitUntil(lambda: view.is_drawn)
    return view


def _colours(image: QImage) -> set[str]:
    return {
        QColor(image.pixel(x, y)).name()
        for x in range(image.width())
        for y in range(image.height())
    }


def test_terms_are_drawn_in_their_colours(qtbot: QtBot) -> None:
    view = _shown(qtbot, SUM)

    assert {DARK.accent, DARK.curve(0)} <= _colours(view.grab().toImage())
    choose(LIGHT)
    view.retheme()
    qtbot.waitUntil(lambda: view.is_drawn)
    found = _colours(view.grab().toImage())
    assert {LIGHT.accent, LIGHT.curve(0)} <= found
    assert DARK.accent not in found
    assert view.accessibleDescription() == "8·b·n·d² + 4·b·n²·d"


def test_a_long_formula_takes_several_lines(qtbot: QtBot) -> None:
    many = (SUM[0], *(SUM[1:] * 24))
    view = _shown(qtbot, many, 300)

    assert view.lines() > 3
    assert view.heightForWidth(300) > 3 * view.heightForWidth(10_000)
    view.resize(300, view.heightForWidth(300))
    image = view.grab().toImage()
    edge = {image.pixel(image.width() - 1, y) for y in range(image.height())}
    assert len(edge) == 1  # nothing is cut at the right


def test_the_picture_is_as_sharp_as_the_screen(qtbot: QtBot) -> None:
    one, two = (draw(Wanted("n^{2}", "#ffffff", 20.0, ratio)) for ratio in (1.0, 2.0))

    assert one is not None
    assert two is not None
    assert two.image.width() >= 2 * one.image.width() - 4
    assert abs(two.width - one.width) <= 1
    assert abs(two.ascent - one.ascent) <= 1


def test_without_ziamath_the_text_stands_in(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("ziamath"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    own = (Piece("q^{7} \\, n", "q⁷·n", 2),)
    view = _shown(qtbot, own)

    assert picture(view._ask(own[0])) is None
    assert view.lines() == 1
    wanted = QColor(DARK.curve(2))
    seen = [QColor(c) for c in _colours(view.grab().toImage())]
    # Letters are smoothed, some by parts of pixels: none but the middle of a stroke has the colour.
    assert min(_apart(colour, wanted) for colour in seen) < _NEAR
    assert min(_apart(colour, QColor(DARK.curve(0))) for colour in seen) > _NEAR


def _apart(one: QColor, other: QColor) -> int:
    """The largest difference of the parts of two colours, of 255."""
    return max(
        abs(one.red() - other.red()),
        abs(one.green() - other.green()),
        abs(one.blue() - other.blue()),
    )


def test_what_cannot_be_read_is_no_picture() -> None:
    assert to_svg(r"\left(", "#ffffff", 20.0) is None
    assert to_svg("n", "#ffffff", 20.0) is not None
