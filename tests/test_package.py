"""The package as a whole: light imports, public names, three import names in the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

import costlab

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "sympy", "numpy", "transformers", "PySide6", "psutil"}


def _seconds(code: str) -> float:
    """CPU seconds of a fresh interpreter that runs ``code``, the least of five: load on the
    machine stretches wall time but hardly this."""
    best = float("inf")
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        user = after.children_user - before.children_user
        best = min(best, user + after.children_system - before.children_system)
    return best


@pytest.mark.parametrize(
    "code",
    ["import costlab", "from costlab.cli.__main__ import main; main(['--help'])"],
    ids=["import", "help"],
)
def test_start_is_light(code: str) -> None:
    """Under 0.3 s over bare Python, and nothing heavy is loaded."""
    check = f"import sys; print(*({HEAVY!r} & sys.modules.keys()), end='', file=sys.stderr)"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=False
    )

    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert _seconds(code) - _seconds("pass") < 0.3


def test_public_names() -> None:
    """Every name in ``__all__`` is a function that loads, and is listed by ``dir``."""
    for name in costlab.__all__:
        assert callable(getattr(costlab, name)), name
    assert set(costlab.__all__) <= set(dir(costlab))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'deriv'"):
        getattr(costlab, "deriv")  # noqa: B009


def test_a_function_outlives_the_import_of_its_package() -> None:
    """No subpackage has the name of a public function, which its import would replace."""
    folder = Path(costlab.__file__).parent
    modules = {path.stem for path in folder.iterdir()}

    assert modules.isdisjoint(costlab.__all__)


def test_data_is_found_as_a_resource() -> None:
    names = {entry.name for entry in files("costlab_profiles").iterdir()}

    assert "hardware" in names


def test_version_is_in_the_changelog() -> None:
    assert f"## {costlab.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_are_within_the_ranges() -> None:
    """Every pinned release is one that pyproject.toml allows, and every base range is pinned."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for extra in extras.values() for text in extra)]
    ranges = {canonicalize_name((r := Requirement(text)).name): r.specifier for text in texts}
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition("==")
            pins[canonicalize_name(name)] = version

    assert pins.keys() <= ranges.keys()
    assert {canonicalize_name(Requirement(t).name) for t in project["dependencies"]} <= pins.keys()
    for name, version in pins.items():
        assert version in ranges[name], name


def test_wheel_has_three_import_names(tmp_path: Path) -> None:
    """The wheel, built from the sources, brings costlab, costlab_gui, costlab_profiles only."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}

    assert {name for name in top if not name.endswith(".dist-info")} == {
        "costlab",
        "costlab_gui",
        "costlab_profiles",
    }
    assert {"costlab/py.typed", "costlab_gui/py.typed", "costlab_profiles/py.typed"} <= set(names)
    shipped = (ROOT / "profiles" / "costlab_profiles").rglob("*.toml")
    for path in shipped:
        assert path.relative_to(ROOT / "profiles").as_posix() in names
