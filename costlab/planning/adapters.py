"""Low-rank adapters on a frozen model: which parts are trained, what backward still keeps.

A frozen product needs no weight gradient: one third of its training FLOP falls away, and so does
its saved input, unless an adapter reads the same input. The kernels of 4-bit products keep it
all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from costlab.errors import InputError, SizeError
from costlab.i18n import _
from costlab.planning.model import ModelConfig, Part, part
from costlab.planning.totals import parameters, value

ALL = ("all",)
_SHARED = ({"q", "k", "v"}, {"up", "gate"})
"""Products that read one input; the first of them saves it."""


def _short(item: Part) -> str:
    return item.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Adapted:
    """A frozen model with an adapter of rank r beside each target.

    Attributes:
        model: the frozen model.
        rank: r, columns of A and rows of B (Hu et al. 2021, section 4.1).
        targets: last words of the names of products, such as q and v; "all" for every product of
            the layers.
        keeps_inputs: whether frozen products keep their inputs too: bitsandbytes' autograd
            function of 4-bit products does (``MatMul4Bit.forward`` in its
            ``autograd/_functions.py``, at commit 29e3420c), though its backward reads only the
            weights.
    """

    model: ModelConfig
    rank: int
    targets: tuple[str, ...] = ("q", "v")
    keeps_inputs: bool = False

    def __post_init__(self) -> None:
        products = {_short(item) for item, _c, _s in self._products()}
        if self.rank < 1:
            raise SizeError(
                _("an adapter has at least rank 1"), given=f"rank={self.rank}", allowed="1 or more"
            )
        unknown = set(self.targets) - products - set(ALL)
        if unknown:
            raise InputError(
                _("no product of the layers has that name"),
                given=", ".join(sorted(unknown)),
                allowed=", ".join(sorted(products | set(ALL))),
            )

    def _products(self) -> Iterator[tuple[Part, int, str]]:
        for layer in self.model.layers:
            for item in layer.parts:
                if item.entry == "linear":
                    yield item, layer.count, layer.stream

    def _targeted(self, item: Part) -> bool:
        return item.entry == "linear" and (self.targets == ALL or _short(item) in self.targets)

    def adapters(self) -> Iterator[tuple[Part, int]]:
        """A and B of every target, with how often each occurs."""
        for item, count, _stream in self._products():
            if self._targeted(item):
                size, r = item.size, self.rank
                copies = {"copies": item.copies, "active": item.active, "expert": item.expert}
                yield part("linear", f"{item.name}.a", d=size["d"], f=r, saves=False,
                           **copies), count  # type: ignore[arg-type]  # fmt: skip
                yield part("linear", f"{item.name}.b", d=r, f=size["f"],
                           **copies), count  # type: ignore[arg-type]  # fmt: skip

    @property
    def trained(self) -> int:
        """Parameters of the adapters."""
        return sum(count * parameters(item) for item, count in self.adapters())

    def _keeps(self, item: Part) -> bool:
        """Whether the input of a product is saved: an adapter reads it."""
        if item.entry != "linear" or self.keeps_inputs:
            return item.saves
        group = next((names for names in _SHARED if _short(item) in names), {_short(item)})
        read = self.targets == ALL or bool(group & set(self.targets))
        return item.saves and read

    def saved_bytes(self, b: int, n: int) -> int:
        """Bytes kept for backward in bfloat16, of all layers and adapters, on one device."""
        frozen = sum(
            layer.count * value(item, "saved_bytes", "train", b, n)
            for layer in self.model.layers
            for item in layer.parts
            if self._keeps(item)
        )
        own = sum(c * value(i, "saved_bytes", "train", b, n) for i, c in self.adapters() if i.saves)
        return frozen + own

    def step_flop(self, b: int, n: int) -> int:
        """FLOP of the products of a training step."""
        total = 0
        for item, count, _stream in self.model.parts():
            full = value(item, "flop_matmul", "train", b, n)
            frozen = value(item, "flop_matmul", "forward", b, n) if item.entry == "linear" else 0
            total += count * (full - frozen)
        return total + sum(c * value(i, "flop_matmul", "train", b, n) for i, c in self.adapters())


def with_name(adapted: Adapted) -> ModelConfig:
    """The frozen model under a name that says what is beside it."""
    what = "+".join(adapted.targets)
    return replace(adapted.model, name=f"{adapted.model.name} + LoRA {adapted.rank} on {what}")
