"""Each command through ``main([...])``: what it prints, and that JSON keeps its contract."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from costlab.arch import registry
from costlab.cli.__main__ import main
from costlab.formulas.text import parse

USER_MODULE = """
import torch
from torch import nn

@torch.library.custom_op("mine::odd", mutates_args=())
def odd(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

class Odd(nn.Module):
    def forward(self, x):
        return odd(x) + 1

def build(b=2, n=16, d=8):
    return nn.Linear(d, 3 * d), (torch.randn(b, n, d),)

def unknown(b=2, n=16, d=8):
    return Odd(), (torch.randn(b, n, d),)
"""


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(USER_MODULE, encoding="utf-8")
    return path


def run_json(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """The JSON that a command prints."""
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "list")

    assert data["schema"] == "costlab.list/1"
    assert [entry["name"] for entry in data["architectures"]] == list(registry.names())
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for name in registry.names():
        assert f"\n{name} " in text


def test_list_of_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "list", "--kind", "block")

    assert {entry["kind"] for entry in data["architectures"]} == {"block"}


def test_list_table_names_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "list", "--table", "n=96", "d=64", "h=4")

    rows = {row["architecture"]: row for row in data["table"]}
    assert rows.keys() == set(registry.names())
    # 8*b*n*d**2 for four projections and 4*b*n**2*d for scores and values, softmax apart.
    assert rows["full_attention"]["flop"] >= 8 * 96 * 64**2 + 4 * 96**2 * 64
    assert rows["full_attention"]["state_bytes"] == 2 * 96 * 64 * 4
    assert "h divides d" in rows["full_attention"]["conditions"]


def test_list_table_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--table", "n=96", "d=64", "h=5"]) == 0

    assert "d/h" in capsys.readouterr().out


def test_derive_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "derive", "full_attention")

    assert data["schema"] == "costlab.derive/1"
    expected = parse("8*b*n*d**2 + 4*b*n**2*d")
    assert parse(data["cost"]["flop_matmul"]["expr"]) == expected
    assert parse(data["cost"]["parameters"]["expr"]) == parse("4*d**2")
    for quantity in data["cost"].values():
        assert quantity["expr"] is not None or quantity["reason"]


def test_derive_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "full_attention", "--by", "module"]) == 0

    text = capsys.readouterr().out
    assert "flop_matmul      4·b·d·n·(2·d + n)" in text
    assert "order b·d·n² + b·d²·n" in text
    assert "agrees" in text
    assert "1 multiply-add = 2 FLOP" in text


def test_derive_scope_core(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "derive", "full_attention", "--scope", "core")

    assert parse(data["cost"]["flop_matmul"]["expr"]) == parse("4*b*n**2*d")


def test_derive_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "full_attention", "--latex"]) == 0

    assert r"\mathrm{flop\_matmul} = " in capsys.readouterr().out


def test_derive_of_a_users_module(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "derive", f"{user_file}:build")

    # A linear layer from d to 3d: one product of (b*n, d) with (d, 3d).
    assert parse(data["cost"]["flop_matmul"]["expr"]) == parse("6*b*n*d**2")
    assert parse(data["cost"]["parameters"]["expr"]) == parse("3*d**2 + 3*d")


def test_strict_fails_on_a_gap(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator without a rule is named, and is an error with --strict."""
    target = f"{user_file}:unknown"

    assert main(["derive", target]) == 0
    assert "mine.odd" in capsys.readouterr().out
    assert main(["derive", target, "--strict"]) == 1
    assert "mine.odd" in capsys.readouterr().err


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "diff", "full_attention", "flash_attention")

    by_name = {one["quantity"]: one for one in data["cost"]}
    assert by_name["parameters"]["equal"]
    assert by_name["flop_matmul"]["equal"]
    assert not by_name["peak_bytes"]["equal"]


