"""The quickest probe known of this machine's cores, kept on disk for a day.

While neighbours are on every core, a survey of some tenths of a second never sees one alone, and
everything measured then would count as undisturbed. What an earlier process saw tells better.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from costlab.devices import fingerprint
from costlab.errors import CostLabError
from costlab.measurement.shared_core import survey_s
from costlab.store import home
from costlab.store.files import write_whole

# Clocks drift with the temperature and with a host's load, so that an old value means little.
_VALID_S = 86_400.0


def known_quickest_s(seen_s: float | None = None) -> float:
    """Seconds of the quickest probe: of this process's survey, of earlier ones, or ``seen_s``.

    It is kept for later processes, if it is quicker than what is kept, or that is too old.
    """
    kept_s = _kept_s()
    quickest_s = min(one for one in (survey_s(), kept_s, seen_s) if one is not None)
    if kept_s is None or quickest_s < kept_s:
        _keep(quickest_s)
    return quickest_s


def _keep(quickest_s: float) -> None:
    kept = {"environment": fingerprint().id, "probe_s": quickest_s, "at_s": time.time()}
    try:
        write_whole(_path(), json.dumps(kept) + "\n")
    except (CostLabError, OSError):
        # A data folder that cannot be written costs only the survey's memory.
        return


def _path() -> Path:
    return home() / "quickest_probe.json"


def _kept_s() -> float | None:
    try:
        kept = json.loads(_path().read_text("utf-8"))
        valid = kept["environment"] == fingerprint().id
        recent = 0 <= time.time() - kept["at_s"] <= _VALID_S
        return float(kept["probe_s"]) if valid and recent and kept["probe_s"] > 0 else None
    except (CostLabError, OSError, ValueError, KeyError, TypeError):
        return None
