"""Predictions against hand arithmetic on made-up machines."""

from __future__ import annotations

import math

import pytest

from costlab.errors import SizeError
from costlab.formulas.store import load
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import CALIBRATED, Machine
from costlab.prediction.api import predict, to_json
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention, recurrence, window


def test_time_is_the_sum_over_operator_classes() -> None:
    # b=3, n=5, d=8, h=4: mm 2·3·5·64 = 1920 FLOP and 4·(240+64) = 1216 B, four times; bmm
    # 2·3·25·8 = 1200 FLOP and 4·3·(100+80) = 2160 B, twice; softmax 8·3·4·25 = 2400 B.
    machine = flat_machine(flop_per_s=100.0, bytes_per_s=80.0, launch_s=0.5, step_s=0.25)

    predicted = predict(attention(), {"b": 3, "n": 5, "d": 8}, machine)

    compute = 4 * 19.2
    memory = 2 * 27.0 + 30.0
    assert predicted.shares == pytest.approx(
        {"compute": compute, "memory": memory, "launch": 3.5, "latency": 1.5}
    )
    assert predicted.time_s == pytest.approx(compute + memory + 3.5 + 1.5)
    assert predicted.flop == 4 * 1920 + 2 * 1200 + 5 * 3 * 4 * 25
    assert predicted.peak_bytes == 4 * (4 * 64 + 4 * 3 * 5 * 8 + 2 * 3 * 4 * 25)


@pytest.mark.parametrize(
    ("machine", "limiter"),
    [
        (flat_machine(flop_per_s=1e-3), "compute"),
        (flat_machine(bytes_per_s=1e-3), "memory"),
        (flat_machine(launch_s=1e9), "launch"),
        (flat_machine(step_s=1e9), "latency"),
    ],
    ids=["compute", "memory", "launch", "latency"],
)
def test_the_limiter_is_the_largest_share(machine: Machine, limiter: str) -> None:
    assert predict(attention(), {"b": 3, "n": 5, "d": 8}, machine).limiter == limiter


def test_interval_takes_the_spread_of_each_kind() -> None:
    machine = flat_machine(
        flop_per_s=100.0, bytes_per_s=80.0, spread={"": (0.9, 1.2), "softmax": (0.5, 3.0)}
    )

    predicted = predict(attention(), {"b": 3, "n": 5, "d": 8}, machine)

    others, softmax = 4 * 19.2 + 2 * 27.0, 30.0
    assert predicted.basis == CALIBRATED
    assert predicted.time_interval_s == pytest.approx(
        (0.9 * others + 0.5 * softmax, 1.2 * others + 3.0 * softmax)
    )


def test_other_threads_or_dtype_are_transferred_and_have_no_interval() -> None:
    predicted = predict(attention(), {"b": 1, "n": 5, "d": 8}, flat_machine(), threads=7)

    assert predicted.basis == "transferred"
    assert predicted.time_interval_s == (None, None)
    assert any("stand in for 7" in text for text in predicted.assumptions)


def test_a_profile_gives_a_lower_bound() -> None:
    sizes = {"b": 1, "n": 4096, "d": 512}
    predicted = predict(attention(), sizes, "a100-80g-sxm")

    (point,) = to_json([predicted])["points"]
    assert point["basis"] == "datasheet bound"
    assert point["time_interval_s"] == [predicted.time_s, None]
    # At least the score matrices through memory and the matmuls through the float32 units.
    traffic = 8 * 4 * 4096**2 / load_profile("A100-80G-SXM").bandwidth.value
    assert predicted.time_s > traffic


def test_doubling_factors() -> None:
    sizes = {"b": 2, "n": 64, "d": 8}
    machine = flat_machine(step_s=1.0, flop_per_s=1e30, bytes_per_s=1e30)

    doubling = predict(recurrence(), sizes, machine).doubling

    assert doubling["n"]["time"] == pytest.approx(2.0)
    assert doubling["b"]["time"] == pytest.approx(1.0)
    assert doubling["d"]["state_bytes"] == 2.0
    assert doubling["n"]["state_bytes"] == 1.0
    peak = [2 * 8 * 8 + 2 * 64 * 8, 2 * 16 * 16 + 2 * 64 * 16]
    assert doubling["d"]["peak_bytes"] == pytest.approx(peak[1] / peak[0])


