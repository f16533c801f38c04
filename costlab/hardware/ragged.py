"""How much longer a matrix kernel takes at a width that does not fill the processor's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.calibration_record import PERIOD, Ragged, Unaligned

Array = NDArray[np.float64]

# Rows of so many elements begin at whole vectors, as far as products are any quicker for it.
_WHOLE = 8
# MKL goes over its result once per so much of the inner dimension: with 80 and 160 a result of
# 2048 x 504 that was in no cache took 2.4 ns more per element, with 320, 640 and 1000 about 5, 9
# and 15.
_INNER_PER_PASS = 192

# Where a shape of `calibration_record.SHAPES` has its rows and its width, by kind.
_PLACES = {"matmul": (1, 3), "attention": (1, 3), "recurrent": (0, 3)}


@dataclass(frozen=True, slots=True)
class RaggedTable:
    """Factors on the time of a kernel by its width, for several numbers of rows."""

    rows: int
    width: int
    by_rows: tuple[Ragged, ...]

    @classmethod
    def of(cls, name: str, measured: Sequence[Ragged]) -> RaggedTable | None:
        """The table of the rates called ``name``; None where nothing was measured for them."""
        place = _PLACES.get(name.partition("_")[0])
        if place is None or not measured:
            return None
        return cls(*place, tuple(sorted(measured, key=lambda ragged: ragged.rows)))

    def factor(self, shape: Sequence[Any]) -> Array:
        """The factor at ``shape``: numbers or arrays that broadcast.

        Between the measured rows it is interpolated over their logarithm; beyond them it stays.
        """
        width = np.maximum(np.rint(np.asarray(shape[self.width], dtype=float)), 1.0)
        logs = np.array([np.log(_at(ragged, width)) for ragged in self.by_rows])
        if len(self.by_rows) == 1:
            return np.asarray(np.exp(logs[0]))
        known = np.log([ragged.rows for ragged in self.by_rows])
        rows = np.log(np.maximum(np.asarray(shape[self.rows], dtype=float), 1.0))
        total: Any = 0.0
        for index, row in enumerate(logs):
            hat = np.zeros(len(known))
            hat[index] = 1.0
            total = total + np.interp(rows, known, hat) * row
        return np.asarray(np.exp(total))


def _at(ragged: Ragged, width: Array) -> Array:
    """Factors at whole widths: as measured where they are small, else with a share that fades.

    What a tail of columns costs is a fixed time, of which less is seen the wider the rest is;
    what rows that begin anywhere cost stays.
    """
    near, far = np.array(ragged.near), np.array(ragged.far)
    tail = (width % PERIOD).astype(int)
    small = np.minimum(width, 2 * PERIOD).astype(int)
    first, last = PERIOD + tail, ragged.far_width + tail
    share = np.minimum((1 / width - 1 / last) / (1 / first - 1 / last), 1.0)
    wide = far[tail] + (near[first - 1] - far[tail]) * share
    return np.asarray(np.where(width <= 2 * PERIOD, near[small - 1], wide))


def unaligned_elements(shape: Sequence[Any]) -> Array:
    """Elements that a product of ``shape`` writes to rows that begin anywhere, pass by pass.

    Args:
        shape: (batch, m, k, n): numbers or arrays that broadcast.
    """
    batch, rows, inner, width = (np.asarray(size, dtype=float) for size in shape)
    anywhere = np.rint(width) % _WHOLE != 0
    return np.asarray(anywhere * batch * rows * width * np.ceil(inner / _INNER_PER_PASS))


def unaligned_s(level_bytes: Any, measured: Sequence[Unaligned]) -> Array:
    """Seconds more for each of :func:`unaligned_elements`.

    Between what was measured it is interpolated over the logarithm of the bytes; below half of the
    fewest there is none.

    Args:
        level_bytes: between two uses of the result's memory.
        measured: at least one, the fewest bytes first.
    """
    known = np.log([measured[0].bytes / 2, *(one.bytes for one in measured)])
    seconds = [0.0, *(one.seconds for one in measured)]
    return np.asarray(np.interp(np.log(np.maximum(level_bytes, 1.0)), known, seconds))
