"""Speed of catalogued modules beside public implementations: same sizes and weights, one run.

``python -m benchmarks.catalogue_speed`` times each pair of :data:`PAIRS` forward (no_grad) and
forward with backward, ours and theirs in turn so that a slow moment hits both, and prints the
median of ours / theirs with its 95 % interval (order statistics of the ratios of neighbours), and
the largest difference of their outputs. ``--only WORD`` limits it to pairs whose name has WORD;
``--seconds S`` is the time for each pair and mode, ``--threads N`` the threads.

A pair is a function that returns our module, theirs as a callable, and the inputs of both.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks import sparse_pairs
from costlab.arch import registry

Call = Callable[..., Tensor]
Made = tuple[nn.Module, Call, tuple[Tensor, ...]]

_LEAST = 7  # rounds: fewer have no 95 % interval of the median


@dataclass(frozen=True, slots=True)
class Pair:
    """``make`` builds ours and theirs with equal weights; ``why`` explains a slower ours."""

    name: str
    make: Callable[[], Made]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Timed:
    """Ours / theirs: median and 95 % interval; seconds of ours."""

    ratio: float
    low: float
    high: float
    ours_s: float


def _attention(name: str, *, b: int, n: int, d: int, h: int) -> Made:
    module, (x,) = registry.load(name).build(b=b, n=n, d=d, h=h)
    theirs = nn.MultiheadAttention(d, h, bias=False, batch_first=True)
    with torch.no_grad():
        weights = dict(module.named_parameters())
        theirs.in_proj_weight.copy_(torch.cat([weights[f"{p}.weight"] for p in "qkv"]))
        theirs.out_proj.weight.copy_(weights["o.weight"])
    need_weights = name == "full_attention"
    return module, lambda x: theirs(x, x, x, need_weights=need_weights)[0], (x,)


def _cross() -> Made:
    module, inputs = registry.load("cross_attention").build(b=2, n=512, m=512, d=512, h=8)
    theirs = nn.MultiheadAttention(512, 8, bias=False, batch_first=True)
    with torch.no_grad():
        weights = dict(module.named_parameters())
        theirs.in_proj_weight.copy_(torch.cat([weights[f"{p}.weight"] for p in "qkv"]))
        theirs.out_proj.weight.copy_(weights["o.weight"])
    return module, lambda x, source: theirs(x, source, source, need_weights=False)[0], inputs


def _still(n: int, width: int) -> tuple[Tensor, Tensor]:
    """A rotation by nothing, for modules that turn queries and keys."""
    return torch.ones(1, n, width), torch.zeros(1, n, width)


def _grouped() -> Made:
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaAttention

    sizes = {"b": 1, "n": 1024, "d": 1024, "h": 16, "g": 4, "k": 64}
    module, inputs = registry.load("gqa_attention").build(**sizes, causal=True)
    config = LlamaConfig(hidden_size=1024, num_attention_heads=16, num_key_value_heads=4)
    config._attn_implementation = "sdpa"
    theirs = LlamaAttention(config, layer_idx=0)
    weights = dict(module.named_parameters())
    with torch.no_grad():
        for part in "qkvo":
            getattr(theirs, f"{part}_proj").weight.copy_(weights[f"{part}.weight"])
    turn = _still(1024, 64)
    return module, lambda x: theirs(x, position_embeddings=turn, attention_mask=None)[0], inputs


def _latent() -> Made:
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

    sizes = {"b": 1, "n": 1024, "d": 512, "h": 8, "k": 64, "p": 32, "q": 192, "r": 128}
    module, inputs = registry.load("latent_attention").build(**sizes, causal=True)
    config = DeepseekV3Config(
        hidden_size=512, num_attention_heads=8, num_key_value_heads=8, q_lora_rank=192,
        kv_lora_rank=128, qk_nope_head_dim=64, qk_rope_head_dim=32, v_head_dim=64,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    theirs = DeepseekV3Attention(config, layer_idx=0)
    names = {
        "q_down": "q_a_proj", "q_up": "q_b_proj", "kv_down": "kv_a_proj_with_mqa",
        "kv_up": "kv_b_proj", "o": "o_proj",
    }  # fmt: skip
    weights = dict(module.named_parameters())
    with torch.no_grad():
        for ours, other in names.items():
            getattr(theirs, other).weight.copy_(weights[f"{ours}.weight"])
    turn = _still(1024, 32)
    return module, lambda x: theirs(x, position_embeddings=turn, attention_mask=None)[0], inputs


_RECURRENT = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def _recurrent(name: str) -> Made:
    module, inputs = registry.load(name).build(b=8, n=128, d=256)
    theirs = _RECURRENT[name](256, 256, batch_first=True)
    theirs.load_state_dict(module.core.state_dict())  # type: ignore[union-attr]
    return module, lambda x: theirs(x)[0], inputs


PAIRS: tuple[Pair, ...] = (
    Pair(
        "full_attention / nn.MultiheadAttention with weights",
        lambda: _attention("full_attention", b=2, n=512, d=512, h=8),
    ),
    Pair(
        "flash_attention / nn.MultiheadAttention",
        lambda: _attention("flash_attention", b=2, n=512, d=512, h=8),
    ),
    Pair("cross_attention / nn.MultiheadAttention", _cross),
    Pair("gqa_attention / transformers LlamaAttention, sdpa", _grouped),
    Pair("latent_attention / transformers DeepseekV3Attention, sdpa", _latent),
    Pair("rnn / nn.RNN", lambda: _recurrent("rnn"), "the same operator"),
    Pair("gru / nn.GRU", lambda: _recurrent("gru"), "the same operator"),
    Pair("lstm / nn.LSTM", lambda: _recurrent("lstm"), "the same operator"),
    Pair("longformer / transformers LongformerSelfAttention", sparse_pairs.longformer_pair),
    Pair("bigbird / transformers BigBirdBlockSparseAttention", sparse_pairs.bigbird_pair),
    Pair("lsh_attention / transformers LSHSelfAttention, other hashes", sparse_pairs.reformer_pair),
    Pair("mamba / transformers MambaMixer", sparse_pairs.mamba_pair),
    Pair("mamba2 / transformers Mamba2Mixer", sparse_pairs.mamba2_pair),
    Pair("gated_deltanet / transformers Qwen3NextGatedDeltaNet", sparse_pairs.delta_pair),
    Pair("hybrid_block / transformers Jamba layers", sparse_pairs.hybrid_pair),
    Pair("linformer / linformer LinformerSelfAttention", sparse_pairs.linformer_pair),
    Pair("performer / performer-pytorch SelfAttention", sparse_pairs.performer_pair),
)


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Median and the order statistics that hold it with at least 95 %; infinite for few values."""
    ordered, count = sorted(ratios), len(ratios)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    below = rank = 0
    for k in range(count // 2):
        below += math.comb(count, k)
        if 2 * below / 2**count > 0.05:
            break
        rank = k + 1
    if not rank:
        return middle, -math.inf, math.inf
    return middle, ordered[rank - 1], ordered[count - rank]


def compare(ours: Call, theirs: Call, inputs: tuple[Tensor, ...], seconds: float) -> Timed:
    """Time the two in turn, the first of a round alternating, for about ``seconds``."""
    took: tuple[list[float], list[float]] = ([], [])
    calls = (ours, theirs)
    for call in calls:
        call(*inputs)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took[0]) < _LEAST:
        first = len(took[0]) % 2
        for index in (first, 1 - first):
            start = time.perf_counter()
            calls[index](*inputs)
            took[index].append(time.perf_counter() - start)
    middle, low, high = interval([a / b for a, b in zip(*took, strict=True)])
    return Timed(middle, low, high, sorted(took[0])[len(took[0]) // 2])


def _training(call: Call) -> Call:
    def step(*inputs: Tensor) -> Tensor:
        given = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        y = call(*given)
        torch.autograd.backward(y, torch.ones_like(y))
        return y

    return step


def run(pair: Pair, seconds: float) -> tuple[float, Timed, Timed]:
    """Largest difference of the outputs, forward and training."""
    torch.manual_seed(0)
    ours, theirs, inputs = pair.make()
    with torch.no_grad():
        difference = float((ours(*inputs) - theirs(*inputs)).abs().max())
        forward = compare(ours, theirs, inputs, seconds)
    return difference, forward, compare(_training(ours), _training(theirs), inputs, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each pair; 1 if ours is slower beyond its interval without a reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(arguments)
    torch.set_num_threads(args.threads)
    missed = 0
    for pair in PAIRS:
        if args.only not in pair.name:
            continue
        try:
            difference, *modes = run(pair, args.seconds)
        except ModuleNotFoundError as error:
            print(f"{pair.name}: not timed, {error.name} is not installed", flush=True)
            continue
        texts = []
        for mode, timed in zip(("forward", "training"), modes, strict=True):
            missed += timed.low > 1 and not pair.why
            texts.append(
                f"{mode} {timed.ratio:.3f} [{timed.low:.3f}, {timed.high:.3f}] "
                f"({timed.ours_s * 1e3:.2f} ms)"
            )
        reason = f"  ({pair.why})" if pair.why else ""
        print(f"{pair.name}: {', '.join(texts)}, differ by {difference:.1e}{reason}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