def test_doubling_out_of_the_domain_is_none() -> None:
    sizes = {"b": 1, "n": 8, "d": 4, "w": 8}

    doubling = predict(window(), sizes, flat_machine()).doubling

    assert doubling["w"]["time"] is None
    n_twice = doubling["n"]["flop"]
    assert n_twice is not None and math.isclose(n_twice, 2.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"b": 1, "n": 5}, "add d=.."),
        ({"b": 1, "n": 5, "d": 8, "q": 2}, "allowed: b, n, d, h, k"),
        ({"b": 0, "n": 5, "d": 8}, "b=0"),
        ({"b": 1, "n": 5, "d": 10, "h": 3}, "nearest: d=9,12; h=2,5"),
        ({"b": 1, "n": 5, "d": 512, "h": 4, "k": 64}, "d=512 h=4 k=64; allowed: k = d/h"),
        ({"b": 1, "n": 5, "d": 100, "k": 64}, "h would not be a positive integer"),
    ],
    ids=["missing", "unknown", "not-positive", "not-divisible", "contradiction", "no-heads"],
)
def test_bad_sizes_say_what_is_allowed(given: dict[str, int], message: str) -> None:
    with pytest.raises(SizeError) as caught:
        predict(attention(), given, flat_machine())

    assert message in str(caught.value)


def test_head_size_may_be_given_instead() -> None:
    machine = flat_machine()

    assert predict(attention(), {"b": 1, "n": 5, "k": 64}, machine).sizes["d"] == 256
    assert predict(attention(), {"b": 1, "n": 5, "k": 64, "d": 512}, machine).sizes["h"] == 8


def test_outside_the_domain_names_the_nearest_sizes() -> None:
    with pytest.raises(SizeError) as caught:
        predict(window(), {"b": 1, "n": 1000, "d": 3, "w": 64}, flat_machine())

    assert "w divides n" in caught.value.allowed
    assert caught.value.advice == "nearest: w=50 or 100; n=960 or 1024"


@pytest.mark.parametrize(("device", "backend"), [("H100-80G-SXM", "cuda"), ("CPU-2core", "cpu")])
def test_a_name_is_predicted_by_the_formulas_of_the_machines_backend(
    device: str, backend: str
) -> None:
    sizes = {"b": 2, "n": 1000, "d": 512, "h": 8}
    formulas = load("flash_attention", "train", "float32", backend)

    found = predict("flash_attention", sizes, device, mode="train")

    assert found.to_json() == predict(formulas, sizes, device).to_json()
    assert not any("backend calls them" in text for text in found.assumptions)


def test_a_size_that_usually_follows_from_others_may_be_given_beside_them() -> None:
    block, machine = load("transformer_block"), flat_machine()
    usual = {"b": 1, "n": 5, "d": 8, "h": 2}

    four_d, wider = (predict(block, usual | f, machine) for f in ({}, {"f": 33}))
    assert (four_d.sizes["f"], wider.sizes["f"]) == (32, 33)
    assert wider.flop is not None and four_d.flop is not None
    assert 4 * 5 * 8 < wider.flop - four_d.flop < 4 * 5 * (8 + 10)  # and 5 GELUs
    assert wider.doubling["d"]["flop"] is not None


def test_a_shard_of_the_heads_keeps_its_width_and_head_size() -> None:
    shard = {"b": 1, "n": 7, "d": 64, "h": 2, "g": 1, "k": 8}

    sizes = predict(load("gqa_attention"), shard, flat_machine()).sizes

    assert sizes == shard


def test_what_follows_from_others_follows_when_they_are_doubled() -> None:
    """Of grouped heads whose number stays, d/h doubles with d: scores cost twice."""
    sizes = {"b": 1, "n": 10**6, "d": 8, "h": 2, "g": 1}

    doubling = predict(load("gqa_attention"), sizes, flat_machine()).doubling

    flop = doubling["d"]["flop"]
    assert flop is not None
    assert math.isclose(flop, (4 * 8 + 5 + 8 / 10**6) / (4 * 4 + 5), rel_tol=1e-4)
