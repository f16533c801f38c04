"""The models that come with CostLab: sourced, and of their published size."""

from __future__ import annotations

import json

import pytest

from benchmarks.reference_rows import rows
from costlab.cli.__main__ import main
from costlab.errors import InputError
from costlab.planning.bundled import named, names
from costlab.planning.totals import active_parameters, model_parameters

PUBLISHED = {
    "deepseek-v2": (236e9, 21e9), "deepseek-v3": (671e9, 37e9),  # their reports' abstracts
    "qwen3-235b-a22b": (235e9, 22e9), "jamba-v0.1": (52e9, 12e9), "mixtral-8x7b": (46.7e9, 12.9e9),
    "falcon-7b": (7e9, 7e9), "falcon-180b": (180e9, 180e9), "palm-540b": (540.35e9, 540.35e9),
    "chinchilla-70b": (70e9, 70e9), "gopher-280b": (280e9, 280e9), "llama-3-8b": (8.03e9, 8.03e9),
    "llama-2-70b": (69e9, 69e9), "llama-3.2-1b": (1.23e9, 1.23e9), "llama-3.2-3b": (3.21e9, 3.21e9),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_sizes_are_those_of_the_reports(name: str) -> None:
    model = named(name)
    found = (model_parameters(model), active_parameters(model))
    assert found == pytest.approx(PUBLISHED[name], rel=0.02)


def test_integers_of_public_code_are_met() -> None:
    # transformers built each of these and counted.
    counted = {row.id.removeprefix("par-"): int(row.number) for row in rows("parameters")
               if row.id.startswith("par-")}  # fmt: skip
    met = [name for name in names() if name in counted and not name.startswith("gpt3")]
    assert {name: model_parameters(named(name)) for name in met} == {n: counted[n] for n in met}
    assert len(met) >= 50


def test_every_model_has_a_source_a_date_and_no_unread_field() -> None:
    for name in names():
        model = named(name)
        assert model.source
        assert "not checked" not in model.source
        assert model.date.startswith("2026-")
        assert model.unused == ()


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--kind", "model", "--family", "deepseek", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"]
    assert [row["name"] for row in found] == ["deepseek-v2-lite", "deepseek-v2", "deepseek-v3"]
    # (512 + 64) numbers of a token and layer, DeepSeek-V2, section 2.1.
    assert found[1]["state_bytes_4k"] == 4096 * 60 * 576 * 2


@pytest.mark.parametrize("name", ["gpt-4o", "claude-opus"])
def test_unpublished_models_are_said_to_be(name: str) -> None:
    with pytest.raises(InputError, match="not published") as caught:
        named(name)
    assert "deepseek-v3" in caught.value.advice
