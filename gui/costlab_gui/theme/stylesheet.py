"""The style sheet, made of the tokens.

A widget says what it is by the dynamic property ``role`` (:func:`set_role`):

====================  ==========================================================================
role                  for
====================  ==========================================================================
``card``              a QFrame that groups: raised ground, hairline, radius 10
``bar``               a QFrame over the whole width: top bar, status line
``line``              a QFrame that is a hairline between two parts
``wordmark``          the app's name
``title``             a QLabel: heading of a page or dialog
``section``           a QLabel: small, tracked title of a card, shown in capitals
``dim``               a QLabel that may be read second
``small``             a QLabel: dim and one size smaller
``mono``              a QLabel: symbols and code
``number``            a QLabel or QLineEdit: figures, to be right-aligned
``strong``            a QLabel: semibold
``good`` ``warning``  a QLabel: a verdict
``error``             a QLabel: what is wrong, under the control that caused it
``chip``              a QLabel: a word in a rounded frame
``primary``           a QPushButton: the one main action
``quiet``             a QPushButton or QToolButton without a frame until the mouse is over it
``legend``            a QToolButton that switches a curve on and off
``mini``              a QToolButton with an icon beside a small title: quiet, as low as a line
``link``              a QPushButton that reads as a link
``segment``           a QPushButton of a segmented control
``danger``            a QPushButton that ends or throws away
====================  ==========================================================================

A QLineEdit, QSpinBox or QComboBox whose property ``wrong`` is true has a red frame.
"""

from __future__ import annotations

from dataclasses import asdict
from string import Template
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QWidget

from costlab_gui.theme import fonts
from costlab_gui.theme.tokens import Theme, mixed

