"""The pages by key, each loaded when it is first opened: a start needs only one."""

from __future__ import annotations

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.pages.page import Page


def titles() -> dict[str, str]:
    """What stands on the tabs, in their order. Later pages (a planner) are added here."""
    return {
        "curves": _("Curves"),
        "map": _("Map"),
        "roofline": _("Roofline"),
        "timeline": _("Memory"),
        "formula": _("Formula"),
        "measure": _("Measure"),
        "monitor": _("Monitor"),
    }


def make_page(key: str, hub: Hub) -> Page:
    """The page ``key``, built now."""
    match key:
        case "curves":
            from costlab_gui.pages.curves_page import CurvesPage

            return CurvesPage(hub)
        case "map":
            from costlab_gui.pages.map_page import MapPage

            return MapPage(hub)
        case "roofline":
            from costlab_gui.pages.roofline_page import RooflinePage

            return RooflinePage(hub)
        case "timeline":
            from costlab_gui.pages.timeline_page import TimelinePage

            return TimelinePage(hub)
        case "formula":
            from costlab_gui.pages.formula_page import FormulaPage

            return FormulaPage(hub)
        case "measure":
            from costlab_gui.pages.measure_page import MeasurePage

            return MeasurePage(hub)
        case "monitor":
            from costlab_gui.pages.monitor_page import MonitorPage

            return MonitorPage(hub)
    raise KeyError(key)
