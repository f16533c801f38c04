"""Puts a theme on the application: style, palette, style sheet and font."""

from __future__ import annotations

from PySide6.QtCore import QDir, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from costlab_gui.theme import fonts, icons
from costlab_gui.theme.stylesheet import SEARCH_PATH, stylesheet
from costlab_gui.theme.tokens import DARK, LIGHT, Theme, choose


def apply(app: QApplication, theme: Theme) -> None:
    """Restyle the whole application; widgets that paint themselves repaint on ``Hub.themed``.

    The text size stays the user's: that of the application's font.
    """
    choose(theme)
    if app.style().objectName().lower() != "fusion":
        app.setStyle("Fusion")
    QDir.setSearchPaths(SEARCH_PATH, [str(icons.STYLE_FOLDER)])
    font = fonts.text_font()
    app.setFont(font)
    # A sheet that takes the place of another costs Qt three times as much as one after none.
    app.setStyleSheet("")
    app.setPalette(palette(theme))
    app.setStyleSheet(stylesheet(theme, font))
    icons.refresh(app)


def system_theme(app: QApplication) -> Theme:
    """The theme the desktop asks for; dark where the platform does not say."""
    light = app.styleHints().colorScheme() == Qt.ColorScheme.Light
    return LIGHT if light else DARK


def palette(theme: Theme) -> QPalette:
    """The colours of ``theme`` for everything that the style sheet does not name."""
    roles = QPalette.ColorRole
    colours = {
        roles.Window: theme.window,
        roles.WindowText: theme.text,
        roles.Base: theme.card,
        roles.AlternateBase: theme.panel,
        roles.Text: theme.text,
        roles.Button: theme.panel,
        roles.ButtonText: theme.text,
        roles.BrightText: theme.bad,
        roles.Highlight: theme.accent,
        roles.HighlightedText: theme.on_accent,
        roles.Accent: theme.accent,
        roles.Link: theme.accent,
        roles.LinkVisited: theme.accent,
        roles.PlaceholderText: theme.dim,
        roles.ToolTipBase: theme.card,
        roles.ToolTipText: theme.text,
        roles.Light: theme.card,
        roles.Midlight: theme.panel,
        roles.Mid: theme.line,
        roles.Dark: theme.line,
        roles.Shadow: theme.window,
    }
    made = QPalette()
    for role, colour in colours.items():
        made.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.dim))
    made.setColor(QPalette.ColorGroup.Disabled, roles.Highlight, QColor(theme.line))
    return made
