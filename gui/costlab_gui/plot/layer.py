"""What lies over a plot: a part of the picture, painted in pixels of the plot's box."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from costlab_gui.plot.frame import Frame


class Layer:
    """Base of the layers of a plot; they ask for no repaint, which is the owner's."""

    def draw(self, painter: QPainter, frame: Frame) -> None:
        """Paint in pixels of ``frame``, whose corner is at 0, 0."""
        raise NotImplementedError
