"""Which CostLab this is and what it runs on: for the About box and for reports of defects."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from costlab import __version__
from costlab.i18n import _
from costlab.units import CONVENTION

_PACKAGES = ("torch", "numpy", "PySide6-Essentials", "ziamath")


def about_text() -> str:
    """Versions of CostLab, Python, the platform and the packages, without importing any."""
    lines = [f"CostLab {__version__}", f"Python {platform.python_version()}, {platform.platform()}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(_("{name}: not installed").format(name=name))
    return "\n".join([*lines, "", CONVENTION])
