"""The benchmark's two modules compute what torch's own do, at odd sizes."""

from __future__ import annotations

from importlib.resources import as_file, files
from runpy import run_path
from typing import Any

import pytest
import torch
from torch import nn


@pytest.fixture(scope="module")
def article() -> dict[str, Any]:
    with as_file(files("costlab_profiles") / "programs" / "article.py") as path:
        return run_path(str(path))


def test_stepped_cell_is_an_rnn(article: dict[str, Any]) -> None:
    module, (x,) = article["rnn_cell_loop"](b=3, n=7, d=5)
    whole = nn.RNN(5, 5, batch_first=True)
    for name, value in module.cell.named_parameters():
        getattr(whole, f"{name}_l0").data.copy_(value.data)

    torch.testing.assert_close(module(x), whole(x)[1][0])


def test_self_attention_returns_averaged_weights_and_keeps_its_path(
    article: dict[str, Any],
) -> None:
    module, (x,) = article["self_attention"](b=3, n=7, d=6, h=2)

    output, weights = module.eval()(x)
    expected, averaged = module.attention(x, x, x)

    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, averaged)
    assert weights.shape == (3, 7, 7)
    assert module.attention.training


def test_defaults_are_the_sizes_of_the_article(article: dict[str, Any]) -> None:
    for factory in ("rnn_cell_loop", "self_attention"):
        _module, (x,) = article[factory]()
        assert x.shape == (32, 512, 128)
