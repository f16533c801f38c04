"""NVML through its Python binding: opened once, each query a value or a reason.

The binding is NVIDIA's nvidia-ml-py, imported as ``pynvml``. Queries only; nothing is set. No
CUDA context is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from costlab.devices.places import places
from costlab.devices.readings import Reading
from costlab.devices.reasons import nvml_reason, text_of

FUNCTION_NOT_FOUND = 13
# An older or newer driver: another version of the query may be there.
_OTHER_VERSION = frozenset({FUNCTION_NOT_FOUND, 25, 26})

Call = tuple[str, tuple[Any, ...]]


class NvmlUnavailable(Exception):
    """NVML cannot be opened, or lists no GPU; ``reason`` is a code, ``text`` one line."""

    def __init__(self, reason: str, text: str = "") -> None:
        self.reason = reason
        self.text = text or text_of(reason)
        super().__init__(self.text)


class NvmlFailed(Exception):
    """A query failed with NVML's return code ``code``; ``words`` are NVML's own."""

    def __init__(self, code: int, words: str) -> None:
        self.code = code
        self.words = words
        super().__init__(words)


class NvmlSession:
    """An open NVML; close it when done.

    Args:
        module: a module with pynvml's functions; pynvml if None.
        where: the kinds of place of :func:`~costlab.devices.places.places`; found out if None.

    Raises:
        NvmlUnavailable: if the binding or the library is missing, or NVML does not start.
    """

    def __init__(self, module: Any = None, where: frozenset[str] | None = None) -> None:
        self.places = places() if where is None else where
        if module is None:
            try:
                module = importlib.import_module("pynvml")
            except ImportError:
                raise NvmlUnavailable("no_binding") from None
        self._module = module
        try:
            self.call("nvmlInit")
        except NvmlFailed as failure:
            reason = nvml_reason(failure.code, places=self.places)
            raise NvmlUnavailable(reason, self._line(reason, failure)) from None

    def close(self) -> None:
        """Shut NVML down; a failure to do so is of no use to anybody."""
        try:
            self.call("nvmlShutdown")
        except NvmlFailed:
            return

    def call(self, function: str, *arguments: Any) -> Any:
        """The answer of one function of the binding.

        Raises:
            NvmlFailed: with NVML's return code; a function the binding lacks counts as 13.
        """
        query = getattr(self._module, function, None)
        if query is None:
            raise NvmlFailed(FUNCTION_NOT_FOUND, f"{function} is not in this nvidia-ml-py")
        try:
            return query(*arguments)
        except self._module.NVMLError as error:
            raise NvmlFailed(int(error.value), str(error)) from None

    def first(self, calls: Sequence[Call]) -> tuple[int, Any]:
        """Index and answer of the first call whose version the driver knows.

        Raises:
            NvmlFailed: of the first call that fails for another reason, or of the last one.
        """
        for index, (function, arguments) in enumerate(calls):
            try:
                return index, self.call(function, *arguments)
            except NvmlFailed as failure:
                if failure.code not in _OTHER_VERSION or index == len(calls) - 1:
                    raise
        raise ValueError("no calls")

    def constant(self, name: str, default: int) -> int:
        """A constant of the binding."""
        return int(getattr(self._module, name, default))

    def pointer(self, function: str) -> Callable[..., int]:
        """The library's own function, for what the binding has no function for (any more).

        Raises:
            NvmlFailed: if the library has no such function.
        """
        query: Callable[..., int] = self.call("_nvmlGetFunctionPointer", function)
        return query

    def failure(self, code: int) -> NvmlFailed:
        """``code``, as a function of the library returned it, with NVML's words."""
        return NvmlFailed(code, str(self._module.NVMLError(code)))

    def reading(
        self,
        name: str,
        unit: str,
        calls: Sequence[Call],
        convert: Callable[[Any], float],
        where: frozenset[str] = frozenset(),
    ) -> Reading:
        """The first call that works as the reading ``name``, or the reason why none does.

        Args:
            name: of the reading; some reasons depend on it.
            unit: of the converted value.
            calls: versions of one query, newest first.
            convert: from the binding's answer to a number in ``unit``.
            where: further kinds of place, such as "mig".
        """
        try:
            index, answer = self.first(calls)
        except NvmlFailed as failure:
            return self.missing(name, unit, failure, where)
        return Reading(convert(answer), unit, calls[index][0])

    def missing(
        self, name: str, unit: str, failure: NvmlFailed, where: frozenset[str] = frozenset()
    ) -> Reading:
        """The reading ``name`` as ``failure`` leaves it."""
        reason = nvml_reason(failure.code, name, self.places | where)
        return Reading(None, unit, "", reason, self._line(reason, failure))

    @staticmethod
    def _line(reason: str, failure: NvmlFailed) -> str:
        return f"{text_of(reason)} (NVML {failure.code}: {' '.join(failure.words.split())})"


def text(value: str | bytes) -> str:
    """Text of what older bindings return as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
