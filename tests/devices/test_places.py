"""The kinds of place, from made-up file systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from costlab.devices.places import places


@pytest.mark.parametrize(
    ("file", "text", "release", "found"),
    [
        ("etc/hostname", "x", "6.8.0-generic", set()),
        ("etc/hostname", "x", "5.15.153.1-microsoft-standard-WSL2", {"wsl"}),
        ("etc/nv_tegra_release", "# R36", "5.15-tegra", {"jetson"}),
        ("proc/device-tree/model", "NVIDIA Jetson AGX Orin\0", "5.15", {"jetson"}),
        (".dockerenv", "", "6.8", {"container"}),
        ("run/.containerenv", "", "6.8", {"container"}),
        ("proc/1/cgroup", "0::/kubepods/pod1\n", "6.8", {"container"}),
        ("proc/1/cgroup", "0::/init.scope\n", "6.8", set()),
    ],
)
def test_places(tmp_path: Path, file: str, text: str, release: str, found: set[str]) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

    assert places(tmp_path, release) == found