def test_predict(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["predict", "full_attention", "n=64,100", "d=64", "h=4", "b=2", "--device", "L4"]
    data = run_json(capsys, *argv)

    assert data["schema"] == "costlab.predict/1"
    assert [point["sizes"]["n"] for point in data["points"]] == [64, 100]
    for point in data["points"]:
        assert point["time_interval_s"] == [point["time_s"], None]
        assert point["basis"] == "datasheet bound"
    assert main(argv) == 0
    assert "datasheet bound" in capsys.readouterr().out


def test_predict_a_generation(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["predict", "gqa_attention", "d=64", "h=4", "g=2", "--mode", "generate"]
    argv += ["--prompt", "1k", "--new", "3", "--device", "L4"]
    (point,) = run_json(capsys, *argv)["points"]

    parts = point["generate"]
    assert (point["mode"], parts["prompt"], parts["new"]) == ("generate", 1024, 3)
    assert point["state_bytes"] == 2 * 1027 * 2 * 16 * 4
    assert point["time_s"] == pytest.approx(parts["prefill_s"] + parts["decode_s"])
    assert parts["tokens_per_s"] == pytest.approx(3 / point["time_s"])
    assert main(argv) == 0
    assert "3 tokens after 1 024" in capsys.readouterr().out
    assert main([*argv, "b=1,2"]) == 0
    assert capsys.readouterr().out.count("gqa_attention") == 2


def test_writing_is_predicted_without_torch() -> None:
    code = (
        "import sys\n"
        "from costlab.cli.__main__ import main\n"
        "words = ['predict', 'gpt_block', '--device', 'L4', '--mode']\n"
        "main([*words, 'generate', '--prompt', '9', '--new', '4'])\n"
        "main([*words, 'decode', '--stream', '50/s'])\n"
        "print('torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr == "False\n"


def test_predict_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["predict", "gqa_attention", "lstm", "n=64", "d=64", "--mode", "decode"]
    argv += ["--stream", "1k/s", "--device", "L4"]
    attention, lstm = (point["stream"] for point in run_json(capsys, *argv)["points"])

    assert attention["keeps_up"]
    assert attention["falls_behind_from"] > 64
    assert lstm["falls_behind_from"] is None
    assert main(argv) == 0
    assert "stream of 1 000 tokens/s: 1 ms for each" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lstm", "--mode", "generate", "--prompt", "9"], "no --new"),
        (["lstm", "--mode", "generate", "--prompt", "9", "--new", "0"], "positive integer"),
        (["lstm", "n=9", "--mode", "generate", "--prompt", "9", "--new", "1"], "leave n out"),
        (["longformer", "--mode", "generate", "--prompt", "9", "--new", "1"], "token by token"),
        (["a.py:f", "--mode", "generate", "--prompt", "9", "--new", "1"], "catalogue"),
        (["lstm", "--prompt", "9"], "--mode generate"),
        (["lstm", "--stream", "50/s"], "--mode decode"),
        (["lstm", "--mode", "decode", "--stream", "soon"], "--stream"),
        (["feed_forward", "--mode", "decode", "--stream", "50/s"], "no such mode"),
    ],
)
def test_bad_writing_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["predict", *words, "--device", "L4"]) == 2

    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1


def test_predict_needs_a_calibration_for_this_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["predict", "full_attention"]) == 2

    assert "costlab calibrate" in capsys.readouterr().err


def test_predict_names_all_three_of_a_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "full_attention", "h=4", "k=5", "d=64", "--device", "L4"]) == 2

    error = capsys.readouterr().err
    for part in ("h=4", "k=5", "d=64"):
        assert part in error


def test_crossover_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Attention's 8*b*n*d**2 + 4*b*n**2*d against the 4*b*n*d*f of a feed-forward layer."""
    argv = ["crossover", "full_attention", "feed_forward", "--over", "n", "d=64", "f=256", "h=4"]
    data = run_json(capsys, *argv, "--metric", "flop", "b=2")

    assert data["schema"] == "costlab.crossover/1"
    (turn,) = data["crossovers"]
    assert turn["cheaper"] == "feed_forward"
    # Matmuls alone cross where 8 d + 4 n = 4 f, n = 128; the rest moves it a little.
    assert 100 <= turn["at"] <= 140


