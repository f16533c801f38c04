"""Whether the app can run here, found out without importing Qt."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from costlab.devices.desktop import Desktop, desktop
from costlab.devices.packages import allowed, installed, within
from costlab.i18n import _

_MODULES = ("PySide6", "ziamath")
_QT = "PySide6-Essentials"


def missing(
    where: Desktop | None = None,
    version: Callable[[str], str | None] = installed,
    has: Callable[[str], bool] = lambda module: find_spec(module) is not None,
) -> str | None:
    """One line on what to install, or what to use instead of the app; None if it can run.

    Args:
        where: the desktop; looked for if None.
        version: of a distribution, None if it is not installed.
        has: whether a module can be imported.
    """
    lacking = [module for module in _MODULES if not has(module)]
    if lacking:
        return _(
            "{names} is not installed: pip install 'costlab[gui]'; without the app: costlab --help"
        ).format(names=", ".join(lacking))
    found, wanted = version(_QT), allowed(_QT)
    if found is not None and not within(found, wanted):
        return _('Qt {version} does not work with the app: pip install "{name}{wanted}"').format(
            version=found, name=_QT, wanted=wanted
        )
    where = desktop() if where is None else where
    if where.display is None:
        return _(
            "there is no display here. Record on this machine with `costlab monitor --record "
            "FILE` and open FILE where there is one; all else is in `costlab --help`"
        )
    if where.lacking:
        return _("{files} is missing: sudo apt install {packages}").format(
            files=", ".join(one.file for one in where.lacking),
            packages=" ".join(one.package for one in where.lacking),
        )
    return None
