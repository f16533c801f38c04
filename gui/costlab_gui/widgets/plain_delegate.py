"""Paints cells of tables without the style sheet, which takes ten times as long for each cell."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QIcon, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from costlab_gui.theme.tokens import Theme, current, mixed

SHARE = Qt.ItemDataRole.UserRole + 1
"""A number from 0 to 1 for a bar behind the text."""
_Index = QModelIndex | QPersistentModelIndex


class PlainDelegate(QStyledItemDelegate):
    """Text with the colour, font, alignment, icon and share that the model says."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics: QFontMetrics = option.fontMetrics
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        return QSize(
            metrics.horizontalAdvance(text) + 2 * _margin(metrics), round(1.5 * metrics.height())
        )

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        theme = current()
        area: QRect = option.rect
        metrics: QFontMetrics = option.fontMetrics
        ground = _ground(theme, option.state)
        if ground:
            painter.fillRect(area, QColor(ground))
        share = index.data(SHARE)
        if share is not None:
            bar = area.adjusted(2, 3, -2, -3)
            bar.setLeft(bar.right() + 1 - round(bar.width() * min(max(share, 0.0), 1.0)))
            painter.fillRect(bar, QColor(mixed(theme.card, theme.accent, 0.3)))
        colour = index.data(Qt.ItemDataRole.ForegroundRole)
        painter.setPen(colour.color() if isinstance(colour, QBrush) else colour or theme.text)
        font = index.data(Qt.ItemDataRole.FontRole) or option.font
        painter.setFont(font)
        margin = _margin(metrics)
        room = area.adjusted(margin, 0, -margin, 0)
        icon = index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(icon, QIcon):
            size: QSize = option.decorationSize
            top = area.top() + (area.height() - size.height()) // 2
            icon.paint(painter, QRect(QPoint(room.left(), top), size))
            room.setLeft(room.left() + size.width() + margin)
        metrics = QFontMetrics(font)
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        alignment = index.data(Qt.ItemDataRole.TextAlignmentRole) or Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, int(getattr(alignment, "value", alignment)), shown)


def _margin(metrics: QFontMetrics) -> int:
    return round(0.45 * metrics.height())


def _ground(theme: Theme, state: QStyle.StateFlag) -> str:
    if state & QStyle.StateFlag.State_Selected:
        return theme.selected
    if state & QStyle.StateFlag.State_MouseOver:
        return theme.stripe
    return ""