SEARCH_PATH = "costlabstyle"
_STYLE = Template("""
QMainWindow, QDialog { background: $window; }
QToolTip { background: $card; color: $text; border: 1px solid $line; padding: 4px 6px; }

QFrame[role="card"] { background: $card; border: 1px solid $line; border-radius: 10px; }
QFrame[role="bar"] { background: $panel; border: 0; }
QFrame[role="line"] { background: $line; border: 0; max-height: 1px; min-height: 1px; }

QLabel[role="wordmark"] { font-weight: 600; font-size: ${large}pt; }
QLabel[role="title"] { font-weight: 600; font-size: ${large}pt; }
QLabel[role="section"] {
    font-weight: 600; font-size: ${small}pt; color: $dim; letter-spacing: ${track}px;
    text-transform: uppercase;
}
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="dim"] { color: $dim; }
QLabel[role="small"] { color: $dim; font-size: ${small}pt; }
QLabel[role="mono"], QLabel[role="number"] { font-family: $mono; }
QLabel[role="good"] { color: $good; }
QLabel[role="warning"] { color: $warn; }
QLabel[role="error"] { color: $bad; font-size: ${small}pt; }
QLabel[role="chip"] {
    color: $dim; border: 1px solid $line; border-radius: ${chip}px; padding: 0 ${s}px;
    font-size: ${small}pt;
}

QPushButton, QToolButton {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: ${xs}px ${m}px; min-height: ${row}px;
}
QToolButton { padding: ${xs}px ${s}px; }
QPushButton:hover, QToolButton:hover { background: $hover; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: $pressed; }
QPushButton:focus, QToolButton:focus { border-color: $accent; }
QPushButton:disabled, QToolButton:disabled { color: $disabled; background: transparent; }
QPushButton[role="primary"] {
    background: $accent; color: $on_accent; border-color: $accent; font-weight: 600;
}
QPushButton[role="primary"]:hover, QPushButton[role="primary"]:focus { background: $accent_hover; }
QPushButton[role="primary"]:focus { border-color: $text; }
QPushButton[role="primary"]:disabled {
    background: $line; color: $disabled; border-color: $line;
}
QPushButton[role="danger"] { color: $bad; }
QPushButton[role="quiet"], QToolButton[role="quiet"] {
    background: transparent; border-color: transparent; padding: ${xs}px ${s}px;
}
QPushButton[role="quiet"]:hover, QToolButton[role="quiet"]:hover { background: $hover; }
QToolButton[role="quiet"]:checked { background: $pressed; }
QPushButton[role="quiet"]:focus, QToolButton[role="quiet"]:focus { border-color: $accent; }
QToolButton[role="legend"] {
    background: transparent; border-color: transparent; padding: 0 ${s}px; color: $dim;
}
QToolButton[role="legend"]:checked { background: transparent; color: $text; }
QToolButton[role="legend"]:hover { background: $hover; }
QToolButton[role="legend"]:focus { border-color: $accent; }
QToolButton[role="mini"] {
    background: transparent; border-color: transparent; padding: 0; min-height: ${mini}px;
    min-width: ${mini}px; max-height: ${mini}px;
}
QToolButton[role="mini"]:hover { background: $hover; }
QToolButton[role="mini"]:focus { border-color: $accent; }
QPushButton[role="link"] {
    background: transparent; border: 1px solid transparent; color: $accent; padding: 0 2px;
    text-align: left; min-height: 0;
}
QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:focus { border-color: $accent; }
QPushButton[role="segment"] { padding: ${xs}px ${m}px; background: $raised; }
QPushButton[role="segment"]:hover { background: $hover; }
QPushButton[role="segment"]:checked {
    background: $accent; color: $on_accent; border-color: $accent;
}
QPushButton[role="segment"]:focus { border-color: $text; }
QPushButton[role="segment"]:disabled { color: $disabled; background: transparent; }
QToolButton::menu-indicator { image: none; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QComboBox {
    background: $field; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: ${xs}px ${s}px; selection-background-color: $accent;
    selection-color: $on_accent;
}
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { min-height: ${row}px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus,
QComboBox:focus { border-color: $accent; }
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled { color: $disabled; }
QLineEdit:read-only { background: transparent; }
QLineEdit[role="number"], QSpinBox, QDoubleSpinBox { font-family: $mono; }
QLineEdit[wrong="true"], QComboBox[wrong="true"], QSpinBox[wrong="true"] { border-color: $bad; }
QSpinBox, QDoubleSpinBox { padding-left: ${s}px; padding-right: ${l}px; }
QComboBox { padding-right: ${xl}px; }
QComboBox:hover { background: $hover; }
QComboBox::drop-down { border: 0; width: ${xl}px; subcontrol-position: center right; }
QComboBox::down-arrow { image: url($path/chevron-down.svg); width: ${mark}px; height: ${mark}px; }
QComboBox QAbstractItemView {
    background: $card; border: 1px solid $line; padding: 4px; selection-background-color: $hover;
    selection-color: $text;
}
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button,
QDoubleSpinBox::down-button { background: transparent; border: 0; width: ${l}px; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {
    image: url($path/chevron-up.svg); width: ${tick}px; height: ${tick}px;
}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {
    image: url($path/chevron-down.svg); width: ${tick}px; height: ${tick}px;
}

QCheckBox, QRadioButton { background: transparent; spacing: ${s}px; border: 0; }
QCheckBox:disabled, QRadioButton:disabled { color: $disabled; }
QCheckBox::indicator, QRadioButton::indicator, QListView::indicator, QTreeView::indicator,
QTableView::indicator, QGroupBox::indicator {
    width: ${mark}px; height: ${mark}px; border: 1px solid $edge; border-radius: 4px;
    background: $field;
}
QRadioButton::indicator { border-radius: ${round}px; }
QCheckBox::indicator:focus, QCheckBox:focus::indicator, QRadioButton:focus::indicator {
    border-color: $text;
}
QCheckBox::indicator:checked, QListView::indicator:checked, QTreeView::indicator:checked,
QTableView::indicator:checked, QGroupBox::indicator:checked {
    background: $accent; border-color: $accent; image: url($path/check.svg);
}
QCheckBox:focus::indicator:checked { border-color: $text; }
QRadioButton::indicator:checked {
    background: $accent; border-color: $accent; image: url($path/dot.svg);
}
QCheckBox::indicator:indeterminate, QTreeView::indicator:indeterminate {
    background: $accent; border-color: $accent; image: url($path/dash.svg);
}
QCheckBox::indicator:disabled { border-color: $line; }

QSlider { background: transparent; border: 0; min-height: ${knob_room}px; }
QSlider::groove:horizontal {
    height: ${groove}px; background: $line; border-radius: ${groove_round}px;
}
QSlider::sub-page:horizontal { background: $accent; border-radius: ${groove_round}px; }
QSlider::handle:horizontal {
    background: $knob_fill; border: 1px solid $card; width: ${knob_inner}px;
    margin: -${knob_over}px 0; border-radius: ${knob_round}px;
}
QSlider::handle:horizontal:hover { background: $accent; border-color: $knob_fill; }
QSlider::handle:horizontal:focus { border: 2px solid $accent; width: ${knob_focus}px; }
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled {
    background: $disabled;
}

QTabWidget::pane { border: 0; }
QTabBar { background: transparent; border: 0; qproperty-drawBase: 0; }
QTabBar::tab {
    background: transparent; color: $dim; border: 0; border-bottom: 2px solid transparent;
    padding: ${s}px ${s}px;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { color: $text; border-bottom-color: $text; }
QTabBar::tab:disabled { color: $disabled; }

QAbstractItemView {
    background: transparent; border: 0; outline: 0; alternate-background-color: $stripe;
    selection-background-color: $selected; selection-color: $text;
}
QTableView { gridline-color: $grid; }
QTableView::item, QListView::item, QTreeView::item { border: 0; padding: ${xs}px ${s}px; }
QTableView::item:hover, QListView::item:hover, QTreeView::item:hover { background: $stripe; }
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected {
    background: $selected; color: $text;
}
QHeaderView { background: transparent; border: 0; }
QHeaderView::section {
    background: transparent; color: $dim; border: 0; border-bottom: 1px solid $line;
    padding: ${xs}px ${s}px; font-size: ${small}pt;
}
QAbstractScrollArea::corner { background: transparent; border: 0; }
QTableCornerButton::section { background: transparent; border: 0; }
QTreeView::branch { background: transparent; border-image: none; image: none; }
QTreeView::branch:has-children:closed { image: url($path/chevron-right.svg); }
QTreeView::branch:has-children:open { image: url($path/chevron-down.svg); }

QScrollArea { background: transparent; border: 0; }
QScrollArea > QWidget > QWidget#canvas { background: transparent; }
QScrollBar { background: transparent; border: 0; margin: 0; }
QScrollBar:vertical { width: ${bar}px; }
QScrollBar:horizontal { height: ${bar}px; }
QScrollBar::handle { background: $edge; border-radius: ${bar_round}px; margin: 2px; }
QScrollBar::handle:vertical { min-height: ${xl}px; }
QScrollBar::handle:horizontal { min-width: ${xl}px; }
QScrollBar::handle:hover { background: $dim; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QMenuBar { background: $panel; border: 0; }
QMenuBar::item { background: transparent; padding: ${xs}px ${s}px; border-radius: 6px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $card; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: ${xs}px ${xl}px ${xs}px ${l}px; border-radius: 4px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $line; margin: 4px ${s}px; }
QMenu::indicator { width: ${mark}px; height: ${mark}px; left: 2px; }
QMenu::indicator:checked { image: url($path/tick.svg); }

QProgressBar {
    background: $line; border: 0; border-radius: 3px; max-height: 6px; min-height: 6px;
}
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $line; }
QStatusBar { background: $panel; border: 0; }
QStatusBar::item { border: 0; }
QGroupBox { border: 1px solid $line; border-radius: 8px; margin-top: ${l}px; padding: ${s}px; }
QGroupBox::title { subcontrol-origin: margin; left: ${s}px; color: $dim; }
QDockWidget { border: 0; }
""")


