"""What int8 with a scale for each group of channels keeps, and how much room it takes."""

from __future__ import annotations

import pytest
import torch

from costlab.arch.int8_cache_attention import pack, unpack
from costlab.formulas.store import load


def test_each_value_is_kept_to_half_a_step_of_its_group() -> None:
    torch.manual_seed(3)
    x = torch.randn(2, 3, 7, 24, dtype=torch.float64) * torch.logspace(-6, 3, 24)
    x[0, 0, 0] = 0.0

    packed, scale = pack(x, 6)

    assert (packed.shape, packed.dtype, scale.shape) == (x.shape, torch.int8, (2, 3, 7, 4))
    groups = x.unflatten(-1, (4, 6))
    step = groups.abs().amax(-1, keepdim=True) / 127
    assert ((unpack(packed, scale).unflatten(-1, (4, 6)) - groups).abs() <= step * 0.5000001).all()
    assert unpack(packed, scale)[0, 0, 0].abs().max() == 0


def test_the_largest_of_a_group_keeps_its_sign_in_half_precision() -> None:
    x = torch.linspace(0.5, 2.0, 4001).to(torch.bfloat16).unsqueeze(-1)

    assert (unpack(*pack(x, 1)) > 0).all()
    assert (unpack(*pack(-x, 1)) < 0).all()


@pytest.mark.parametrize(("dtype", "scale_bytes"), [("float32", 4), ("bfloat16", 2)])
def test_state_is_a_byte_for_each_value_and_a_scale_for_each_group(
    dtype: str, scale_bytes: int
) -> None:
    """Llama 3 8B's heads at 131072: 8.5 bits a value in bfloat16, in place of 16."""
    sizes = {"b": 1, "n": 131_072, "d": 4096, "h": 32, "g": 8, "k": 128, "c": 32}
    found = load("int8_cache_attention", "decode", dtype).evaluate("state_bytes", **sizes)
    values = 2 * 8 * 131_072 * 128

    assert found["state_bytes"] == values + values // 32 * scale_bytes
