"""Every shipped profile is complete and consistent; bad files say what is wrong."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import pytest

from costlab.errors import InputError, UnknownNameError
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.hardware.machine import Machine

GOOD = """
schema = "costlab.device/1"
name = "mine"
title = "My card"
kind = "gpu"
backend = "cuda"
[device]
units = { value = 10, source = "me" }
[matrix]
float16 = { value = 2e12, source = "me" }
[vector]
float32 = { value = 1e12, source = "me" }
[memory]
bandwidth = { value = 1e11, source = "me" }
[sources.me]
title = "my own arithmetic"
read = "2026-01-02"
"""


@pytest.mark.parametrize("name", profile_names())
def test_every_constant_has_a_unit_and_a_dated_source(name: str) -> None:
    profile = load_profile(name)

    constants = profile.constants()

    needed = {"units", "bandwidth"} | ({"vector.float32"} if profile.kind != "tpu" else set())
    assert needed <= set(constants)
    for constant in constants.values():
        assert constant.value > 0
        assert constant.unit
        assert constant.source.title
        datetime.date.fromisoformat(constant.source.read)


@pytest.mark.parametrize("name", profile_names())
def test_lower_precision_is_never_slower(name: str) -> None:
    matrix = load_profile(name).matrix
    order = [d for d in ("float32", "tf32", "bfloat16", "int8") if d in matrix]

    rates = [matrix[dtype].value for dtype in order]

    assert rates == sorted(rates)


def test_the_a100_rate_follows_from_its_clock() -> None:
    # 108 multiprocessors x 4 tensor cores x 256 multiply-adds x 2 x 1410 MHz.
    profile = load_profile("a100-80g-sxm")

    expected = profile.units.value * 4 * 256 * 2 * 1410e6
    assert profile.matrix["bfloat16"].value == pytest.approx(expected, rel=0.001)


def test_names_ignore_case_and_unknown_ones_suggest() -> None:
    assert load_profile("t4").name == "T4"
    with pytest.raises(UnknownNameError) as caught:
        load_profile("A100-80GB-SXM")
    assert "A100-80G-SXM" in caught.value.nearest


def test_parts_of_a_name_suffice_where_they_fit_one_profile() -> None:
    assert load_profile("h100-sxm").name == "H100-80G-SXM"
    assert load_profile("B200").name == "B200-180G-SXM"
    with pytest.raises(UnknownNameError, match="A100-40G-SXM, A100-80G-SXM"):
        load_profile("A100")


def published() -> dict[tuple[str, str], list[dict[str, str]]]:
    """Rows of tests/reference/hardware.csv by profile and constant."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = {}
    path = Path(__file__).parents[1] / "reference" / "hardware.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault((row["profile"], row["constant"]), []).append(row)
    return rows


# Compute units of three devices follow from arithmetic or a page that the table does not hold.
NOT_IN_THE_TABLE = {("b200-180g-sxm", "units"), ("mi300x", "units")}


@pytest.mark.parametrize("name", [n for n in profile_names() if load_profile(n).kind != "cpu"])
def test_every_number_agrees_with_each_published_row(name: str) -> None:
    rows, profile = published(), load_profile(name)
    without = set(NOT_IN_THE_TABLE)
    if profile.kind == "tpu":
        without.add((name.lower(), "units"))

    for constant, found in profile.constants().items():
        known = rows.get((name.lower(), constant), [])
        assert known or (name.lower(), constant) in without, constant
        for row in known:
            assert found.value == pytest.approx(float(row["value"]), rel=float(row["tolerance"])), (
                f"{constant}: {row['row']} of {row['source']}"
            )


def test_the_published_rows_speak_of_shipped_constants() -> None:
    shipped = {
        (name.lower(), constant)
        for name in profile_names()
        for constant in load_profile(name).constants()
    }

    assert published().keys() <= shipped


def test_a_device_for_planning_has_no_times() -> None:
    profile = load_profile("TPU-v5p")

    assert profile.capacity is not None and not profile.vector
    with pytest.raises(InputError, match="for planning only"):
        Machine.from_profile(profile, "bfloat16")


def test_a_profile_of_your_own_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)

    profile = load_profile(path)

    assert (profile.name, profile.matrix["float16"].value) == ("mine", 2e12)
    assert profile.capacity is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"costlab.device/1"', '"other/9"', "unknown schema"),
        ("value = 1e11", "value = -1", "memory.bandwidth = -1"),
        ('read = "2026-01-02"', "", "title and read"),
        ('bandwidth = { value = 1e11, source = "me" }', "", "memory.bandwidth"),
        ('{ value = 2e12, source = "me" }', '{ value = 2e12, source = "you" }', "matrix.float16"),
        ("float16 =", "float17 =", "matrix.float17"),
        ('kind = "gpu"', 'kind = "toaster"', "cpu or gpu"),
        ("[device]", "[device", "not TOML"),
        ("value = 1e11", "value = nan", "memory.bandwidth = nan"),
        ("value = 1e11", "value = inf", "memory.bandwidth = inf"),
        ("value = 2e12", "value = 312", "matrix.float16 = 312"),
        ("value = 1e11", 'value = "fast"', "memory.bandwidth = fast"),
        ('read = "2026-01-02"', 'read = "last week"', "sources.me: last week"),
    ],
    ids=[
        "schema",
        "negative",
        "undated",
        "missing",
        "unsourced",
        "dtype",
        "kind",
        "syntax",
        "nan",
        "infinite",
        "unit",
        "text",
        "date",
    ],
)
def test_bad_profiles_say_what_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))

    with pytest.raises(InputError, match=r"mine\.toml") as caught:
        load_profile(path)

    assert message in str(caught.value)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        load_profile(tmp_path / "none.toml")
