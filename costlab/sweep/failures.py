"""Which stored points failed, wholly or in one of their passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FAILED = frozenset({"crash", "timeout", "oom", "oom_suspected"})


def has_failed(point: Mapping[str, Any]) -> bool:
    """Whether a point, or a pass of it (named in its flags or reasons), has failed."""
    reasons = (reason.partition(":")[0] for reason in point.get("reasons", {}).values())
    return not FAILED.isdisjoint({point["status"], *point.get("flags", ()), *reasons})


def failure(point: Mapping[str, Any]) -> str:
    """Why a failed point failed, in one line; "" for one that did not."""
    reasons: Mapping[str, str] = point.get("reasons", {})
    if not has_failed(point):
        return ""
    said = [reasons.get("status"), None if point.get("time_s") else reasons.get("time_s")]
    said += [why for why in reasons.values() if why.partition(":")[0] in FAILED]
    return " ".join(next((why for why in said if why), point["status"]).split())
