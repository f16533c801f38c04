"""The answer to "where does this number come from": a dialog to read, follow and copy."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.origin import Origin, predicted
from costlab_gui.model.origin_measured import measured
from costlab_gui.model.wording import Line
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.theme.tokens import current


class OriginDialog(QDialog):
    """Shows one :class:`Origin`."""

    def __init__(self, origin: Origin, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.origin = origin
        self.setWindowTitle(_("Where this number comes from"))
        title = QLabel(origin.title)
        set_role(title, "dim")
        title.setWordWrap(True)
        value = QLabel(origin.value or _("no value"))
        set_role(value, "wordmark")
        kind = QLabel(origin.kind)
        set_role(kind, "chip")
        head = QHBoxLayout()
        head.addWidget(value)
        head.addWidget(kind)
        head.addStretch()
        self._text = QTextBrowser()
        self._text.setOpenExternalLinks(True)
        self._text.setAccessibleName(origin.title)
        self._text.setHtml(_html(origin))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(_("Copy text"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(origin.text()))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(title)
        layout.addLayout(head)
        layout.addWidget(self._text)
        layout.addWidget(buttons)
        metrics = self.fontMetrics()
        self.resize(60 * metrics.horizontalAdvance("m"), 34 * metrics.height())


def open_origin(
    hub: Hub,
    target: str,
    quantity: str,
    sizes: Mapping[str, int] | None = None,
    parent: QWidget | None = None,
) -> OriginDialog | None:
    """Open the origin of a predicted number without waiting for the dialog.

    Args:
        hub: the session's setting is taken.
        target: the program.
        quantity: a metric ("time", "memory", "flop", "bytes", "state") or a quantity of formulas.
        sizes: replace the session's where given ({"n": 1024} at the crosshair).
        parent: the widget that asks.

    Returns:
        The dialog; None where there is nothing to explain, which is told in the status line.
    """
    session = hub.session
    try:
        origin = predicted(session.setting, hub.workspace, target, quantity, sizes)
    except CostLabError as error:
        hub.tell(error)
        return None
    return show_origin(origin, parent)


def open_measured_origin(
    hub: Hub, point: Mapping[str, Any], quantity: str, parent: QWidget | None = None
) -> OriginDialog:
    """Open the origin of a measured number; ``point`` as ``costlab profile --json`` prints it."""
    return show_origin(
        measured(point, quantity, hub.workspace.title(point["architecture"])), parent
    )


def show_origin(origin: Origin, parent: QWidget | None = None) -> OriginDialog:
    """Open an origin without waiting for the dialog."""
    dialog = OriginDialog(origin, parent)
    dialog.open()
    return dialog


def _html(origin: Origin) -> str:
    theme = current()
    rows = []
    for section in origin.sections:
        rows.append(
            f'<tr><td colspan="2" style="padding-top:10px; color:{theme.dim}">'
            f"<b>{escape(section.title)}</b></td></tr>"
        )
        rows += [_row(line, theme.dim, theme.accent) for line in section.lines]
    return f'<table cellspacing="0" cellpadding="2" width="100%">{"".join(rows)}</table>'


def _row(line: Line, dim: str, accent: str) -> str:
    text = escape(line.text)
    if line.link:
        link = escape(line.link, quote=True)
        text += f' <a href="{link}" style="color:{accent}">{link}</a>'
    if not line.label:
        return f'<tr><td colspan="2">{text}</td></tr>'
    return (
        f'<tr><td style="color:{dim}; padding-right:14px" width="28%">{escape(line.label)}</td>'
        f"<td>{text}</td></tr>"
    )
