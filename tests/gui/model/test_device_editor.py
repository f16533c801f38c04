"""A profile duplicated, edited with sources, validated and saved."""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path

import pytest

from costlab.errors import InputError
from costlab.hardware.catalogue import load_profile, profile_names
from costlab_gui.model.device_editor import Draft, figure_text, parse_figure
from costlab_gui.model.own_devices import recent, remember
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

A100 = "A100-40G-SXM"
READ = date(2026, 1, 31)


@pytest.mark.parametrize("name", profile_names())
def test_a_copy_that_is_not_edited_has_the_same_figures(name: str, tmp_path: Path) -> None:
    profile = load_profile(name)
    draft = Draft.of(profile)

    saved = draft.save(tmp_path / "copy.toml")

    assert draft.problems() == {}
    assert saved.constants() == profile.constants()
    assert (saved.kind, saved.backend, saved.notes) == (
        profile.kind,
        profile.backend,
        profile.notes,
    )
    assert saved.name != profile.name
    for constant in profile.constants().values():
        assert parse_figure(figure_text(constant), constant.unit) == constant.value


def test_a_changed_figure_needs_a_source_and_keeps_it(tmp_path: Path) -> None:
    draft = dataclasses.replace(Draft.of(load_profile(A100)), today=READ)
    draft = draft.with_figure("memory.bandwidth", text="2 TB/s")
    assert "source" in draft.problems()["memory.bandwidth"]
    with pytest.raises(InputError, match="source"):
        draft.save(tmp_path / "own.toml")
    assert not (tmp_path / "own.toml").exists()

    draft = draft.with_figure("memory.bandwidth", source="https://example.org/sheet.pdf")
    draft = draft.with_figure("device.power", text="", source="")
    draft = draft.with_figure("vector.float64", text="9 700 GFLOP/s", source='a "datasheet"')
    path = tmp_path / "own.toml"
    saved = draft.save(path)

    assert saved.bandwidth.value == 2e12
    assert saved.bandwidth.source.url == "https://example.org/sheet.pdf"
    assert saved.bandwidth.source.read == "2026-01-31"
    assert saved.power is None
    assert saved.vector["float64"].source.title == 'a "datasheet"'
    assert saved.matrix == load_profile(A100).matrix
    own = Workspace().machine(Setting(device=str(path)))
    assert own.capacity_bytes == Workspace().machine(Setting(device=A100)).capacity_bytes


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("memory.bandwidth", "fast", "not a figure in B/s"),
        ("memory.bandwidth", "80 GiB", "1555 GB/s"),
        ("memory.bandwidth", "", "needs"),
        ("memory.capacity", "0 GB", "positive"),
        ("matrix.float32", "312", "no device has such a constant"),
        ("device.units", "", "needs"),
        ("vector.float32", "  ", "needs"),
    ],
)
def test_what_is_wrong_is_said_at_the_figure(name: str, text: str, says: str) -> None:
    draft = Draft.of(load_profile(A100)).with_figure(name, text=text, source="me")

    problems = draft.problems()

    assert says in problems.pop(name)
    assert problems == {}


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("312e12", "FLOP/s", 312e12),
        ("312 TFLOP/s", "FLOP/s", 312e12),
        ("312tflop/s", "FLOP/s", 312e12),
        ("80 GiB", "B", 80 * 2**30),
        ("80 GB", "B", 80e9),
        ("1 555 GB/s", "B/s", 1555e9),
        ("108", "SM", 108),
    ],
)
def test_figures_as_people_type_them(text: str, unit: str, value: float) -> None:
    assert parse_figure(text, unit) == value


def test_profiles_used_lately(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    for path in (first, second):
        Draft.of(load_profile(A100)).save(path)
        remember(path)
    remember(first)
    assert recent() == (first, second)
    second.write_text("broken")
    choices = {one.name: one for one in Workspace().devices()}
    assert choices[str(first)].usable and not choices[str(second)].usable
    assert choices[str(first)].title == "NVIDIA A100 SXM4 40 GB, edited"
    first.unlink()
    assert recent() == (second,)
