"""Finds device profiles: those that come with CostLab by name, a user's own by path."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from costlab.errors import InputError, UnknownNameError
from costlab.hardware.profile import DeviceProfile, parse_profile
from costlab.i18n import _


@cache
def _shipped() -> dict[str, DeviceProfile]:
    folder = files("costlab_profiles") / "hardware"
    loaded = (
        parse_profile(tomllib.loads(entry.read_text(encoding="utf-8")), entry.name)
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    )
    return {profile.name: profile for profile in loaded}


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that come with CostLab."""
    return tuple(_shipped())


def load_profile(name: str | Path) -> DeviceProfile:
    """Return a shipped profile by name, or the one in a ``.toml`` file.

    Case does not matter, and parts may be left out or cut short while one profile alone has those
    given: "H100-SXM" is "H100-80G-SXM", "A100-80" is "A100-80G-SXM".

    Raises:
        UnknownNameError: if no profile has this name, or several have these parts.
        InputError: if the file cannot be read or is not a profile.
    """
    if str(name).endswith(".toml"):
        return _load_file(Path(name))
    for known, profile in _shipped().items():
        if known.lower() == str(name).lower():
            return profile
    given = str(name).lower().split("-")
    fitting = [known for known in _shipped() if _has(known.lower().split("-"), given, whole=True)]
    fitting = fitting or [
        known for known in _shipped() if _has(known.lower().split("-"), given, whole=False)
    ]
    if len(fitting) == 1:
        return _shipped()[fitting[0]]
    raise UnknownNameError(_("device"), str(name), fitting or profile_names())


def _has(parts: list[str], given: list[str], *, whole: bool) -> bool:
    """Whether every part given is a part of the name, or the beginning of one."""
    return all(
        any(part == word if whole else word and part.startswith(word) for part in parts)
        for word in given
    )


def _load_file(path: Path) -> DeviceProfile:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
        raise InputError(_("cannot read the device profile"), given=f"{path}: {reason}") from cause
    except tomllib.TOMLDecodeError as cause:
        raise InputError(_("the device profile is not TOML"), given=f"{path}: {cause}") from cause
    return parse_profile(data, path.name)
