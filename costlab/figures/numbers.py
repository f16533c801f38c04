"""Numbers of a series that came from an array and may become one again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Numbers(tuple[float, ...]):
    """The values of ``array`` as a plain tuple, which knows the array that it was made of."""

    array: Array

    @classmethod
    def of(cls, array: Array) -> Numbers:
        """The values of an array that nobody writes to any more."""
        found = cls(array.tolist())
        found.array = array
        return found


def as_array(values: tuple[float, ...]) -> Array:
    """The values as an array, which may be shared: not to be written to."""
    return values.array if isinstance(values, Numbers) else np.array(values, dtype=np.float64)
