"""The template of a profile: known facts are in, the rest must be filled in."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from costlab.cli.__main__ import main
from costlab.devices import Environment, fingerprint
from costlab.errors import InputError
from costlab.hardware.catalogue import load_profile
from costlab.hardware.template import profile_template


def machine(name: str = 'Some "fast" CPU') -> Environment:
    return replace(
        fingerprint(), cpu=name, affinity=(0, 1, 2), gpus=(), memory_bytes=8 * 10**9,
        cgroup_memory_bytes=None,
    )  # fmt: skip


def test_an_unfilled_template_names_the_first_figure_to_fill_in(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(profile_template(machine(), date(2026, 1, 2)))

    with pytest.raises(InputError, match=r"mine\.toml.*matrix\.float32 = 0"):
        load_profile(path)


def test_a_filled_template_is_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = profile_template(machine(), date(2026, 1, 2))
    path.write_text(re.sub(r"value = 0\b", "value = 5e10", text).replace("power = ", "#"))

    profile = load_profile(path)

    assert (profile.title, profile.units.value) == ('Some "fast" CPU', 3)
    assert profile.capacity is not None and profile.capacity.value == 8e9


def test_doctor_prints_it_and_predict_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--template"]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(r"value = 0\b", "value = 1e11", text).replace("power = ", "#"))

    assert main(["predict", "full_attention", "n=64", "d=64", "--device", str(path)]) == 0

    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("device", "message"),
    [("H10O-SXM", "H100-80G-SXM"), ("TPU-v5e", "planning"), ("none.toml", "none.toml")],
)
def test_a_bad_device_is_one_line(
    device: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "full_attention", "n=64", "d=64", "--device", device]) == 2

    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert message in captured.err
