"""The command line as a whole: help, errors in one line, exit codes, words in any order."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys

import pytest

from costlab import __version__
from costlab.cli import __main__ as entry
from costlab.cli import list as listing
from costlab.cli.__main__ import COMMANDS, build_parser, main
from costlab.errors import DerivationError

NAMES = re.findall(r"^    (\w+)(?: |$)", build_parser().format_help(), flags=re.MULTILINE)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert len(NAMES) == len(COMMANDS)
    for name in NAMES:
        assert f"  {name} " in text or f"  {name}\n" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_help_has_an_example_that_parses(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0

    text = capsys.readouterr().out
    examples = [line.strip() for line in text.partition("example")[2].splitlines()[1:] if line]
    assert examples
    for example in examples:
        program, *argv = example.split()
        assert program == "costlab"
        args, rest = build_parser().parse_known_args(argv)
        entry._take_words(args, rest)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"costlab {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "COMMAND"),
        (["derif"], "derif"),
        (["list", "--tabel"], "--tabel"),
        (["list", "something"], "something"),
        (["predict", "no_such_architecture", "n=4", "--device", "L4"], "no_such_architecture"),
        (["predict", "full_attention", "n=0", "--device", "L4"], "positive integer"),
        (["predict", "full_attention", "n=-3", "--device", "L4"], "-3"),
        (["predict", "full_attention", "n=many", "--device", "L4"], "many"),
        (["predict", "full_attention", "n=1.5", "--device", "L4"], "1.5"),
        (["predict", "full_attention", "n=64", "d=100", "h=8", "--device", "L4"], "d=96,104"),
        (["predict", "full_attention", "n=64", "q=3", "--device", "L4"], "q; allowed: b, d, h"),
        (["predict", "full_atention", "--device", "L4"], "did you mean full_attention"),
        (["predict", "full_attention", "--mode", "trian", "--device", "L4"], "'train'"),
        (["predict", "full_attention", "--dtype", "int7", "--device", "L4"], "'float32'"),
        (["predict", "full_attention", "--device", "L4", "--threads", "0"], "'0'"),
        (["predict", "--device", "L4"], "costlab list"),
        (["predict", "full_attention", "--device", "abacus"], "abacus"),
        (["predict", "full_attention", "--set", "h", "--device", "L4"], "name=value"),
        (["derive", "a", "b"], "a b"),
        (["derive", "full_attention", "--backend", "gpu"], "'cuda'"),
        (["derive", "full_attention", "--set", "q=3"], "q; allowed: b, d, h, n"),
        (["derive", "full_attention", "--set", "acausal=yes"], "did you mean causal"),
        (["derive", "full_attention", "--set", "causal=perhaps"], "yes, no"),
        (["derive", "lstm", "--set", "causal=yes"], "lstm has no flags"),
        (["derive", "rnn_cell_loop", "--mode", "decode"], "forward, train"),
        (["derive", "no/such/file.py:build"], "no/such/file.py"),
        (["derive", "config.json"], "hf:FILE.json"),
        (["derive", "hf:no-such-config.json"], "no-such-config.json"),
        (["diff", "full_attention"], "two"),
        (["crossover", "rnn", "lstm", "--over", "n", "--fits", "lots"], "lots"),
        (["crossover", "full_attention", "rnn", "--over", "n", "--metric", "joy"], "'flop'"),
        (["crossover", "full_attention", "--over", "n", "n=4", "--fits", "1GiB"], "n=4"),
        (["crossover", "full_attention", "--over", "q", "--fits", "1GiB"], "q; allowed"),
        (["crossover", "full_attention", "--over", "n", "--fits", "1GiB", "q=4"], "q; allowed"),
        (["map", "full_attention", "rnn", "--over", "n,q", "--metric", "flop"], "q; allowed"),
        (["map", "rnn", "lstm", "--over", "n,d", "-o", "no-such-folder/a.svg"], "no-such-folder"),
        (["demo", "-o", "no-such-folder/report.html"], "no-such-folder"),
        (["report", "full_attention", "-o", "no-such-folder/a.html"], "no-such-folder"),
        (["map", "rnn", "lstm", "--over", "n"], "two sizes"),
        (["map", "rnn", "lstm", "--over", "n,d", "-o", "map.bmp"], ".svg"),
        (["profile", "rnn", "n=4", "--device", "abacus"], "abacus"),
        (["profile", "rnn", "n=4", "--budget", "soon"], "soon"),
        (["profile", "rnn", "n=4", "--repeats", "2"], ">= 3"),
        (["profile", "rnn", "n=4", "--threads", "60000"], "logical CPUs"),
        (["profile", "rnn", "n=4", "w=4"], "w; allowed: b, d, n"),
        (["profile", "full_attention", "h=4", "k=5", "d=64"], "h=4, k=5, d=64"),
        (["profile", "no/such/file.py:build"], "no/such/file.py"),
        (["export", "no-such-run", "-o", "x.json"], "runs.sqlite"),
        (["import", "no-such-file.json"], "no-such-file.json"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("costlab: ")
    assert says in captured.err


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (DerivationError("no\nform", operator="aten.x"), 2, "no form; given: aten.x"),
        (PermissionError(13, "Permission denied", "runs.sqlite"), 2, "runs.sqlite"),
        (KeyboardInterrupt(), 130, "cancelled"),
    ],
)
def test_errors_of_a_command(
    error: BaseException,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(listing, "run", lambda args: _raise(error))

    assert main(["list"]) == code
    assert says in capsys.readouterr().err


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "run", lambda args: _raise(ZeroDivisionError()))

    with pytest.raises(ZeroDivisionError):
        main(["list"])


def test_module_equals_command() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "costlab", "--version"], capture_output=True, text=True, check=True
    )

    assert found.stdout == f"costlab {__version__}\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    """`costlab list | head -1` ends without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run(
        [sys.executable, "-m", "costlab", "list"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)

    assert (found.returncode, found.stderr) == (0, "")


def test_a_console_without_our_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console that cannot show a sign gets another one, not an error."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    assert main(["list", "--json"]) == 0

    sys.stdout.flush()
    assert raw.getvalue().isascii()


def test_words_may_follow_options() -> None:
    args, rest = build_parser().parse_known_args(
        ["crossover", "rnn", "lstm", "--over", "n", "d=512", "--metric", "flop", "b=3"]
    )
    entry._take_words(args, rest)

    assert args.words == ["rnn", "lstm", "d=512", "b=3"]


def test_interrupt_of_a_process() -> None:
    """Ctrl-C ends the command with 130 and one line."""
    code = (
        "import signal, sys, time\n"
        # A job in the background of a script starts with the signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from costlab.cli import __main__ as entry, list as listing\n"
        "def wait(args):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "listing.run = wait\n"
        "sys.exit(entry.main(['list']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (130, "costlab: cancelled\n")
