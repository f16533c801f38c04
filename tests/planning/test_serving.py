"""Serving: what a sequence holds, what fits, and how long tokens take, against other accounts."""

from __future__ import annotations

import json

import pytest

from costlab.cli.__main__ import main
from costlab.errors import InputError, SizeError
from costlab.hardware.catalogue import load_profile
from costlab.planning.bundled import named
from costlab.planning.cluster import Rates, cluster
from costlab.planning.precision import FORMATS
from costlab.planning.request import Request
from costlab.planning.service import serve, what_fits
from costlab.planning.serving import Server, servers

H100 = cluster(load_profile("H100-80G-SXM"), 8)


def _server(model: str, tp: int = 1, **asked: object) -> Server:
    request = Request(**asked)  # type: ignore[arg-type]
    return next(s for s in servers(named(model), H100, request) if s.tp == tp)


def test_blocks_are_those_that_vllm_logs() -> None:
    # vLLM on 24 GB cards, llama-3-8b: "# GPU blocks: 2358", weights 14.9595 GiB, 90 % used.
    server = Server(named("llama-3-8b"), named("llama-3-8b"), H100, 1, Request(), 24 * 2**30)
    assert float(server.weight_bytes) / 2**30 == pytest.approx(14.9595, rel=2e-4)
    assert server.blocks == pytest.approx(2358, rel=0.12)
    assert server.blocks is not None
    assert server.longest == 16 * server.blocks


def test_sequences_hold_whole_blocks_and_a_window_stops_growing() -> None:
    llama = _server("llama-3-8b")
    assert llama.sequence_bytes(17) == llama.sequence_bytes(32) == 32 * 131072
    mistral = _server("mistral-7b")
    assert mistral.sequence_bytes(4096) == mistral.sequence_bytes(100_000)
    assert mistral.longest is None
    mamba = _server("mamba-2.8b")
    assert mamba.sequence_bytes(1) == mamba.sequence_bytes(10**6)


def test_latents_are_copied_to_every_rank_and_heads_are_divided() -> None:
    # DeepSeek-V2, section 2.1: 512 + 64 numbers a token and layer, which no rank can divide.
    assert _server("deepseek-v2-lite", 4).sequence_bytes(16) == 16 * 27 * 576 * 2
    assert _server("llama-3-8b", 8).sequence_bytes(16) == 16 * 131072 / 8


def test_a_decode_step_reads_weights_once_and_the_state_of_each() -> None:
    server = _server("llama-3-8b", prompt=2048, output=2)
    one, many = server.decode(1), server.decode(64)
    weights = 2 * (8_030_261_248 - 128256 * 4096) / 3.35e12  # the embedding gives rows alone
    assert one["weights"] == pytest.approx(weights, rel=1e-3)
    assert many["weights"] == one["weights"]
    assert many["state"] == pytest.approx(64 * 2049 * 131072 / 3.35e12, rel=1e-6)


def test_experts_that_no_token_takes_are_not_read() -> None:
    server = _server("mixtral-8x7b", 2, weights=FORMATS["bf16"])
    # Half of the active weights on each of two ranks; the embedding gives rows alone.
    assert server.decode(1)["weights"] == pytest.approx(12.88e9 / 3.35e12, rel=0.02)
    assert server.decode(64)["weights"] == pytest.approx(46.7e9 / 3.35e12, rel=0.02)


def test_prefill_is_two_flop_a_weight_and_token() -> None:
    server = _server("llama-3-8b", prompt=1024)
    dense = 2 * 1024 * (8_030_261_248 - 2 * 128256 * 4096) / 989.4e12
    assert server.prefill()["products"] == pytest.approx(dense, rel=2e-3)


def test_what_binds_and_what_helps_is_said() -> None:
    with pytest.raises(InputError, match="does not fit") as caught:
        serve("llama-3-70b", "H100-80G-SXM", 1)
    assert "weights bind; 4 such devices" in caught.value.advice
    assert "int4-g128" in caught.value.advice
    with pytest.raises(InputError, match="limits"):
        serve("llama-3-8b", "H100-80G-SXM", 1, tpot_s=1e-4)
    with pytest.raises(SizeError, match="prompt=0"):
        Request(prompt=0)


def test_limits_choose_the_concurrency() -> None:
    free = serve("llama-3-8b", "H100-80G-SXM", 1)
    held = serve("llama-3-8b", "H100-80G-SXM", 1, tpot_s=0.006)
    assert held.chosen < free.chosen
    assert held.server.row(held.chosen)["tpot_s"] <= 0.006


def test_what_fits_a_memory() -> None:
    found = {fit.name: fit for fit in what_fits(24 * 2**30)}
    assert found["llama-3-8b"].weights == "bf16"
    assert found["qwen2.5-32b"].weights == "int4-g128"
    assert "llama-3-70b" not in found
    assert "bert-base-uncased" not in found  # an encoder answers nothing


def test_the_command_prints_its_terms(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "llama-3-8b", "--gpus", "2xH100-SXM", "--job", "serve", "--price", "2"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("TTFT:", "TPOT:", "throughput:", "longest sequence"))
    assert main([*command, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["replicas"] * data["tp"] == 2
    row = data["rows"][0]
    assert row["cost_per_million_tokens"] == pytest.approx(4e6 / 3600 / row["tokens_per_s"])
    assert main(["plan", "--fits", "24GiB", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory_bytes"] == 24 * 2**30


def test_clusters_are_offered_beside_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "llama-3-8b", "--job", "serve", "--gpus", "1xH100-SXM,2xA100-80,1xT4",
             "--price", "3,1.8,0.4", "--tpot", "50ms", "--json"]  # fmt: skip
    assert main(words) == 0
    offers = json.loads(capsys.readouterr().out)["clusters"]
    alone = serve("llama-3-8b", "A100-80", 2, Request(), tpot_s=0.05,
                  rates=Rates(price_per_hour=1.8))  # fmt: skip
    row = next(r for r in alone.rows() if r["concurrency"] == alone.chosen)
    assert offers[1]["row"] == {"replicas": 2, "tp": 1} | row
    # Devices' hours over a million tokens of all of them.
    cost = 2 * 1.8 / 3600 / row["tokens_per_s"] * 1e6
    assert offers[1]["row"]["cost_per_million_tokens"] == pytest.approx(cost)
    assert "weights bind" in offers[2]["reason"]
    costs = [o["row"]["cost_per_million_tokens"] for o in offers[:2]]
    assert [o["best"] for o in offers] == [c == min(costs) for c in costs] + [False]


def test_no_cluster_that_serves_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "llama-3-70b", "--job", "serve", "--gpus", "1xT4,1xL4"]) == 2
    assert "none of the clusters serves" in capsys.readouterr().err
    assert main(["plan", "gpt2", "--job", "serve", "--gpus", "1xT4,1xL4",
                 "--passages", "2x8"]) == 2  # fmt: skip
    assert "one cluster" in capsys.readouterr().err
