"""Where CostLab keeps its data."""

from __future__ import annotations

import os
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _


def home() -> Path:
    """``$COSTLAB_HOME``, else the platform's user data folder. It need not exist yet.

    Raises:
        InputError: if no folder is named and the package that knows the platform's is missing,
            as it may be where CostLab runs from its sources.
    """
    named = os.environ.get("COSTLAB_HOME")
    if named:
        return Path(named).expanduser()
    try:
        import platformdirs
    except ImportError:
        raise InputError(
            _("CostLab's data folder is not known: the package platformdirs is not installed"),
            given="COSTLAB_HOME=",
            allowed=_("a folder in the variable COSTLAB_HOME"),
        ) from None
    return Path(platformdirs.user_data_dir("costlab", False))


def default_store() -> Path:
    """The store that is used where none is named."""
    return home() / "runs.sqlite"
