"""The window: what is compared on the left, the pages in the middle, why on the right."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QMainWindow,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from costlab.i18n import _
from costlab_gui.actions import Actions
from costlab_gui.files import Files
from costlab_gui.hub import Hub
from costlab_gui.model.recovery import lost
from costlab_gui.pages.opener import PageOpener
from costlab_gui.pages.page import Page
from costlab_gui.pages.registry import OWN_COLUMNS, titles
from costlab_gui.settings import Settings
from costlab_gui.widgets.architecture_list import ArchitectureList
from costlab_gui.widgets.formula_card import FormulaCard
from costlab_gui.widgets.job_status import JobStatus
from costlab_gui.widgets.landmarks_card import LandmarksCard
from costlab_gui.widgets.lost_bar import LostBar
from costlab_gui.widgets.machine_card import MachineCard
from costlab_gui.widgets.math_render import renderer
from costlab_gui.widgets.own_modules import OwnModules
from costlab_gui.widgets.sizes_panel import SizesPanel
from costlab_gui.widgets.status_line import StatusLine
from costlab_gui.widgets.top_bar import TopBar

_LOAD_MS = 1500  # from the first picture, when what was just opened has been looked at
_NARROW_EM = 96  # narrower windows begin without the right column


class MainWindow(QMainWindow):
    """One session in one window.

    Args:
        hub: document, workspace and signals.
        settings: geometry, theme and recent files.
    """

    def __init__(self, hub: Hub, settings: Settings) -> None:
        super().__init__()
        self.hub = hub
        self._painted = False
        self._folded: set[QWidget] = set()
        self._state: QByteArray | None = None  # of the columns, while a page has its own
        hub.idle.hold()
        renderer().hold()
        self.settings = settings
        self.files = Files(hub, settings, self)
        self.setAcceptDrops(True)
        # From the outside in: what is put into a window again takes its style again.
        body = QWidget()
        self.setCentralWidget(body)
        self._rows = rows = QVBoxLayout(body)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        self.top_bar = TopBar(hub, body)
        rows.addWidget(self.top_bar)
        self.columns = QSplitter(Qt.Orientation.Horizontal)
        self.columns.setHandleWidth(12)
        inner = QVBoxLayout()
        inner.setContentsMargins(12, 4, 12, 0)
        inner.addWidget(self.columns)
        rows.addLayout(inner, 1)
        self.left, cards = _column(self.columns)
        self.architectures = ArchitectureList(hub)
        _fill(self.left, cards, self.architectures, SizesPanel(hub))
        middle = QWidget(self.columns)
        layout = QVBoxLayout(middle)
        layout.setContentsMargins(0, 8, 0, 8)
        layout.setSpacing(8)
        self.tabs = QTabBar(expanding=False, drawBase=False)
        self.tabs.setAccessibleName(_("pages"))
        self.stack = QStackedWidget()
        self.pages = PageOpener(hub, self.stack)
        for key, title in titles().items():
            self.tabs.setTabData(self.tabs.addTab(title), key)
        layout.addWidget(self.tabs)
        layout.addWidget(self.stack, 1)
        self.right, cards = _column(self.columns)
        _fill(self.right, cards, FormulaCard(hub), LandmarksCard(hub), MachineCard(hub))
        self.columns.setCollapsible(1, False)
        self.columns.setStretchFactor(1, 1)
        self.status = StatusLine(hub)
        self.status.jobs.addWidget(JobStatus(hub))
        rows.addWidget(self.status)
        # Narrower than all columns need: then the right one folds.
        em = self.fontMetrics().horizontalAdvance("m")
        body.setMinimumSize(50 * em, 32 * em)
        self.commands = Actions(self)
        self.top_bar.undo_asked.connect(hub.document.undo)
        self.top_bar.report_asked.connect(self.files.write_report)
        self.top_bar.measure_asked.connect(lambda: self.open_page("measure"))
        self.tabs.currentChanged.connect(self._tab_chosen)
        self.own = OwnModules(hub, self.show_bar, self)
        hub.asked.connect(self._take_asked)
        hub.changed.connect(self._on_changed)
        self._restore()
        self.page(hub.session.page)
        self._on_changed(frozenset({"page"}))
        self._load = QTimer(self)
        self._load.setSingleShot(True)
        self._load.setInterval(_LOAD_MS)
        self._load.timeout.connect(self.pages.load_all)
        hub.closing.connect(self._load.stop)
        # The first picture does not wait for what takes long.
        for work in (hub.runs.watch, hub.landmarks.watch):
            hub.idle.later(work)

    def sizeHint(self) -> QSize:
        em = self.fontMetrics().horizontalAdvance("m")
        return QSize(122 * em, 76 * em)

    def open_page(self, key: str) -> None:
        """Show a page, as its tab does."""
        self.hub.change(page=key)
        self.hub.flush()

    def page(self, key: str) -> Page:
        """The page ``key``, made now if it is not there yet."""
        return self.pages.page(key)

    @property
    def current_page(self) -> Page:
        return self.page(self.hub.session.page)

    def offer_lost(self) -> None:
        """Offer what a crash interrupted, without standing in the way."""
        for item in lost():
            bar = LostBar(item)
            bar.accepted.connect(self.files.recover)
            self.show_bar(bar)

    def show_bar(self, bar: QWidget) -> None:
        """Put a question or a notice under the top bar."""
        self._rows.insertWidget(1, bar)

    def toggle_column(self, side: int) -> None:
        """Fold a side column away, or show it again: 0 the left one, 1 the right one."""
        own = self.current_page.columns
        if own:
            own[side].setVisible(not own[side].isVisible())
            return
        self._folded ^= {(self.left, self.right)[side]}
        self._show_columns()

    def _show_columns(self) -> None:
        own = self.hub.session.page in OWN_COLUMNS
        if own and self._state is None:
            self._state = self.columns.saveState()
        elif not own:
            self._state = None
        focused = self.focusWidget()
        if own and (focused is None or not self.stack.isAncestorOf(focused)):
            self.tabs.setFocus()  # else it would go to whatever comes next
        for column in (self.left, self.right):
            column.setVisible(not own and column not in self._folded)
        self.top_bar.show_setting(not own)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = _NARROW_EM * self.fontMetrics().horizontalAdvance("m")
        before = event.oldSize().width()
        if (before >= narrow or before < 0) and event.size().width() < narrow:
            self._folded.add(self.right)
        elif 0 <= before < narrow <= event.size().width():
            self._folded.discard(self.right)
        self._show_columns()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            QTimer.singleShot(0, self, self._begin)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.files.take(url.toLocalFile())
        event.acceptProposedAction()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.files.may_leave():
            event.ignore()
            return
        self.hub.closing.emit()
        self.files.close()
        self.settings.geometry = self.saveGeometry()
        self.settings.columns = self._state or self.columns.saveState()
        self.settings.save()
        event.accept()

    def _begin(self) -> None:
        """The first picture is there: do what waited for it."""
        self.hub.idle.release()
        renderer().release()
        self._load.start()

    def _take_asked(self, what: str, detail: object) -> None:
        path = detail if isinstance(detail, Path) else None
        if what == "import":
            self.files.import_runs(path)
        elif what == "open trace" and not self.pages.has("monitor"):
            self.page("monitor").take_asked(what, detail)
        elif what == "devices":
            from costlab_gui.widgets.device_dialog import DeviceDialog

            DeviceDialog(self.hub, self).open()

    def _restore(self) -> None:
        geometry, columns = self.settings.geometry, self.settings.columns
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(self.sizeHint().boundedTo(self.screen().availableSize()))
        em = self.fontMetrics().horizontalAdvance("m")
        if columns is None or not self.columns.restoreState(columns):
            self.columns.setSizes([29 * em, 64 * em, 31 * em])

    def _tab_chosen(self, index: int) -> None:
        self.open_page(self.tabs.tabData(index))

    def _on_changed(self, changed: frozenset[str]) -> None:
        if "page" in changed:
            key = self.hub.session.page
            self.pages.open(key)
            self.tabs.setCurrentIndex(list(titles()).index(key))
            self._show_columns()
        self.files.show_title()


def _column(columns: QSplitter) -> tuple[QScrollArea, QVBoxLayout]:
    """Area and layout of cards above each other that scroll where the window is low."""
    area = QScrollArea(columns)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    inner = QWidget()
    area.setWidget(inner)
    layout = QVBoxLayout(inner)
    layout.setContentsMargins(0, 8, 0, 8)
    layout.setSpacing(12)
    return area, layout


def _fill(area: QScrollArea, layout: QVBoxLayout, *cards: QWidget) -> None:
    """Put cards into a column, which is at least as wide as they need."""
    for card in cards:
        layout.addWidget(card)
    layout.addStretch(1)
    bar = area.verticalScrollBar().sizeHint().width()
    area.setMinimumWidth(layout.minimumSize().width() + bar)
