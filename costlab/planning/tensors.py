"""Shapes of a part's parameters, for divisions that cut tensors and not one flat buffer.

FSDP2 cuts each parameter along its first dimension into equal shares, the last ones padded
(``torch.distributed.fsdp.fully_shard``), so what a rank holds depends on rows: 4096 rows over
16384 ranks are one row a rank, four times the parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning.model import Part

Shape = tuple[int, int]
"""Rows of a parameter, and elements of a row."""

# Per entry: the rows and the factors of a row, by symbol; several rows are (factor, symbol).
_SHAPES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "linear": (("f", ("d",)),),
    "embedding": (("V", ("d",)),),
    "table": (("V", ("d",)),),
    "scale": (("d", ()),),
    "rms_norm": (("d", ()),),
    "layer_scale": (("d", ()),),
    "layer_norm": (("d", ()), ("d", ())),
    "short_convolution": (("f", ("w",)), ("f", ())),
}
_BARE = frozenset({
    "attention_core", "cross_attention_core", "written_attention_core", "latent_core",
    "dropout", "fused_gate", "gate", "gelu", "relu", "silu", "squared_relu", "residual",
    "state_space",
})  # fmt: skip


def shapes(item: Part) -> tuple[Shape, ...]:
    """Rows and row sizes of a part's parameters, all copies; none if they are another part's.

    Raises:
        InputError: if the part is not known to this table.
    """
    if item.tied or item.entry in _BARE:
        return ()
    size = item.size
    if item.entry == "lstm":
        d = size["d"]
        found: tuple[Shape, ...] = ((4 * d, d), (4 * d, d), (4 * d, 1), (4 * d, 1))
    elif item.entry in _SHAPES:
        found = tuple((size[rows], _product(size, row)) for rows, row in _SHAPES[item.entry])
    else:
        raise InputError(
            _("the shapes of this part's parameters are not known"), given=item.entry,
            allowed=", ".join(sorted({*_SHAPES, "lstm"})),
        )  # fmt: skip
    if item.entry == "linear" and "bias" in item.options:
        found = (*found, (size["f"], 1))
    return found * item.copies


def _product(size: Mapping[str, int], names: Iterable[str]) -> int:
    number = 1
    for name in names:
        number *= size[name]
    return number


def elements(found: Iterable[Shape]) -> int:
    """Elements of parameters of these shapes."""
    return sum(rows * row for rows, row in found)


def row_share(found: Iterable[Shape], ranks: int) -> int:
    """Elements that the first rank holds if each parameter is cut along its rows.

    A collective moves that share from every rank, so a group's buffer is ``ranks`` times it.

    >>> row_share([(4096, 16384)], 16384) * 16384 * 4 // 2**20
    1024
    """
    return sum(-(-rows // ranks) * row for rows, row in found)


def tensor_share(found: Iterable[Shape], ranks: int) -> int:
    """Elements of the fullest rank if whole parameters go to ranks, the largest first.

    ``torch.distributed.optim.ZeroRedundancyOptimizer`` gives each to the rank with the fewest
    elements so far.

    >>> tensor_share([(5, 1), (4, 1), (3, 1), (3, 1)], 2)
    8
    """
    held = [0] * ranks
    for number in sorted((rows * row for rows, row in found), reverse=True):
        held[held.index(min(held))] += number
    return max(held)
