"""Hugging Face configs build offline with random weights; what is wrong is said in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from costlab.errors import InputError, SizeError
from costlab.sources import resolve
from costlab.sources.program import prepare, run, tensors_of, upstream_gradients

CONFIGS = Path(__file__).parents[1] / "data" / "hf"


def test_parameters_of_llama_are_the_papers_formula() -> None:
    """Embedding and head 2Vd, per layer 2d² + 2dgk + 3df and two norms, one last norm."""
    values = json.loads((CONFIGS / "llama.json").read_text())
    d, f, vocab = values["hidden_size"], values["intermediate_size"], values["vocab_size"]
    gk = d // values["num_attention_heads"] * values["num_key_value_heads"]
    source = resolve(f"hf:{CONFIGS / 'llama.json'}")
    for layers in (2, 3):
        module = source.program("forward", {"b": 1, "n": 5, "L": layers}).module
        assert module is not None
        count = sum(p.numel() for p in module.parameters())
        assert count == 2 * vocab * d + layers * (2 * d * d + 2 * d * gk + 3 * d * f + 2 * d) + d


@pytest.mark.parametrize(
    ("name", "layers", "constraints"),
    [
        ("llama", 12, ()),
        ("mixtral", 2, ()),
        ("gpt2", 4, ("n <= 256",)),
        ("bert", 3, ("n <= 512",)),
    ],
)
def test_the_number_of_layers_is_a_size(
    name: str, layers: int, constraints: tuple[str, ...]
) -> None:
    source = resolve(f"hf:{CONFIGS / name}.json")
    assert source.symbols == ("b", "n", "L")
    assert source.loops == ("L",)
    assert source.defaults["L"] == layers
    assert source.constraints == constraints


@pytest.mark.parametrize("name", ["llama", "mixtral", "gpt2", "bert"])
def test_a_training_step_reaches_every_parameter(name: str) -> None:
    source = resolve(f"hf:{CONFIGS / name}.json")
    sizes = {"b": 3, "n": 33, "L": 2}
    program = prepare(source.program("train", sizes), "train")
    assert [(t.shape, t.requires_grad) for t in program.inputs] == [((3, 33), False)]
    run(program, "train", upstream_gradients(program))
    assert program.module is not None
    missing = [name for name, p in program.module.named_parameters() if p.grad is None]
    assert missing == []


@pytest.mark.parametrize("name", ["llama", "mixtral", "gpt2"])
def test_a_decode_step_continues_the_prefill(name: str) -> None:
    """The logits of the next token equal those of the whole sequence at once."""
    source = resolve(f"hf:{CONFIGS / name}.json")
    sizes = {"b": 2, "n": 7, "L": 3}
    program = prepare(source.program("decode", sizes), "decode")
    model = program.module
    assert model is not None
    ids = torch.randint(0, 50, (2, 8))
    with torch.no_grad():
        _first, state = model(ids[:, :7])
        step, after = model(ids[:, 7:], state)
        whole, _state = model(ids)
    torch.testing.assert_close(step[:, -1], whole[:, -1])
    assert program.state is not None
    shapes = [tuple(t.shape) for t in tensors_of(program.state)]
    assert shapes == [tuple(t.shape) for t in tensors_of(state)]
    assert all(t.shape[2] == 8 for t in tensors_of(after))
    outputs: Any = run(program, "decode")
    assert outputs[0].shape[:2] == (2, 1)


def test_a_bare_encoder_has_no_decode() -> None:
    with pytest.raises(InputError, match="allowed: forward, train"):
        resolve(f"hf:{CONFIGS / 'bert'}.json").build("decode", {"b": 1, "n": 4})


def test_a_wide_config_is_resolved_without_its_weights(tmp_path: Path) -> None:
    """96 layers of width 12288 would be 174 billion parameters."""
    values = json.loads((CONFIGS / "gpt2.json").read_text())
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**values, "n_embd": 12288, "n_head": 96, "n_layer": 96}))
    source = resolve(f"hf:{path}")
    assert source.defaults["L"] == 96


def test_unequal_layers_are_no_size(tmp_path: Path) -> None:
    values = {
        "model_type": "gemma3_text", "hidden_size": 32, "intermediate_size": 48, "head_dim": 8,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 6,
        "vocab_size": 70, "sliding_window": 8, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    source = resolve(f"hf:{path}")
    assert source.symbols == ("b", "n")
    program = source.program("decode", {"b": 1, "n": 19})
    (output, *_state) = tensors_of(run(prepare(program, "decode"), "decode"))
    assert output.shape == (1, 1, 70)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model_type": "lama"}, "did you mean llama"),
        ({"hidden_size": 8}, "names no model_type"),
        ({"model_type": "llama", "hidden_size": "wide"}, "hidden_size"),
        ({"model_type": "llama", "hidden_size": 65, "num_attention_heads": 4}, "not a multiple"),
        ({"model_type": "vit"}, "no plain text model"),
        ({"model_type": "t5"}, "no plain text model"),
        ([1, 2], "names no model_type"),
    ],
)
def test_a_bad_config_is_one_line(tmp_path: Path, values: object, said: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    with pytest.raises(InputError) as caught:
        resolve(f"hf:{path}")
    assert said in str(caught.value)
    assert "config.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none_or_no_json_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": ')
    with pytest.raises(InputError, match=r"no valid JSON.*line 1"):
        resolve(f"hf:{path}")
    with pytest.raises(InputError, match="cannot be read"):
        resolve("hf:nowhere.json")


def test_without_transformers_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r'pip install "costlab\[hf\]"'):
        resolve(f"hf:{CONFIGS / 'llama'}.json")


def test_sizes_are_checked() -> None:
    source = resolve(f"hf:{CONFIGS / 'llama'}.json")
    with pytest.raises(SizeError):
        source.build("forward", {"b": 0})
