"""The range of a plot that is seen: what its owner shows, what the user zoomed to, the way back."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

_KEPT = 100

Range = tuple[tuple[float, float], tuple[float, float]]


class VisibleRange(QObject):
    """A range of x and y in view coordinates, its owner's until the user zooms or pans.

    Signals:
        moved: the range is another one.
        touched: the user changed it, or let go of it.
    """

    moved = Signal()
    touched = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.range: Range = ((0.0, 1.0), (0.0, 1.0))
        self.is_touched = False
        self._back: list[Range] = []

    def show_range(self, wanted: Range) -> None:
        """Set the range as the owner, which is no step of the user's."""
        if wanted != self.range:
            self.range = wanted
            self.moved.emit()

    def zoom_to(self, wanted: Range, *, step: bool = True) -> None:
        """Set the range as the user: it stays.

        ``step`` says whether undoing goes back to the range before it, or still further.
        """
        if step:
            self.remember()
        self.show_range(wanted)
        self.is_touched = True
        self.touched.emit()

    def remember(self) -> None:
        """Undoing goes back to the range as it is now."""
        self._back = [*self._back[-_KEPT + 1 :], self.range]

    def undo(self) -> bool:
        """Go back to the range before the last zoom; False if there was none."""
        if not self._back:
            return False
        self.show_range(self._back.pop())
        if not self._back:
            self.is_touched = False
        self.touched.emit()
        return True

    def release(self) -> None:
        """Forget what the user zoomed to."""
        self._back.clear()
        self.is_touched = False
        self.touched.emit()
