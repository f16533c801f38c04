"""The app's own icons: SVG lines in ``currentColor``, tinted with a token when loaded."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication

from costlab_gui.theme.tokens import Theme, current

_FOLDER = Path(__file__).parent
STYLE_FOLDER = _FOLDER / "style"
"""Marks that the style sheet draws (arrows, ticks), one folder per theme."""

_SIZES = (16, 24, 32)


@cache
def names() -> tuple[str, ...]:
    """Every icon, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.svg")))


def icon(name: str, token: str = "text") -> QIcon:
    """The icon in a colour of the theme that is on; paler where the control is disabled.

    Args:
        name: one of :func:`names`.
        token: a field of ``Theme``.
    """
    return _icon(name, token, current())


def set_icon(button: QAbstractButton, name: str, token: str = "text") -> None:
    """Give a button an icon that follows the theme."""
    button.setProperty("icon_name", name)
    button.setProperty("icon_token", token)
    button.setIcon(icon(name, token))


def refresh(app: QApplication) -> None:
    """Tint the icons of all buttons again: the theme has changed."""
    for widget in app.allWidgets():
        if isinstance(widget, QAbstractButton) and widget.property("icon_name"):
            set_icon(widget, widget.property("icon_name"), widget.property("icon_token"))


def pixmap(name: str, colour: str, size: QSize) -> QPixmap:
    """The icon drawn at ``size`` (device pixels) in one colour ("#rrggbb")."""
    text = (_FOLDER / f"{name}.svg").read_text(encoding="utf-8").replace("currentColor", colour)
    drawn = QPixmap(size)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    QSvgRenderer(QByteArray(text.encode())).render(painter)
    painter.end()
    return drawn


@cache
def _icon(name: str, token: str, theme: Theme) -> QIcon:
    made = QIcon()
    for pixels in _SIZES:
        size = QSize(pixels, pixels)
        made.addPixmap(pixmap(name, getattr(theme, token), size))
        made.addPixmap(pixmap(name, theme.dim, size), QIcon.Mode.Disabled)
    return made
