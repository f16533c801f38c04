"""Measured points on disk: append-only, committed one by one, readable by every front end."""

from costlab.store.home import home
from costlab.store.store import RunInfo, Store

__all__ = ["RunInfo", "Store", "home"]
