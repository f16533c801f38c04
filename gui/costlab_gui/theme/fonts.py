"""The fonts of the app: text and figures, bundled, with the system's as fallback."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication

TEXT, MONO = "Inter", "JetBrains Mono"
_SMALLEST = 9.75
"""Points: 13 pixels at 96 dots per inch, the size that the layout is drawn for."""


@cache
def load() -> tuple[str, ...]:
    """Make the bundled fonts known to Qt, once; returns the families that were read.

    A font that cannot be read leaves the system's in its place.
    """
    found: list[str] = []
    for entry in sorted((files(__package__) / "fonts").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".ttf"):
            with as_file(entry) as path:
                number = QFontDatabase.addApplicationFont(str(path))
            found += QFontDatabase.applicationFontFamilies(number) if number >= 0 else []
    return tuple(dict.fromkeys(found))


def text_font() -> QFont:
    """The font of the app at the user's size, with figures of equal width."""
    return QFont(_text())


def mono_font() -> QFont:
    """The font of figures, symbols and code, at the same size."""
    return QFont(_mono())


@cache
def _text() -> QFont:
    load()
    font = QFont(_system())
    font.setFamilies([TEXT, *_system().families()])
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@cache
def _mono() -> QFont:
    font = text_font()
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    # JetBrains Mono has no thin space; Inter lends its own.
    font.setFamilies([MONO, TEXT, *system.families()])
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


@cache
def _system() -> QFont:
    """The desktop's own choice, asked before the app sets its own; never smaller than readable."""
    font = QGuiApplication.font()
    font.setPointSizeF(max(font.pointSizeF(), _SMALLEST))
    return font