def test_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["crossover", "full_attention", "--over", "n", "d=64", "h=4", "--fits", "1GiB"]
    data = run_json(capsys, *argv)

    (limit,) = data["ceilings"]
    assert limit["binds"] == "memory"
    # Two score matrices of b*h*n**2 float32 fill 1 GiB near n = 5793.
    assert 5000 <= limit["at"] <= 5793


def test_map_in_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["map", "full_attention", "feed_forward", "--over", "n,d", "n=16:4k:x4", "d=64,256"]
    assert main([*argv, "f=256", "--metric", "flop", "b=2"]) == 0
    assert "A  full_attention" in capsys.readouterr().out

    path = tmp_path / "map.svg"
    assert main([*argv, "f=256", "--metric", "flop", "b=2", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8").startswith("<svg")


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "doctor")

    verdicts = {check["name"]: check["verdict"] for check in data["checks"]}
    assert verdicts["Python"] == verdicts["torch"] == "PASS"
    assert all(check["fix"] for check in data["checks"] if check["verdict"] != "PASS")


def test_report_of_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "formulas.md"

    assert main(["report", "full_attention", "-o", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    assert "full_attention" in path.read_text(encoding="utf-8")
    assert main(["report", "full_attention", "-o", str(tmp_path / "formulas.doc")]) == 2


def test_each_of_several_takes_the_flags_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("n=64", "d=32", "h=4", "--device", "L4", "--set", "causal=yes")
    flagged, plain = run_json(capsys, "predict", "full_attention", "lstm", *sizes)["points"]

    alone = run_json(capsys, "predict", "full_attention", *sizes)["points"]
    assert flagged == alone[0]
    # A causal mask keeps (n + 1) / 2n of the scores.
    assert (
        flagged["flop_useful"]
        < run_json(capsys, "predict", "full_attention", *sizes[:-2])["points"][0]["flop_useful"]
    )
    assert plain["architecture"] == "lstm"
    assert main(["predict", "gru", "lstm", *sizes]) == 2
    assert "unknown flag" in capsys.readouterr().err


def test_list_of_a_family_and_the_tables_paths(capsys: pytest.CaptureFixture[str]) -> None:
    recurrent = run_json(capsys, "list", "--family", "recurrent")["architectures"]
    rows = run_json(capsys, "list", "--family", "recurrent", "--table")["table"]

    assert {entry["family"] for entry in recurrent} == {"recurrent"}
    assert {"rnn", "lstm", "gru"} <= {row["architecture"] for row in rows}
    assert {(row["depth"], row["path"]) for row in rows if row["architecture"] == "rnn"} == {
        ("n", "n")
    }
    assert main(["list", "--family", "nobody"]) == 2
    assert "recurrent" in capsys.readouterr().err


def test_the_table_of_a_paper(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run_json(capsys, "list", "--paper", "vaswani2017")["rows"]

    found = {row["entry"]: (row["work"], row["depth"], row["path"]) for row in rows}
    assert found["full_attention"] == ("b*d*n**2", "1", "1")
    assert found["rnn"] == ("b*d**2*n", "n", "n")
    assert found["sliding_window"] == ("b*d*n*w", "1", "ceiling((n - 1)/w)")
    assert all(row["work"] or row["reason"] for row in rows)
    assert main(["list", "--paper", "wang2020"]) == 0
    assert "Linformer" in capsys.readouterr().out


def test_the_tables_of_all_papers_agree_or_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    tables = run_json(capsys, "list", "--paper", "all")["tables"]

    assert len(tables) == 5
    ours = {"n**2*d": "b*d*n**2", "n*d**2": "b*d**2*n", "w*n*d": "b*d*n*w",
            "w*n*d**2": "b*d**2*n*w", "n/w": "ceiling((n - 1)/w)"}  # fmt: skip
    for row in (row for table in tables for row in table["rows"]):
        for column in ("work", "depth", "path", "memory", "decode", "state"):
            theirs = row.get(f"paper_{column}")
            if theirs and not row["reason"]:
                assert row[column] == ours.get(theirs, theirs), row
