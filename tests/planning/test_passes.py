"""Passes of prompts and tokens: draft models, chunks of prompts, cached beginnings."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.errors import InputError, SizeError
from costlab.hardware.catalogue import load_profile
from costlab.planning.bundled import named
from costlab.planning.cluster import cluster
from costlab.planning.passes import expected_tokens
from costlab.planning.request import Pass, Request
from costlab.planning.serving import Server, servers

H100 = cluster(load_profile("H100-80G-SXM"), 8)
CAUSES = ("products", "weights", "attention", "state")


def _server(model: str = "llama-3-8b", tp: int = 1, **asked: object) -> Server:
    request = Request(**asked)  # type: ignore[arg-type]
    return next(s for s in servers(named(model), H100, request) if s.tp == tp)


@pytest.mark.parametrize(
    ("acceptance", "guesses", "operations", "speed"),
    [(0.6, 2, 1.53, 1.96), (0.7, 3, 1.58, 2.53), (0.8, 2, 1.23, 2.44), (0.8, 5, 1.63, 3.69),
     (0.9, 2, 1.11, 2.71), (0.9, 10, 1.60, 6.86)],
)  # fmt: skip
def test_tokens_of_a_check_are_those_of_leviathan(
    acceptance: float, guesses: int, operations: float, speed: float
) -> None:
    # Leviathan et al. 2023, table 1: a draft that costs nothing.
    found = expected_tokens(acceptance, guesses)
    assert found == pytest.approx(speed, abs=0.005)
    assert (guesses + 1) / found == pytest.approx(operations, abs=0.005)


def test_tokens_of_a_check_are_those_of_trials() -> None:
    chance = random.Random(1)
    total, trials = 0, 20_000
    for _trial in range(trials):
        kept = 0
        while kept < 4 and chance.random() < 0.7:
            kept += 1
        total += kept + 1
    assert total / trials == pytest.approx(expected_tokens(0.7, 4), rel=0.02)


def test_a_draft_saves_what_the_theorem_says() -> None:
    # Theorem 3.8: (1 - a^(c + 1)) / ((1 - a) (c r + 1)), r the draft's time of the model's; where
    # weights bind, checking reads them once, as a token does.
    asked = {"guesses": 3, "acceptance": 0.8, "prompt": 16, "output": 2}
    plain, drafted = _server("llama-2-70b", 4, prompt=16, output=2), _server(
        "llama-2-70b", 4, draft=named("llama-2-7b"), **asked)  # fmt: skip
    assert drafted.draft is not None
    ratio = sum(drafted.draft.decode(1).values()) / sum(plain.decode(1).values())
    speed = plain.row(1)["tpot_s"] / drafted.row(1)["tpot_s"]
    assert 0.08 < ratio < 0.2
    assert speed == pytest.approx(expected_tokens(0.8, 3) / (3 * ratio + 1), rel=0.02)


def test_a_draft_takes_memory_from_the_requests() -> None:
    plain, drafted = _server(), _server(draft=named("llama-3.2-1b"))
    draft = drafted.draft
    assert draft is not None
    assert plain.free_bytes - drafted.free_bytes == pytest.approx(float(draft.weight_bytes))
    more = drafted.sequence_bytes(1024) - plain.sequence_bytes(1024)
    assert more == 1024 * 16 * 2 * 8 * 64 * 2  # 16 layers of 8 heads of 64, keys and values
    assert drafted.most_sequences < plain.most_sequences


def test_cached_tokens_cost_no_products_and_are_read() -> None:
    whole, rest = _server(prompt=4096), _server(prompt=4096, cached=3072)
    a, b = whole.prompt_pass(0, 4096), rest.prompt_pass(3072, 4096)
    head = 2 * 128256 * 4096
    assert (a.products - head) / (b.products - head) == pytest.approx(4)
    pairs = sum(i + 1 for i in range(3072, 4096))
    assert b.cores == 32 * 4 * 32 * 128 * pairs
    assert b.state == 3072 * 131072
    assert rest.row(1)["ttft_s"] < whole.row(1)["ttft_s"] / 3


def test_chunks_do_the_work_of_the_prompt_and_read_what_came_before() -> None:
    server = _server(prompt=1000, chunk=300)
    cuts = [0, 300, 600, 900, 1000]
    parts = [server.prompt_pass(a, b) for a, b in pairwise(cuts)]
    total = sum(parts[1:], parts[0])
    whole = server.prompt_pass(0, 1000)
    assert total == Pass(whole.products, whole.cores, (300 + 600 + 900) * 131072, 1000)


def test_chunks_bound_the_wait_for_a_token() -> None:
    # Agrawal et al. 2023: a prompt stalls the others' tokens; a chunk with a step adds little.
    plain, chunked = _server(prompt=8192), _server(prompt=8192, chunk=512)
    waits = plain.row(16)["stall_s"], chunked.row(16)["stall_s"]
    assert waits[1] < waits[0] / 5
    alone = chunked.row(1)
    assert alone["ttft_s"] >= plain.row(1)["ttft_s"]
    # Weights are read by chunks that products bind, so that steps of tokens ride along.
    assert chunked.row(16)["tokens_per_s"] > plain.row(16)["tokens_per_s"]


def test_one_chunk_of_one_request_is_a_prefill() -> None:
    plain, chunked = _server().row(1), _server(chunk=1024).row(1)
    assert chunked["ttft_s"] == pytest.approx(plain["ttft_s"])
    assert chunked["tokens_per_s"] == pytest.approx(plain["tokens_per_s"])


@pytest.mark.parametrize("asked", [{"cached": 1024}, {"chunk": -1}, {"guesses": 0},
                                   {"acceptance": 1.5}])  # fmt: skip
def test_requests_that_cannot_be_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(SizeError):
        Request(**asked)  # type: ignore[arg-type]


def test_one_chunk_with_a_draft_is_a_prefill_and_checks() -> None:
    """One request, its prompt in one chunk: the same passes as without chunks."""
    asked: dict[str, Any] = {"draft": named("llama-3.2-1b"), "guesses": 2, "acceptance": 1.0,
                             "output": 31}  # fmt: skip
    plain, chunked = _server(**asked).row(1), _server(**asked, chunk=1024).row(1)
    for name in ("ttft_s", "tokens_per_s"):
        assert chunked[name] == pytest.approx(plain[name], rel=1e-9)


def test_a_draft_in_chunks_pays_where_it_is_kept() -> None:
    draft = named("llama-3.2-1b")
    alone, kept, lost = (
        _server("llama-3-70b", 8, chunk=256, **asked).row(4)
        for asked in ({}, {"draft": draft, "acceptance": 0.9}, {"draft": draft, "acceptance": 0.0})
    )
    assert kept["tokens_per_s"] > alone["tokens_per_s"] > lost["tokens_per_s"]
    assert alone["ttft_s"] < kept["ttft_s"] < 1.3 * alone["ttft_s"]  # the draft reads chunks too


def test_an_encoder_reads_a_prompt_as_a_whole() -> None:
    t5 = _server("t5-large", cached=8)
    with pytest.raises(InputError, match="an encoder reads"):
        t5.prefill()


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = main(["plan", "llama-3-8b", "--gpus", "1xH100-SXM", "--job", "serve", "--json", *words])
    assert code == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_retrieval_is_compared_with_all_documents(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--passages", "8x512", "--documents", "64k", "--cached")

    assert (found["prompt"], found["cached"]) == (8 * 512 + 1024, 8 * 512)
    ways = {way["name"]: way for way in found["retrieval"]}
    assert [way["prompt"] for way in ways.values()] == [5120, 5120, 65024, 65024]
    best = {name: way["best"] for name, way in ways.items()}
    assert best["passages, cached"]["ttft_s"] < best["passages"]["ttft_s"]
    assert best["passages"]["ttft_s"] < best["all documents"]["ttft_s"]
    assert best["passages, cached"]["tokens_per_s"] == max(b["tokens_per_s"] for b in best.values())


def test_documents_that_do_not_fit_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--passages", "2x512", "--documents", "2M")
    reasons = [way["reason"] for way in found["retrieval"]]
    assert reasons[:2] == [None, None]
    assert "keys, values and states bind" in reasons[2]


def test_drafts_and_chunks_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--draft", "llama-3.2-1b", "--guesses", "3", "--acceptance", "0.7")
    assert found["draft"] == {"model": "llama-3.2-1b", "guesses": 3, "acceptance": 0.7}
    assert _json(capsys, "--chunk", "256")["chunk"] == 256


@pytest.mark.parametrize(
    ("words", "says"),
    [(("--cached",), "--passages 8x512"), (("--acceptance", "much"), "--acceptance"),
     (("--passages", "8"), "--passages"), (("--draft", "gpt-5"), "gpt-5")],
)  # fmt: skip
def test_passes_that_make_no_sense_are_refused(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", "llama-3-8b", "--gpus", "1xH100-SXM", "--job", "serve", *words]
    assert main(asked) == 2
    assert says in capsys.readouterr().err
