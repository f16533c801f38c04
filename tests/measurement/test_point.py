"""Specifications, their hashes, and results as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from costlab.errors import InputError, SizeError
from costlab.measurement.point import PointResult, PointSpec, ProcessTiming

_CONTRACT = {
    "kind", "run", "point", "architecture", "mode", "dtype", "device", "sizes", "threads",
    "status", "time_s", "time_interval_s", "samples", "peak_bytes", "rss_peak_bytes",
    "device_bytes", "energy_j", "power_w", "flags", "reasons", "environment",
}  # fmt: skip


def _result() -> PointResult:
    timing = ProcessTiming(0.5, (0.4, 0.5, 0.6), 2.0, 4, 1, 0.99, 0.01, 0.2)
    return PointResult(
        point="ab12", architecture="x", mode="forward", dtype="float32", device="cpu",
        sizes={"n": 3}, threads=1, status="ok", environment="e", time_s=0.5,
        time_interval_s=(0.4, 0.6), samples=(0.5,), peak_bytes=12, flags=("drift",),
        reasons={"energy_j": "none here"}, processes=(timing,),
    )  # fmt: skip


def test_json_has_the_fields_of_the_contract() -> None:
    data = _result().to_json()

    assert set(data) >= _CONTRACT
    assert data["kind"] == "point"
    assert data["schema"] == "costlab.profile/1"
    assert "processes" not in data


def test_result_survives_json() -> None:
    result = _result()

    assert PointResult.from_json(json.loads(json.dumps(result.to_json(raw=True)))) == result


@pytest.mark.parametrize(
    "change",
    [{"mode": "backwards"}, {"dtype": "float33"}, {"device": "tpu"}, {"device": "cuda:x"},
     {"threads": 0}],
)  # fmt: skip
def test_bad_specifications_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        PointSpec(**{"target": "x", "sizes": {"n": 2}, **change})

    assert str(next(iter(change.values()))) in caught.value.given


@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_sizes_are_positive_integers(size: Any) -> None:
    with pytest.raises(SizeError):
        PointSpec("x", {"n": size})


def test_digest_depends_on_everything_a_result_depends_on() -> None:
    base = PointSpec("x", {"n": 2, "d": 3})
    same = PointSpec("x", {"d": 3, "n": 2})
    others = [
        PointSpec("y", {"n": 2, "d": 3}), PointSpec("x", {"n": 3, "d": 3}),
        PointSpec("x", {"n": 2, "d": 3}, mode="train"), PointSpec("x", {"n": 2, "d": 3}, threads=2),
        PointSpec("x", {"n": 2, "d": 3}, options={"causal": True}),
    ]  # fmt: skip

    assert base.digest("code", "env") == same.digest("code", "env")
    digests = {base.digest("code", "env"), base.digest("other", "env"), base.digest("code", "e2")}
    digests |= {other.digest("code", "env") for other in others}
    assert len(digests) == 3 + len(others)
