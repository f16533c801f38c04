"""Paints a line of the architecture list: check box, sample of the curve, title, order."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QApplication,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from costlab_gui.model.catalogue import Group, Program
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.architecture_rows import ROW, Index
from costlab_gui.widgets.chip import draw_chip

_SIDE, _GAP = 6, 10
_SMALL = 0.85


class ArchitectureDelegate(QStyledItemDelegate):
    """Heights and widths follow the font of the list."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        line = QFontMetrics(option.font).height()
        group = isinstance(index.data(ROW), Group)
        return QSize(line * 10, round(line * (1.7 if group and index.row() else 1.5)))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW)
        painter.save()
        painter.setFont(option.font)
        if isinstance(row, Group):
            self._paint_group(painter, option, row)
        elif isinstance(row, Program):
            self._paint_program(painter, option, row)
        painter.restore()

    def box(self, option: QStyleOptionViewItem) -> QRect:
        """Where the check box of a line is."""
        line = QFontMetrics(option.font).height()
        side = round(line * 0.88)
        room = option.rect
        return QRect(room.left() + _SIDE, room.center().y() - side // 2, side, side)

    def hits_box(self, option: QStyleOptionViewItem, at: QPoint) -> bool:
        """Whether a click at ``at`` is meant for the check box."""
        return at.x() <= self.box(option).right() + _SIDE

    def editorEvent(
        self,
        event: QEvent,
        model: object,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        # The list handles the mouse itself; a check box that listens too would toggle twice.
        if isinstance(event, QMouseEvent):
            return False
        return super().editorEvent(event, model, option, index)  # type: ignore[arg-type]

    def _paint_group(self, painter: QPainter, option: QStyleOptionViewItem, row: Group) -> None:
        theme = current()
        font = QFont(option.font)
        font.setPointSizeF(font.pointSizeF() * _SMALL)
        painter.setFont(font)
        painter.setPen(QColor(theme.dim))
        room = option.rect.adjusted(_SIDE, 0, -_SIDE, -3)
        align = Qt.AlignmentFlag.AlignBottom
        painter.drawText(room, align | Qt.AlignmentFlag.AlignLeft, row.title)

    def _paint_program(self, painter: QPainter, option: QStyleOptionViewItem, row: Program) -> None:
        theme = current()
        metrics = QFontMetrics(option.font)
        line = option.rect
        self._paint_ground(painter, option, row)
        box = self.box(option)
        self._paint_box(painter, option, box, row.chosen)
        sample = QRectF(box.right() + _GAP, line.center().y() - 6.5, metrics.height() * 2.2, 14)
        if row.colour is not None:
            draw_chip(painter, sample, row.colour, faint=row.hidden or bool(row.problem))
        left, right = round(sample.right()) + _GAP, line.right() - _SIDE
        room = right - left - _GAP
        wanted = room - metrics.horizontalAdvance(row.title)
        order_room = min(metrics.horizontalAdvance(row.order) + 1, max(wanted, room * 2 // 5))
        elided = Qt.TextElideMode.ElideRight
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.setPen(QColor(theme.disabled if row.problem else theme.dim))
        painter.drawText(
            QRect(right - order_room, line.top(), order_room, line.height()),
            align,
            metrics.elidedText(row.order, elided, order_room),
        )
        if not row.problem:
            painter.setPen(QColor(theme.text if row.chosen else theme.dim))
        painter.drawText(
            QRect(left, line.top(), room - order_room, line.height()),
            Qt.AlignmentFlag.AlignVCenter,
            metrics.elidedText(row.title, elided, room - order_room),
        )

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, row: Program) -> None:
        theme, state = current(), QStyle.StateFlag
        over = bool(option.state & state.State_MouseOver)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if row.selected or over:
            painter.setBrush(QColor(theme.selected if row.selected else theme.hover))
            painter.drawRoundedRect(QRectF(option.rect).adjusted(0, 0.5, 0, -0.5), 5, 5)
        if option.state & state.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 1, -0.5, -1), 5, 5)

    def _paint_box(
        self, painter: QPainter, option: QStyleOptionViewItem, box: QRect, checked: bool
    ) -> None:
        """The check box as the style sheet draws it in every list."""
        mark = QStyleOptionViewItem(option)
        mark.rect = box
        state = QStyle.StateFlag
        mark.state = option.state & ~(state.State_HasFocus | state.State_Selected)
        style = option.widget.style() if option.widget else QApplication.style()
        mark.state |= state.State_On if checked else state.State_Off
        style.drawPrimitive(
            QStyle.PrimitiveElement.PE_IndicatorItemViewItemCheck, mark, painter, option.widget
        )
