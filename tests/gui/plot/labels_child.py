"""Run in a process of its own for its scale factor: are the labels of both axes whole?"""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QApplication

from costlab_gui.plot.figure_view import FigureView
from tests.gui.plot.figures import figure


def main() -> None:
    """Fail where a label lies outside the plot, or on another one."""
    app = QApplication([])
    view = FigureView()
    view.resize(480, 300)
    view.show()
    for log in (True, False):
        for factor in (1e-6, 1.0, 1e4):
            view.show_figure(figure(log, log, factor))
            app.processEvents()
            app.processEvents()
            whole = QRectF(view._graphics.rect())
            for axis in (view._graphics.x_axis, view._graphics.y_axis):
                boxes = [box for box, _text in axis.label_boxes()]
                assert len(boxes) >= 2, (log, factor, axis.labels)
                assert all(whole.contains(box) for box in boxes), (log, factor, axis.labels)
                assert not any(a.intersects(b) for a in boxes for b in boxes if a is not b)
    print(view.devicePixelRatioF())


main()
