"""The loss of a language model: the mean of -log softmax(logits)[target] over all positions.

Bengio et al. 2003, "A neural probabilistic language model", section 2,
https://www.jmlr.org/papers/v3/bengio03a.html.

Shapes: b batch, n positions, V vocabulary.
    logits     [b, n, V]
    targets    [b, n], integers below V
    loss       a number

No parameters. Training keeps the log-probabilities, and its gradient is as large: 2 b n V numbers
beside the logits, often the highest peak of a small model.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


class CrossEntropy(nn.Module):
    """``F.cross_entropy`` over all positions as one batch."""

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def naive(module: CrossEntropy, logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the same from the definition of the softmax."""
    shares = logits.exp() / logits.exp().sum(-1, keepdim=True)
    return -shares.gather(-1, targets[..., None]).log().mean()


def build(*, b: int, n: int, V: int = 32000) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module, logits ``[b, n, V]`` and targets ``[b, n]``."""
    check_positive(b=b, n=n, V=V)
    return CrossEntropy(), (torch.randn(b, n, V), torch.randint(V, (b, n)))


SPEC = ArchitectureSpec(
    name="cross_entropy",
    title="Cross-entropy loss",
    kind="block",
    family="loss",
    paper="https://www.jmlr.org/papers/v3/bengio03a.html",
    symbols=("b", "n", "V"),
    defaults={"b": 1, "n": 1024, "V": 32000},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*V", "Bengio et al. 2003, section 2"),
        Claim("saved_bytes", "layer", "b*n*V", "the log-probabilities", mode="train"),
    ),
    gives_up="Holds every logit at once, log-probabilities and gradient beside them.",
)
