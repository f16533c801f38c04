"""What windowed entries are to each other, and what BigBird draws."""

from __future__ import annotations

import pytest
import torch

from costlab.arch import attention_sinks, bigbird, dilated_window, sliding_window


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_of_dilation_1_is_the_plain_one(causal: bool) -> None:
    plain = sliding_window.SlidingWindow(sliding_window.Config(6, 2, 3, causal)).double()
    dilated = dilated_window.DilatedWindow(dilated_window.Config(6, 2, 3, 3, causal)).double()
    dilated.load_state_dict(plain.state_dict())
    x = torch.randn(2, 11, 6, dtype=torch.float64)

    torch.testing.assert_close(dilated(x), plain(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dilation", [2, 3])
def test_a_dilated_window_is_a_plain_one_of_every_other_position(dilation: int) -> None:
    plain = sliding_window.SlidingWindow(sliding_window.Config(6, 2, 4)).double()
    config = dilated_window.Config(6, 2, 4, 4 * dilation)
    dilated = dilated_window.DilatedWindow(config).double()
    dilated.load_state_dict(plain.state_dict())
    x = torch.randn(2, 31, 6, dtype=torch.float64)

    for first in range(dilation):
        expected = plain(x[:, first::dilation])
        torch.testing.assert_close(dilated(x)[:, first::dilation], expected, rtol=0, atol=1e-12)


def test_sinks_within_the_window_change_nothing() -> None:
    plain = sliding_window.SlidingWindow(sliding_window.Config(6, 2, 5, causal=True)).double()
    sinks = attention_sinks.AttentionSinks(attention_sinks.Config(6, 2, 5, 3)).double()
    sinks.load_state_dict(plain.state_dict())
    x = torch.randn(2, 12, 6, dtype=torch.float64)

    torch.testing.assert_close(sinks(x)[:, :5], plain(x)[:, :5], rtol=0, atol=1e-12)
    assert not torch.allclose(sinks(x)[:, 5:], plain(x)[:, 5:])


def test_a_block_draws_others_that_it_does_not_see_already(seed: int) -> None:
    torch.manual_seed(seed)
    config = bigbird.Config(n=87, d=6, h=3, c=4, r=5, G=9)
    chosen, exists = bigbird.random_blocks(config)
    count, everywhere = 22, {0, 1}  # G = 9 are two whole blocks and a token of the third

    assert bool(exists.all())
    for head in chosen.tolist():
        for at, drawn in enumerate(head):
            ring = {(at - 1) % count, at, (at + 1) % count}
            assert len(set(drawn)) == config.r
            assert set(drawn) <= set(range(count)) - ring - everywhere


def test_few_blocks_are_all_seen_and_evaluation_draws_none_anew() -> None:
    module = bigbird.BigBird(bigbird.Config(n=20, d=6, h=2, c=4, r=5, G=1)).double()
    x = torch.randn(1, 20, 6, dtype=torch.float64)
    q, k, v = module.project(x)
    full = torch.nn.functional.scaled_dot_product_attention(q, k, v)

    torch.testing.assert_close(module.core(q, k, v), full, rtol=0, atol=1e-12)
    assert torch.equal(module.train()(x), module.eval()(x))
