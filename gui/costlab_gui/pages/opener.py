"""Makes the pages, each when it is first opened, in pieces that keep no frame waiting."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget, QWidget

from costlab_gui.hub import Hub
from costlab_gui.pages.page import Page
from costlab_gui.pages.registry import page_class, titles


class PageOpener(QObject):
    """Puts pages into a stack and shows one of them.

    The code of a page is loaded in a thread; the page is then built, styled, filled and shown in
    one piece of idle work each, over an empty page meanwhile.

    Args:
        hub: what pages show.
        stack: where they are put.
    """

    def __init__(self, hub: Hub, stack: QStackedWidget) -> None:
        super().__init__(stack)
        self._hub = hub
        self._stack = stack
        self._pages: dict[str, Page] = {}
        self._wanted = ""
        self._nothing = QWidget()
        stack.addWidget(self._nothing)

    def page(self, key: str) -> Page:
        """The page ``key``, made now if it is not yet there, and shown if it is the open one."""
        page = self._pages.get(key) or self._make(key)
        if key == self._wanted:
            self._stack.setCurrentWidget(page)
        return page

    def has(self, key: str) -> bool:
        """Whether the page is made."""
        return key in self._pages

    def is_shown(self, key: str) -> bool:
        """Whether the page is what is seen."""
        return self._stack.currentWidget() is self._pages.get(key, self)

    def open(self, key: str) -> None:
        """Show a page as soon as it is there."""
        self._wanted = key
        if key in self._pages:
            self._show(key)
            return
        self._stack.setCurrentWidget(self._nothing)
        self._hub.loader.do(
            lambda: page_class(key), lambda _made: self._soon(lambda: self._build(key))
        )

    def load_all(self) -> None:
        """Load the code of all pages, so that the first look at one comes sooner."""
        for key in titles():
            self._hub.loader.do(lambda key=key: page_class(key), lambda _made: None)  # type: ignore[misc]

    def _soon(self, work: Callable[[], object]) -> None:
        self._hub.idle.first(work)

    def _build(self, key: str) -> None:
        if key not in self._pages:
            self._make(key)
        self._soon(lambda: self._style(key))

    def _style(self, key: str) -> None:
        page = self._pages[key]
        page.resize(self._stack.size())
        for widget in (page, *page.findChildren(QWidget)):
            widget.ensurePolished()
        self._soon(lambda: self._fill(key))

    def _fill(self, key: str) -> None:
        self._pages[key].prepare()
        self._soon(lambda: self._show(key))

    def _show(self, key: str) -> None:
        if key == self._wanted:
            self._stack.setCurrentWidget(self._pages[key])

    def _make(self, key: str) -> Page:
        page = self._pages[key] = page_class(key)(self._hub)
        self._stack.addWidget(page)
        return page
