"""Which widths a calibration times to see what those cost that do not fill vectors. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from costlab.calibration.visits import Visit, widths_alone
from costlab.hardware.calibration_record import PERIOD, Ragged, Unaligned
from costlab.hardware.ragged import RaggedTable
from costlab.measurement.statistics import median

# A kernel's own work is taken to be at least this share of its time, however short it is.
_LEAST_WORK = 0.2
# A width that fills no vectors is not much quicker than the line through those that do.
_LEAST_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class WidthSweep:
    """One kernel at many widths, all else equal.

    Attributes:
        name: of the rates that it explains.
        kernel: the builder in ``kernels``.
        rows: rows of its calls.
        shape: dimensions, with None for the width.
        far_width: where widths begin that are so large that only what stays is seen.
    """

    name: str
    kernel: str
    rows: int
    shape: tuple[int | None, ...]
    far_width: int

    def widths(self) -> tuple[int, ...]:
        """Each width of two periods, and of one far off with its end."""
        far = range(self.far_width, self.far_width + PERIOD + 1)
        return (*range(1, 2 * PERIOD + 1), *far)

    def at(self, width: int) -> tuple[int, ...]:
        return tuple(width if size is None else size for size in self.shape)


SWEEPS = (
    WidthSweep("matmul", "matmul", 2, (1, 2, 512, None), 240),
    WidthSweep("matmul", "matmul", 8, (1, 8, 256, None), 240),
    WidthSweep("matmul", "matmul", 64, (1, 64, 128, None), 240),
    WidthSweep("matmul", "matmul", 512, (1, 512, 64, None), 240),
    WidthSweep("attention", "attention", 1, (16, 1, 256, None), 48),
    WidthSweep("attention", "attention", 160, (4, 160, 160, None), 48),
    WidthSweep("attention_backward", "attention_backward", 120, (4, 120, 120, None), 48),
    WidthSweep("recurrent", "lstm", 8, (8, 12, None, None), 48),
    WidthSweep("recurrent_backward", "lstm_backward", 8, (8, 12, None, None), 48),
)


@dataclass(frozen=True, slots=True)
class ResultSweep:
    """Products with results of ``rows`` rows, which begin at whole vectors or anywhere."""

    rows: int

    kernel = "matmul"
    whole_widths = (504, 512)
    other_widths = (505, 507, 509, 510)
    inner = 80

    def widths(self) -> tuple[int, ...]:
        return (*self.whole_widths, *self.other_widths)

    def at(self, width: int) -> tuple[int, ...]:
        return (1, self.rows, self.inner, width)


# Results of 1 to 8 MB in float32: what a core's own cache holds, and what not.
RESULT_SWEEPS = tuple(ResultSweep(rows) for rows in (512, 1024, 1536, 2048, 4096))


# Visits by sweep and width, of one round of a calibration.
SweepVisits = Sequence[Sequence[Sequence[Visit]]]


def ragged_tables(rounds: Sequence[SweepVisits], bare_s: float) -> Mapping[str, tuple[Ragged, ...]]:
    """Factors by name of the rates.

    Args:
        rounds: of ``SWEEPS`` at ``WidthSweep.widths``. Of the visits alone the least counts: widths
            are compared with each other, and nothing makes one of them quicker than it is.
        bare_s: cost of one call of an operator without work.
    """
    found: dict[str, tuple[Ragged, ...]] = {}
    for sweep, *visits in zip(SWEEPS, *rounds, strict=True):
        least = widths_alone(_pooled(visits), min)
        work = [max(time_s - bare_s, _LEAST_WORK * time_s) for time_s in least]
        found[sweep.name] = (*found.get(sweep.name, ()), _ragged(sweep, work))
    return found


def _pooled(rounds: Sequence[Sequence[Sequence[Visit]]]) -> list[list[Visit]]:
    """Visits by width, of all rounds."""
    return [list(chain.from_iterable(seen)) for seen in zip(*rounds, strict=True)]


def _ragged(sweep: WidthSweep, work_s: Sequence[float]) -> Ragged:
    near_s, far_s = work_s[: 2 * PERIOD], work_s[2 * PERIOD :]
    first, last = sweep.far_width, sweep.far_width + PERIOD
    start, slope = _line(
        (PERIOD, 2 * PERIOD, first, last),
        (near_s[PERIOD - 1], near_s[-1], far_s[0], far_s[-1]),
    )
    # Of two widths one may be slow for another reason: powers of two share lines of a cache.
    column_s = min(far_s[0] / first, far_s[-1] / last)
    near = [time_s / (start + slope * width) for width, time_s in enumerate(near_s, 1)]
    far = [time_s / (column_s * (first + tail)) for tail, time_s in enumerate(far_s)]
    near[PERIOD - 1] = near[-1] = far[0] = 1.0
    return Ragged(
        rows=sweep.rows,
        near=tuple(max(factor, _LEAST_FACTOR) for factor in near),
        far=tuple(max(factor, _LEAST_FACTOR) for factor in far[:PERIOD]),
        far_width=sweep.far_width,
    )


def _line(widths: Sequence[int], times_s: Sequence[float]) -> tuple[float, float]:
    """Start and slope of the line with the least relative squares; neither is negative."""
    columns = np.column_stack([np.ones(len(widths)), widths]) / np.array(times_s)[:, None]
    start, slope = np.linalg.lstsq(columns, np.ones(len(widths)), rcond=None)[0]
    if start >= 0 and slope > 0:
        return float(start), float(slope)
    # In proportion to the width, or the same at every width.
    single = columns[:, 1 if slope > 0 else 0]
    alone = float(single.sum() / np.square(single).sum())
    return (0.0, alone) if slope > 0 else (alone, 0.0)


def unaligned_costs(
    rounds: Sequence[SweepVisits],
    bare_s: float,
    ragged: Sequence[Ragged],
    element_bytes: int,
) -> tuple[Unaligned, ...]:
    """What results cost whose rows begin anywhere, beyond what ``ragged`` says.

    Args:
        rounds: of ``RESULT_SWEEPS``. How often a result is still in a cache changes with what
            others do, so the usual visit alone counts.
        bare_s: cost of one call of an operator without work.
        ragged: factors on the time of a product by its width.
        element_bytes: of one number.
    """
    table = RaggedTable.of("matmul", ragged)
    found = []
    for sweep, *visits in zip(RESULT_SWEEPS, *rounds, strict=True):
        times_s = widths_alone(_pooled(visits), median)
        column_s = {
            width: (time_s - bare_s) / width
            for width, time_s in zip(sweep.widths(), times_s, strict=True)
        }
        whole_s = median([column_s[width] for width in sweep.whole_widths])
        more_s = []
        for width in sweep.other_widths:
            factor = 1.0 if table is None else float(table.factor(sweep.at(width)))
            more_s.append((column_s[width] - factor * whole_s) / sweep.rows)
        _batch, rows, inner, width = sweep.at(sweep.whole_widths[0])
        used = element_bytes * (rows * inner + inner * width + rows * width)
        found.append(Unaligned(used, max(median(more_s), 0.0)))
    return tuple(found)
