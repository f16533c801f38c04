"""Why a plan is as fast as it is, what binds, and which clusters nothing beats."""

from __future__ import annotations

import json
import re

import pytest

import costlab
from benchmarks.reference_rows import rows
from costlab.cli.__main__ import main
from costlab.errors import InputError, SizeError
from costlab.planning.cluster import Rates
from costlab.planning.front import clusters, front

A100, H100 = "A100-80G-SXM", "H100-80G-SXM"


def test_gpt3s_size_as_transformer_lstm_and_mamba() -> None:
    gpt, lstm, mamba = (
        costlab.plan(f"{name}-175b", A100, 1024, tokens=300e9) for name in ("gpt3", "lstm", "mamba")
    )
    best = [answer.row(answer.shown[0]) for answer in (gpt, lstm, mamba)]
    # Narayanan et al. 2021, section 5.1: 34 days for 300 B tokens on 1024 A100 at 140 TFLOP/s;
    # Korthikanti et al. 2022, table 5, trains this size a third faster.
    assert 0.6 * 34 < best[0]["days"] < 34
    assert [row["limiter"] for row in best] == ["arithmetic", "recurrence", "arithmetic"]
    assert best[0]["days"] < best[2]["days"] < 1.2 * best[0]["days"]
    # By hand: 144 layers, forward and backward twice, 2048 steps, 4 d^2 weights and biases each.
    read = 2 * (4 * 12288**2 + 4 * 12288)
    passes = best[1]["plan"]["accumulation"]
    seconds = passes * 144 * 3 * 2048 * read / 2.039e12
    assert best[1]["time_s"]["recurrence"] == pytest.approx(seconds, rel=1e-3)
    assert "2048 steps waits" in best[1]["why"]


def test_llama_405b_reaches_the_mfu_that_was_published() -> None:
    # Llama Team 2024, table 4: 41 % on 16 384 H100; no constant was fitted on it.
    published = next(r for r in rows("training_throughput") if r.id == "llama3-t4-mfu-16384-s8192")
    answer = costlab.plan("llama-3.1-405b", H100, 16384, tokens=1e12, length=8192, batch=2048)
    assert 100 * answer.row(answer.shown[0])["mfu"] == pytest.approx(published.number, rel=0.1)


def test_a_runner_up_says_what_it_lost() -> None:
    answer = costlab.plan("gpt3-13b", A100, 64)
    lost = [answer.loss(index) for index in answer.shown[1:]]
    total = answer.found.time.total
    for item in lost:
        assert item.slower == pytest.approx(total[item.index] / total[answer.shown[0]] - 1)
        assert item.seconds > 0
        assert item.cause in item.text()
    large = answer.too_large()
    assert large is not None
    assert large.over_bytes > 0
    assert answer.found.time.total[large.index] < total[answer.shown[0]]
    plenty = costlab.plan("gpt3-13b", A100, 64, memory_bytes=1e12)
    assert plenty.too_large() is None


def test_what_divides_is_said() -> None:
    with pytest.raises(InputError, match="no plan divides") as caught:
        costlab.plan("gpt3-175b", A100, 1021, batch=2048)
    assert "tensor parallelism divides 96, at most 96 stages" in str(caught.value)
    assert "1020 devices would divide it; --batch 3063 would" in caught.value.advice
    with pytest.raises(SizeError, match="length=4096"):
        costlab.plan("gpt3-175b", A100, 1024, length=4096)


def test_the_front_holds_what_nothing_beats() -> None:
    machines = [(A100, 64, None), (H100, 64, None), (A100, 8, None)]
    found = clusters("gpt3-13b", machines, tokens=1e9)
    kept = front(found)
    # H100 is faster with fewer device hours and less energy; 8 devices cannot hold the states.
    assert [(choice.device, choice.gpus) for choice in kept] == [(H100, 64)]
    cheap = [Rates(price_per_hour=price) for price in (1.0, 9.0)]
    both = clusters("gpt3-13b", [(A100, 64, cheap[0]), (H100, 64, cheap[1])], tokens=1e9)
    assert len(front(both)) == 2
    with pytest.raises(InputError, match="none of the clusters"):
        clusters("gpt3-175b", [(A100, 8, None), (H100, 8, None)], tokens=1e9)


def test_models_and_clusters_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "gpt3-2.7b", "mamba-2.8b", "--gpus", "8xA100-80,16xA100-80",
               "--tokens", "1B"]  # fmt: skip
    assert main([*command, "--json", "--price", "1,2"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["gpus"]) for row in data["clusters"]] == [
        ("gpt3-2.7b", 8), ("gpt3-2.7b", 16), ("mamba-2.8b", 8), ("mamba-2.8b", 16),
    ]  # fmt: skip
    assert main(command) == 0
    assert "no other cluster is better" in capsys.readouterr().out
    assert main([*command, "--price", "1,2,3"]) == 2
    assert main([*command, "--job", "serve"]) == 2


@pytest.mark.parametrize(("model", "gpus", "length"), [("gpt3-175b", 4, None),
                                                       ("llama-3-8b", 8, 4194304)])  # fmt: skip
def test_what_is_said_to_fit_does(model: str, gpus: int, length: int | None) -> None:
    with pytest.raises(InputError, match="no plan fits") as caught:
        costlab.plan(model, H100, gpus, length=length)
    said = re.search(r"(\d+) such devices would do(?:, or --length (\d+))?", caught.value.advice)
    assert said is not None
    count, shorter = said.groups()
    assert costlab.plan(model, H100, int(count), length=length).found.order
    assert (shorter is None) == (length is None)
    if shorter is not None:
        assert costlab.plan(model, H100, gpus, length=int(shorter)).found.order


def test_a_model_of_few_positions_is_planned_at_all_of_them() -> None:
    assert costlab.plan("gpt2", H100, 8).found.work.length == 1024
    assert costlab.plan("llama-3-8b", H100, 8).found.work.length == 2048