def stylesheet(theme: Theme, font: QFont) -> str:
    """The style sheet of ``theme``; lengths follow ``font``, the font of the application."""
    metrics = QFontMetricsF(font)
    line = metrics.height()
    knob = 2 * round(line * 0.46)
    groove = max(2 * round(line * 0.1), 2)
    bar = max(round(line * 0.6), 8)
    mark = 2 * round(line * 0.44)
    values: dict[str, Any] = asdict(theme)
    values |= {
        "field": theme.window,
        "raised": theme.card,
        "hover": theme.hover,
        "pressed": theme.pressed,
        "selected": theme.selected,
        "stripe": theme.stripe,
        "edge": theme.edge,
        "disabled": theme.disabled,
        "accent_hover": mixed(theme.accent, theme.text, 0.15),
        "knob_fill": theme.text,
        "path": f"{SEARCH_PATH}:{theme.name}",
        "mono": f'"{fonts.MONO}", "{fonts.TEXT}", monospace',
        "small": round(font.pointSizeF() * 0.85, 2),
        "large": round(font.pointSizeF() * 1.2, 2),
        "xs": round(line * 0.22),
        "s": round(line * 0.45),
        "m": round(line * 0.75),
        "l": round(line),
        "xl": round(line * 1.4),
        "row": round(line * 1.1),
        "mini": round(line * 1.05),
        "chip": round(line * 0.45),
        "track": round(line * 0.06, 2),
        "mark": mark,
        "tick": round(line * 0.6),
        "round": mark // 2,
        "knob_inner": knob - 2,
        "knob_focus": knob - 4,
        "knob_room": knob + 6,
        "knob_over": (knob - groove) // 2,
        "knob_round": knob // 2,
        "groove": groove,
        "groove_round": groove // 2,
        "bar": bar,
        "bar_round": max((bar - 4) // 2, 1),
    }
    return _STYLE.substitute(values)


def set_role(widget: QWidget, role: str) -> None:
    """Mark a widget for the style sheet, also after it was shown."""
    if widget.property("role") == role:
        return
    widget.setProperty("role", role)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it is styled when it is first shown
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
