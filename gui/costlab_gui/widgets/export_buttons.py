"""The two buttons beside every picture: save it, copy it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from costlab.i18n import _
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role


class ExportButtons(QWidget):
    """Calls ``save`` and ``copy``."""

    def __init__(
        self,
        save: Callable[[], object],
        copy: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for icon, name, act in (
            ("copy", _("Copy plot as picture, vector picture and table"), copy),
            ("export", _("Export plot as PNG, SVG or CSV"), save),
        ):
            button = QToolButton()
            set_role(button, "quiet")
            set_icon(button, icon)
            button.setAccessibleName(name)
            button.setToolTip(name)
            button.clicked.connect(lambda _on=False, act=act: act())
            layout.addWidget(button)
