"""A user's file that fails in each way it can: one line that says where, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.sources import check

HEAD = "import os, sys\nimport torch\nfrom torch import nn\n"
LINEAR = "    return nn.Linear(d, d), (torch.randn(b, n, d),)\n"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the trial in a child process, which takes seconds and has its own tests."""
    monkeypatch.setattr(check, "check_in_child", lambda *args, **options: None)


def written(folder: Path, body: str) -> str:
    """A file with ``body`` after the imports, which take three lines; its path as text."""
    path = folder / "mine.py"
    path.write_text(HEAD + body, encoding="utf-8")
    return str(path)


def error_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line a command ends with."""
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("costlab: ")
    return captured.err


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def build(b=1, n=8, d=4)\n", "mine.py:4"),
        ("sys.exit(3)\n", "SystemExit: 3 at"),
        ("raise OSError('no\\nluck')\n", "OSError: no luck at"),
        ("def builder(b=1, n=8, d=4):\n" + LINEAR, "did you mean builder?"),
        ("def build(b=1, n=8, d=4):\n    raise ValueError('odd')\n", "mine.py:5"),
        ("def build(b=1, n=8, d=4):\n    sys.exit(0)\n", "SystemExit: 0 at"),
        ("def build(b=1, n=8, d=4):\n    return nn.Linear(d, d)\n", "given: Linear"),
        ("def build(b=1, n=8, d=4):\n    return nn.ReLU(), ('x',)\n", "given: (str)"),
        ("def build(b=1, n=8, d=4, /):\n" + LINEAR, "remove the /"),
        ("build = 3\n", "given: int"),
    ],
)
def test_file_or_factory_fails(
    body: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, body)

    assert says in error_of(capsys, "derive", f"{path}:build")


def test_the_factory_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "def build(b=1, n=8, d=4):\n" + LINEAR)

    assert f"allowed: {path}:build" in error_of(capsys, "derive", path)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("forward", "says"),
    [
        ("return x @ x", "mine.py:6"),
        ("return x[x > 0].exp()", "aten.index.Tensor at"),
        (
            "for _ in range(int(torch.randint(1, 9, ()))): x = x.relu()\n        return x",
            "no branch may depend on values",
        ),
    ],
)
def test_forward_fails_or_follows_the_data(
    forward: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "class Mine(nn.Module):\n    def forward(self, x):\n        " + forward
    path = written(tmp_path, body + "\ndef build(b=1, n=8, d=4):\n"
                   "    return Mine(), (torch.randn(b, n, d),)\n")  # fmt: skip

    error = error_of(capsys, "derive", f"{path}:build")
    assert says in error
    assert "mine.py:6" in error


@pytest.mark.usefixtures("in_process")
def test_decode_without_a_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "def build(b=1, n=8, d=4):\n" + LINEAR)

    error = error_of(capsys, "derive", f"{path}:build", "--mode", "decode")
    assert "allowed: (module, inputs, state)" in error


def test_a_file_that_ends_the_process_ends_its_trial_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "def build(b=1, n=8, d=4):\n    os._exit(0)\n")

    assert "process died (exit code 0)" in error_of(capsys, "derive", f"{path}:build")


@pytest.mark.usefixtures("in_process")
def test_what_a_module_prints_is_not_in_the_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = (
        "print('import')\n"
        "class Mine(nn.Module):\n"
        "    def forward(self, x):\n"
        "        print('forward')\n"
        "        os.write(1, b'raw')\n"
        "        return x + 1\n"
        "def build(b=1, n=8, d=4):\n"
        "    print('factory')\n"
        "    return Mine(), (torch.randn(b, n, d),)\n"
    )
    path = written(tmp_path, body)

    assert main(["derive", f"{path}:build", "--json"]) == 0
    captured = capfd.readouterr()
    data: dict[str, Any] = json.loads(captured.out)
    assert data["cost"]["flop"]["expr"] == "b*d*n"
    for word in ("import", "factory", "forward", "raw"):
        assert word in captured.err


def test_a_sweep_that_measured_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "def build(b=1, n=8, d=4):\n    raise ValueError('odd')\n")

    assert main(["profile", f"{path}:build", "n=8"]) == 1
    assert "ValueError: odd at" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "no valid JSON"),
        ("{}", "names no model_type"),
        ('{"model_type": "llamma"}', "did you mean llama"),
        ('{"model_type": "llama", "hidden_size": 65, "num_attention_heads": 4}', "65"),
    ],
)
def test_config_fails(
    config: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(config, encoding="utf-8")

    assert says in error_of(capsys, "derive", f"hf:{path}")
