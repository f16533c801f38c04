"""What doctor and the app itself say of Qt, displays and libraries on machines that are made up."""

from __future__ import annotations

import subprocess
import sys

import pytest

from costlab.cli.doctor import Check
from costlab.cli.doctor_app import app_checks
from costlab.devices.desktop import Desktop, Library, desktop
from costlab.devices.packages import allowed, within
from costlab_gui.display import missing

GOOD = {"PySide6-Essentials": "6.11.3", "ziamath": "0.13"}
CURSOR, EGL = Library("libxcb-cursor.so.0", "libxcb-cursor0"), Library("libEGL.so.1", "libegl1")
HERE = Desktop("DISPLAY=:0")


def checks(where: Desktop = HERE, **versions: str | None) -> dict[str, Check]:
    known = {**GOOD, **{name.replace("_", "-"): one for name, one in versions.items()}}
    found = list(app_checks(where, known.get))
    assert all(check.fix for check in found if check.verdict != "PASS")
    return {check.name: check for check in found}


def test_all_is_there() -> None:
    assert {check.verdict for check in checks().values()} == {"PASS"}
    assert missing(HERE, GOOD.get) is None


@pytest.mark.parametrize(
    ("where", "versions", "name", "verdict", "fix"),
    [
        (HERE, {"PySide6_Essentials": None}, "Qt", "WARN", "pip install 'costlab[gui]'"),
        (HERE, {"PySide6_Essentials": "6.12.0"}, "Qt", "FAIL", "PySide6-Essentials"),
        (HERE, {"ziamath": None}, "ziamath", "WARN", "costlab[gui]"),
        (Desktop(None), {}, "display", "WARN", "costlab monitor --record FILE"),
        (Desktop(":0", (CURSOR,)), {}, "Qt's libraries", "FAIL", "apt install libxcb-cursor0"),
        (Desktop(None, (EGL,)), {}, "Qt's libraries", "WARN", "apt install libegl1"),
    ],
)
def test_what_stands_in_the_way(
    where: Desktop, versions: dict[str, str | None], name: str, verdict: str, fix: str
) -> None:
    check = checks(where, **versions)[name]

    assert check.verdict == verdict
    assert fix in check.fix


@pytest.mark.parametrize(
    ("variables", "system", "display", "asked"),
    [
        ({}, "linux", None, ["libEGL.so.1"]),
        ({"DISPLAY": ":1"}, "linux", "DISPLAY=:1", ["libEGL.so.1", "libxcb-cursor.so.0"]),
        ({"DISPLAY": ":1", "WAYLAND_DISPLAY": "wayland-0"}, "linux", "WAYLAND_DISPLAY=wayland-0",
         ["libEGL.so.1"]),
        ({"WAYLAND_DISPLAY": "w", "QT_QPA_PLATFORM": "xcb"}, "linux", None, ["libEGL.so.1"]),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", "offscreen", ["libEGL.so.1"]),
        ({}, "darwin", "", []),
        ({}, "win32", "", []),
    ],
)  # fmt: skip
def test_where_a_window_would_appear(
    variables: dict[str, str], system: str, display: str | None, asked: list[str]
) -> None:
    tried: list[str] = []

    def loads(file: str) -> bool:
        tried.append(file)
        return False

    found = desktop(variables, system, loads)

    assert found.display == display
    assert tried == asked == [one.file for one in found.lacking]


@pytest.mark.parametrize(
    ("where", "version", "lacking", "says"),
    [
        (Desktop(None), "6.11.3", "", "costlab monitor --record FILE"),
        (HERE, "6.11.3", "PySide6", "pip install 'costlab[gui]'"),
        (HERE, "6.12.0", "", "<6.12"),
        (Desktop(":0", (CURSOR, EGL)), "6.11.3", "", "apt install libxcb-cursor0 libegl1"),
    ],
)
def test_the_app_says_in_one_line_what_it_lacks(
    where: Desktop, version: str, lacking: str, says: str
) -> None:
    line = missing(where, lambda name: version, lambda module: module != lacking)

    assert line is not None
    assert says in line
    assert "\n" not in line


def test_finding_out_imports_no_qt() -> None:
    program = (
        "import sys; from costlab_gui.display import missing; missing(); "
        "print([one for one in sys.modules if one.partition('.')[0] in ('PySide6', 'torch')])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "[]\n", done.stderr


def test_ranges_of_versions() -> None:
    assert within("6.11.3", allowed("PySide6-Essentials"))
    assert not within("6.12.0", allowed("pyside6-essentials"))
    assert within("2.13.0+cpu", allowed("torch"))
    assert allowed("no-such-package") == ""
    assert within("1", "")
