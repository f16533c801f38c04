"""What kind of file somebody opens: told by its name and, for JSON, by what is inside."""

from __future__ import annotations

import json
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _

SESSION, PROFILE, RUN, MODULE, TRACE = "session", "profile", "run", "module", "trace"
_LARGE = 200_000_000
_LINE = 1_000
_ALLOWED = ".costlab.json, .toml, .py, config.json, .json, .jsonl, .sqlite"


def kind_of(path: Path) -> str:
    """``SESSION``, ``PROFILE`` (a device), ``RUN`` (measurements), ``MODULE`` (code, a config) or
    ``TRACE`` (readings of devices).

    Raises:
        InputError: if it is none of them or cannot be read.
    """
    suffix = path.suffix.lower()
    found = {".toml": PROFILE, ".py": MODULE, ".sqlite": RUN, ".jsonl": RUN}.get(suffix)
    if not path.is_file():
        raise InputError(_("no such file"), given=str(path))
    if suffix == ".jsonl" and _is_trace(path):
        return TRACE
    if found is not None:
        return found
    if suffix == ".json" and path.stat().st_size < _LARGE:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(_("cannot read the file"), given=f"{path}: {error}") from error
        if isinstance(data, dict):
            schema = str(data.get("schema", ""))
            if schema.startswith("costlab.session/"):
                return SESSION
            if "model_type" in data or "architectures" in data:
                return MODULE
            if schema.startswith("costlab."):
                return RUN
    raise InputError(_("nothing that CostLab opens"), given=str(path), allowed=_ALLOWED)


def _is_trace(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return '"costlab.trace/' in file.readline(_LINE)
    except OSError as error:
        raise InputError(_("cannot read the file"), given=f"{path}: {error.strerror}") from error
