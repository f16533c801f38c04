"""What ``costlab doctor`` says of the app: its packages, a display, the libraries Qt loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from costlab.cli.doctor import FAIL, PASS, WARN, Check
from costlab.devices.desktop import Desktop, desktop
from costlab.devices.packages import allowed, installed, within
from costlab.i18n import _

_PACKAGES = (
    ("Qt", "PySide6-Essentials", "PySide6"),
    ("ziamath", "ziamath", "ziamath"),
)
_EXTRA = "pip install 'costlab[gui]'"


def app_checks(
    where: Desktop | None = None, version: Callable[[str], str | None] = installed
) -> Iterator[Check]:
    """The checks, in the order in which they are printed; no Qt is imported.

    Args:
        where: the desktop; looked for if None.
        version: of a distribution, None if it is not installed.
    """
    complete = True
    for name, distribution, module in _PACKAGES:
        check = _package(name, distribution, module, version)
        complete = complete and check.verdict == PASS
        yield check
    where = desktop() if where is None else where
    if where.display is None:
        fix = _("log in graphically; without one: costlab monitor --record FILE, then open FILE")
        yield Check(_("display"), WARN, _("none: only the app needs one"), fix)
    else:
        yield Check(_("display"), PASS, where.display or _("there"))
    if not complete:
        return
    for library in where.lacking:
        found = _("{file} is missing: Qt does not start").format(file=library.file)
        yield Check(
            _("Qt's libraries"), FAIL if where.display else WARN, found,
            f"sudo apt install {library.package}",
        )  # fmt: skip


def _package(
    name: str, distribution: str, module: str, version: Callable[[str], str | None]
) -> Check:
    found = version(distribution)
    if found is None and version is installed and find_spec(module) is not None:
        return Check(name, PASS, _("there, of unknown version"))
    if found is None:
        return Check(name, WARN, _("not installed; only the app needs it"), _EXTRA)
    wanted = allowed(distribution)
    if not within(found, wanted):
        fix = f'pip install "{distribution}{wanted}"'
        return Check(name, FAIL, _("{version}: the app does not work with it").format(
            version=found), fix)  # fmt: skip
    return Check(name, PASS, found)
