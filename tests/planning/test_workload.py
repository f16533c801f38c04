"""The work of a model at a length: its sums are the model's, its shares those of each rank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import costlab
from benchmarks.reference_models import model_of
from benchmarks.reference_rows import rows
from costlab.cli.__main__ import main
from costlab.planning.blocks import attention
from costlab.planning.huggingface import from_values
from costlab.planning.memory import layer_saved
from costlab.planning.model import ModelConfig
from costlab.planning.totals import flop, model_parameters, state_elements, value
from costlab.planning.workload import workload

LENGTH = 512


def _families() -> list[ModelConfig]:
    found: dict[str, ModelConfig] = {}
    for row in rows("parameters"):
        model = model_of(row.inputs, row.id) if "family" in row.inputs else None
        if model is not None:
            found.setdefault(model.family, model)
    return list(found.values())


@pytest.mark.parametrize("model", _families(), ids=lambda model: model.family)
def test_every_family_gets_a_plan_from_its_own_totals(model: ModelConfig) -> None:
    work = workload(model, LENGTH)

    assert work.parameters == pytest.approx(model_parameters(model), rel=1e-12)
    assert work.model_flop == pytest.approx(3 * flop(model, 1, LENGTH), rel=1e-12)
    for tp in (1, 2, 4):
        if work.divisor % tp:
            continue
        for sequence in (False, True):
            exact = sum(
                layer.count * layer_saved(layer.parts, 1, LENGTH, tp=tp, sequence=sequence)
                for layer in model.layers
            ) / model.depth  # fmt: skip
            whole, copied = work.whole_saved_bytes[0], work.copied_saved_bytes[0]
            inside = (work.saved_bytes[0] - whole - copied) / tp
            shared = whole / (tp if sequence else 1) + copied + inside
            assert shared == pytest.approx(exact, rel=1e-4)  # a core's constant bytes
    answer = costlab.plan(model, "H100-80G-SXM", 64, tokens=1e9, length=LENGTH, show=1)
    assert answer.found.work == work


def test_a_recurrent_state_counts_and_does_not_grow() -> None:
    sizes = {"hidden_size": 64, "num_hidden_layers": 3, "vocab_size": 100}
    model = from_values({"model_type": "lstm", **sizes}, "lstm")

    assert state_elements(model, 100) == state_elements(model, 10) == 3 * 2 * 64
    work = workload(model, LENGTH)
    assert (work.divisor, work.attends, work.kv_bytes) == (1, 0, 0)
    assert work.sequential_steps == LENGTH
    assert work.step_bytes == 2 * (4 * 64 * 64 + 4 * 64)


def test_a_window_keeps_its_pairs() -> None:
    # Query i of n = 5 sees min(i, 3) keys: 1 + 2 + 3 + 3 + 3.
    (core,) = [p for p in attention(8, 2, 2, 4, window=3) if p.name == "attention.core"]
    assert value(core, "flop_useful", "forward", 1, 5) == 4 * 2 * 4 * 12
    assert value(core, "flop_useful", "forward", 1, 2) == 4 * 2 * 4 * 3


def test_a_config_file_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    sizes = {"hidden_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 16,
             "num_key_value_heads": 8, "intermediate_size": 6144, "vocab_size": 32000}  # fmt: skip
    file.write_text(json.dumps({"model_type": "llama", "new_gate": 3, **sizes}))

    command = ["plan", "--model", str(file), "--gpus", "8xH100-SXM", "--tokens", "20B"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    d, f, L, V = (sizes[n] for n in ("hidden_size", "intermediate_size", "num_hidden_layers",
                                     "vocab_size"))  # fmt: skip
    layer = d * d + 2 * d * (d // 2) + d * d + 3 * d * f + 2 * d
    assert found["parameters"] == L * layer + 2 * V * d + d
    assert any("new_gate" in line for line in found["assumptions"])

    file.write_text(json.dumps({"model_type": "llama", **sizes, "vocab_size": None}))
    assert main(command) == 2
    assert "vocab_size" in capsys.readouterr().err
