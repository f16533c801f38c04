"""Sweeps as TOML files: what they say, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from costlab.cli.__main__ import main
from costlab.cli.sweep_file import load_sweep
from costlab.errors import CostLabError
from tests.sweep.fakes import FakeWorkers

_EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep.toml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sweep.toml"


def test_every_key_has_its_effect(path: Path) -> None:
    path.write_text(
        'targets = ["full_attention", "lstm"]\nmodes = ["train", "forward"]\n'
        'dtypes = ["float32", "bfloat16"]\n'
        'devices = ["cpu", "cuda:1"]\nthreads = [1, 2]\nrepeats = 5\nbudget = "2m"\n'
        'timeout = "90s"\nresident = false\nseed = 7\n'
        '[sizes]\nn = ["8:32:x2", 100]\nd = 16\n[options]\ncausal = true\n',
        encoding="utf-8",
    )

    plan = load_sweep(path)

    points = plan.points
    assert len(points) == len({str(point) for point in points}) == 2 * 2 * 2 * 2 * 2 * 4
    assert {point.target for point in points} == {"full_attention", "lstm"}
    assert {point.mode for point in points} == {"train", "forward"}
    assert {point.dtype for point in points} == {"float32", "bfloat16"}
    assert {point.device for point in points} == {"cpu", "cuda:1"}
    assert {point.threads for point in points} == {1, 2}
    assert {point.sizes["n"] for point in points} == {8, 16, 32, 100}
    assert {(point.target, *point.options.items()) for point in points} == {
        ("full_attention", ("causal", True)),
        ("lstm",),
    }
    assert (plan.repeats, plan.budget_s, plan.timeout_s, plan.resident, plan.seed) == (
        5, 120, 90, False, 7
    )  # fmt: skip


def test_single_points_each_with_sizes_of_their_own(path: Path) -> None:
    path.write_text(
        'seed = 1\n[[points]]\ntarget = "lstm"\nmode = "train"\nthreads = 2\n'
        'sizes = { n = 8, d = "1k" }\n[[points]]\ntarget = "full_attention"\n'
        "sizes = { n = 16, d = 64 }\noptions = { causal = true }\n",
        encoding="utf-8",
    )

    first, second = load_sweep(path).points

    assert (first.target, first.mode, first.threads) == ("lstm", "train", 2)
    assert first.sizes == {"n": 8, "d": 1024}
    assert second.sizes.items() >= {"n": 16, "d": 64}.items()
    assert second.options == {"causal": True}


@pytest.mark.parametrize(
    "text",
    ['points = [1]', '[[points]]\nsizes = {}', '[[points]]\ntarget = "rnn"\nsize = {}',
     '[[points]]\ntarget = "nothing"'],
)  # fmt: skip
def test_a_wrong_point_is_named(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")

    with pytest.raises(CostLabError, match=r"points\[0\]"):
        load_sweep(path)


def test_what_is_left_out_is_as_on_the_command_line(path: Path) -> None:
    path.write_text('targets = ["rnn"]\nthreads = 2\n[sizes]\nn = 8\n', encoding="utf-8")

    first, second = load_sweep(path), load_sweep(path)

    (point,) = first.points
    assert (point.mode, point.dtype, point.device, point.threads) == (
        "forward",
        "float32",
        "cpu",
        2,
    )
    assert (first.repeats, first.budget_s, first.resident) == (5, None, True)
    assert first.seed != second.seed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("targets = []", "targets"),
        ('targets = "rnn"', "targets = 'rnn'"),
        ('targets = ["rnn", 3]', "targets"),
        ("[sizes]\nn = 4", "targets"),
        ("speed = 3", "speed"),
        ('device = "cpu"\ntargets = ["rnn"]', "did you mean devices?"),
        ("targets = [", "cannot read"),
        ('targets = ["rnn"]\nbudget = "soon"', "budget = 'soon'"),
        ('targets = ["rnn"]\ntimeout = "-1s"', "timeout"),
        ('targets = ["rnn"]\nrepeats = true', "repeats = True"),
        ('targets = ["rnn"]\nthreads = ["two"]', "threads"),
        ('targets = ["rnn"]\nthreads = [0]', "threads"),
        ('targets = ["rnn"]\nmodes = ["sideways"]', "sideways"),
        ('targets = ["rnn"]\ndevices = "tpu"', "tpu"),
        ('targets = ["rnn"]\n[sizes]\nn = "8:x"', "sizes.n:"),
        ('targets = ["rnn"]\n[sizes]\nn = 0', "sizes.n:"),
        ('targets = ["rnn"]\n[sizes]\nn = 1.5', "sizes.n = 1.5"),
        ('targets = ["rnn"]\n[sizes]\nn = []', "sizes.n = []"),
        ('targets = ["rnn"]\nmodes = []', "modes"),
        ('targets = ["rnn"]\n[sizes]\nq = 4', "q"),
        ('targets = ["rnm"]\n[sizes]\nn = 4', "did you mean rnn"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(text: str, says: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")

    with pytest.raises(CostLabError) as caught:
        load_sweep(path)

    assert says in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("costlab.sweep.run.open_pair", FakeWorkers().open)

    assert main(["profile", str(_EXAMPLE), "--store", str(tmp_path / "runs.sqlite")]) == 0

    rows = [row.split() for row in capsys.readouterr().out.splitlines() if row.startswith("ok")]
    assert len(rows) == 2 * 2 * 3
