"""The pages by key, each loaded when it is first opened: a start needs only one."""

from __future__ import annotations

from importlib import import_module

from costlab.i18n import _
from costlab_gui.pages.page import Page

OWN_COLUMNS = frozenset({"plan"})
"""Pages with inputs and reasons of their own: the window's columns would say nothing there."""


def titles() -> dict[str, str]:
    """What stands on the tabs, in their order. Later pages are added here."""
    return {
        "curves": _("Curves"),
        "map": _("Map"),
        "roofline": _("Roofline"),
        "timeline": _("Memory"),
        "formula": _("Formula"),
        "structure": _("Structure"),
        "plan": _("Plan"),
        "measure": _("Measure"),
        "monitor": _("Monitor"),
    }


def page_class(key: str) -> type[Page]:
    """The class of the page ``key``; its code is loaded now. Any thread may ask."""
    name = f"{key}_page"
    module = import_module(f"costlab_gui.pages.{name}")
    found: type[Page] = getattr(module, f"{key.title()}Page")
    return found
