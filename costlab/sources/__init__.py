"""Where modules come from: the catalogue, ``FILE.py:FACTORY``, Hugging Face configs, callables.

:func:`resolve` turns a target into a :class:`Source`, which builds the module and its inputs at
given sizes. Importing this package imports no torch.
"""

from costlab.sources.resolve import resolve
from costlab.sources.source import Source

__all__ = ["Source", "resolve"]
