"""What kind of file somebody opens: told by its name and, for JSON, by what is inside."""

from __future__ import annotations

import json
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _

SESSION, PROFILE, RUN, MODULE = "session", "profile", "run", "module"
_LARGE = 200_000_000
_ALLOWED = ".costlab.json, .toml, .py, config.json, .json, .jsonl, .sqlite"


def kind_of(path: Path) -> str:
    """``SESSION``, ``PROFILE`` (a device), ``RUN`` (measurements) or ``MODULE`` (code, a config).

    Raises:
        InputError: if it is none of them or cannot be read.
    """
    suffix = path.suffix.lower()
    found = {".toml": PROFILE, ".py": MODULE, ".sqlite": RUN, ".jsonl": RUN}.get(suffix)
    if not path.is_file():
        raise InputError(_("no such file"), given=str(path))
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
