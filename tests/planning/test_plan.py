"""The plan of a training job, by Python and by the command line."""

from __future__ import annotations

import json

import pytest

import costlab
from costlab.cli.__main__ import main
from costlab.errors import InputError, UnknownNameError


def test_gpt3_has_its_published_size_and_arithmetic() -> None:
    answer = costlab.plan("gpt3-175b", "A100-80", 1024, tokens=300e9)

    # Brown et al. 2020, table D.1: 174 600 M parameters, 3.14e23 FLOP = 6 N x 300e9 tokens.
    assert answer.found.work.parameters == pytest.approx(174.6e9, rel=1e-3)
    flop = answer.found.work.model_flop / answer.found.work.length * 300e9
    assert flop == pytest.approx(3.14e23, rel=0.04)  # attention's pairs beyond 6 N
    row = answer.row(answer.shown[0])
    seconds = flop / (row["mfu"] * 1024 * 312e12)
    assert row["days"] == pytest.approx(seconds / 86400, rel=1e-6)
    assert sum(row["time_s"].values()) == pytest.approx(row["step_s"], rel=1e-9)
    assert row["memory_total_bytes"] <= 80e9
    assert row["gpu_hours"] == pytest.approx(row["days"] * 24 * 1024)


def test_the_command_prints_days_mfu_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "--model", "gpt3-175b", "--device", "a100-80", "--gpus", "1024"]

    assert main([*command, "--tokens", "300B"]) == 0
    text = capsys.readouterr().out
    assert "days" in text
    assert "MFU" in text
    assert "memory of a device" in text

    assert main([*command, "--json", "--price", "2"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "costlab.plan/1"
    first = data["plans"][0]
    assert first["cost"] == pytest.approx(2 * first["gpu_hours"])
    steps = [row["step_s"] for row in data["plans"]]
    assert steps == sorted(steps)


def test_what_binds_is_said_where_nothing_fits() -> None:
    with pytest.raises(InputError, match="no plan fits") as caught:
        costlab.plan("gpt3-175b", "A100-80", 8)
    assert "optimizer" in caught.value.advice
    assert "such devices would do" in caught.value.advice
    with pytest.raises(UnknownNameError):
        costlab.plan("gpt3-17b", "A100-80", 8)


def test_sequences_are_shared_only_where_scores_are_not_stored() -> None:
    stored = costlab.plan("gpt3-13b", "A100-80", 64, program="megatron")
    flash = costlab.plan("gpt3-13b", "A100-80", 64, program="megatron-flash")

    assert stored.found.plans.cp.max() == 1
    assert flash.found.plans.cp.max() > 1
    assert "vTrain" in stored.assumptions()[-2]
    assert "Kwai" in flash.assumptions()[-2]


def test_a_host_takes_gradients_and_optimizer_and_costs_their_way() -> None:
    with pytest.raises(InputError, match="or --offload"):
        costlab.plan("llama-3-8b", "A100-80", 1, tokens=1e9)

    found = costlab.plan("llama-3-8b", "A100-80", 1, tokens=1e9, host_bytes_per_s=20e9)

    row = found.row(found.shown[0])
    assert row["memory_bytes"]["gradients"] == row["memory_bytes"]["optimizer"] == 0
    # 2 bytes of a gradient there and 2 of a weight back (Ren et al. 2021, ZeRO-Offload, section 4).
    assert row["time_s"]["optimizer"] == pytest.approx(4 * 8030261248 / 20e9, rel=1e-6)
    assert any("host" in what for what in found.assumptions())
