"""What commands share."""

from __future__ import annotations

import json
import os
import signal
from argparse import ArgumentTypeError
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from costlab.cli.common import (
    cancellable,
    check_output,
    parse_options,
    positive,
    print_json,
    require_targets,
    split_words,
    table,
)
from costlab.errors import InputError, SizeError


def test_split_words() -> None:
    targets, sizes = split_words(["lstm", "n=4k", "my/file.py:build", "d=1,2"])

    assert targets == ["lstm", "my/file.py:build"]
    assert sizes == {"n": (4096,), "d": (1, 2)}


def test_require_targets_says_what_was_given() -> None:
    with pytest.raises(InputError, match="given: a b; allowed: one"):
        require_targets(["a", "b"], 1, 1, "one")


def test_parse_options() -> None:
    sizes, flags = parse_options(["h=8", "causal=yes", "bias=off"])

    assert sizes == {"h": 8}
    assert flags == {"causal": True, "bias": False}


@pytest.mark.parametrize("text", ["h", "h=maybe", "h=1,2"])
def test_parse_options_refuses(text: str) -> None:
    with pytest.raises((InputError, SizeError)):
        parse_options([text])


def test_table_is_aligned() -> None:
    text = table(("name", "n"), [("a", "5"), ("long one", "1024")], right="lr")

    assert text == "name         n\na            5\nlong one  1024"


def test_print_json_of_exact_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"third": Fraction(1, 4), "whole": Fraction(6, 2), "numpy": np.float64(0.5)})

    assert json.loads(capsys.readouterr().out) == {"third": 0.25, "whole": 3, "numpy": 0.5}


def test_cancellable_asks_first_and_interrupts_then() -> None:
    before = signal.getsignal(signal.SIGINT)
    with cancellable() as cancelled:
        assert not cancelled()
        os.kill(os.getpid(), signal.SIGINT)
        assert cancelled()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many", ""])
def test_positive_refuses(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="no positive integer"):
        positive(text)


def test_check_output(tmp_path: Path) -> None:
    check_output(tmp_path / "new.html")
    for path in (tmp_path, tmp_path / "missing" / "a.html"):
        with pytest.raises(InputError, match=r"cannot be written; given: .*folder"):
            check_output(path)
