"""``FILE.py:FACTORY`` and plain callables: a user's factory as a source, without running it."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import keyword
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path

from costlab.errors import InputError, ModuleError, UnknownNameError
from costlab.i18n import _
from costlab.sources.blame import blame
from costlab.sources.source import LOOP_NAMES, Source

_MODES = ("forward", "train", "prefill", "decode")
_RESERVED = frozenset({"Max", "Min", "floor", "ceiling", "log", "log2"})


def names_file(target: str) -> bool:
    """Whether ``target`` is meant as ``FILE.py:FACTORY``."""
    return target.endswith(".py") or ".py:" in target


def from_file(target: str) -> Source:
    """The source that ``FILE.py:FACTORY`` names. The file is executed, the factory is not called.

    Raises:
        InputError: if the file or the factory does not exist.
        ModuleError: if the file fails to import, or the factory cannot be called with sizes.
    """
    path, name, content, known = _read(target)
    module, digest = _import(path.resolve(), content)
    factory = getattr(module, name, None)
    if factory is None:
        raise UnknownNameError(_("factory in {path}").format(path=path), name, known)
    return from_callable(factory, name=target, file=path.resolve(), fingerprint=digest, kind="file")


def check_file(target: str) -> None:
    """Raise what :func:`from_file` would as far as that shows without executing the file."""
    _read(target)


def _read(target: str) -> tuple[Path, str, bytes, list[str]]:
    """Path, factory's name, content and the functions of ``FILE.py:FACTORY``."""
    path_text, _colon, name = target.rpartition(":")
    if target.endswith(".py"):
        path_text, name = target, ""
    path = Path(path_text).expanduser()
    if not path.is_file():
        raise InputError(_("there is no such file"), given=path_text, allowed=_("FILE.py:FACTORY"))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(_("the file cannot be read"), given=f"{path}: {error.strerror}") from error
    known = [function.name for function in functions(path, content)]
    if not name:
        raise InputError(
            _("the factory's name is missing"),
            given=target,
            allowed=", ".join(f"{path_text}:{found}" for found in known),
            advice=_("write FILE.py:FACTORY"),
        )
    return path, name, content, known


def from_callable(
    factory: object,
    name: str = "",
    *,
    file: Path | None = None,
    fingerprint: str = "",
    kind: str = "callable",
) -> Source:
    """The source of a Python factory whose keyword parameters are the sizes.

    A parameter without default, or with a positive integer as default, is a size; one with
    ``True`` or ``False`` is an option; others keep their default.

    Raises:
        ModuleError: if ``factory`` cannot be called with keyword sizes.
    """
    shown = name or getattr(factory, "__qualname__", type(factory).__name__)
    expected = _("a function of keyword sizes that returns (module, inputs)")
    if not callable(factory):
        raise ModuleError(
            _("{name} is no factory").format(name=shown),
            given=type(factory).__name__,
            allowed=expected,
        )
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise ModuleError(
            _("{name} has no signature").format(name=shown), allowed=expected
        ) from error
    symbols, defaults, options = _sizes(shown, parameters)
    return Source(
        name=shown,
        kind=kind,
        symbols=symbols,
        defaults=defaults,
        factories=dict.fromkeys(_MODES, factory),
        fingerprint=fingerprint or _code_hash(factory),
        loops=tuple(symbol for symbol in symbols if symbol in LOOP_NAMES),
        options=options,
        file=file or _file_of(factory),
    )


def _sizes(
    shown: str, parameters: Mapping[str, inspect.Parameter]
) -> tuple[tuple[str, ...], dict[str, int], dict[str, tuple[bool, ...]]]:
    symbols: list[str] = []
    defaults: dict[str, int] = {}
    options: dict[str, tuple[bool, ...]] = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ModuleError(
                _("a parameter of {name} cannot be given by name").format(name=shown),
                given=name,
                advice=_("remove the / from its signature"),
            )
        default = parameter.default
        if isinstance(default, bool):
            options[name] = (default, not default)
            continue
        sized = isinstance(default, int) and default > 0
        if default is not parameter.empty and not sized:
            continue
        if name in _RESERVED or keyword.iskeyword(name):
            raise ModuleError(
                _("a size of {name} has the name of a function of formulas").format(name=shown),
                given=name,
                advice=_("rename the parameter"),
            )
        symbols.append(name)
        if isinstance(default, int):
            defaults[name] = default
    return tuple(symbols), defaults, options


def functions(path: Path, content: bytes) -> list[ast.FunctionDef]:
    """The file's public top-level functions, read without running it.

    Raises:
        ModuleError: if ``content`` is no valid Python.
    """
    try:
        tree = ast.parse(content, filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise blame(error, _("{path} is no valid Python").format(path=path), path) from error
    return [
        item
        for item in tree.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
    ]


def _import(path: Path, content: bytes) -> tuple[types.ModuleType, str]:
    """Execute the file as a module of its own; return it and the hash of all it is made from.

    The text is compiled here, so that nothing is written beside the user's file and a file
    changed within a second is never mistaken for its compiled predecessor.
    """
    digest = hashlib.sha256(content).hexdigest()
    name = f"costlab_user_{hashlib.sha256(bytes(path) + content).hexdigest()[:16]}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(content, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise blame(error, _("{path} failed to import").format(path=path), path) from error
    return module, _with_siblings(digest, path, module)


def _with_siblings(digest: str, path: Path, module: types.ModuleType) -> str:
    """``digest`` with the files of the same folder that the module uses mixed in."""
    used = {getattr(value, "__module__", None) for value in vars(module).values()}
    used |= {v.__name__ for v in vars(module).values() if isinstance(v, types.ModuleType)}
    files = {
        Path(found)
        for name in used
        if isinstance(name, str) and (found := getattr(sys.modules.get(name), "__file__", None))
    }
    siblings = sorted(file for file in files if file.parent == path.parent and file != path)
    if not siblings:
        return digest
    parts = [digest, *(hashlib.sha256(file.read_bytes()).hexdigest() for file in siblings)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _file_of(factory: Callable[..., object]) -> Path | None:
    try:
        found = inspect.getsourcefile(inspect.unwrap(factory))
    except TypeError:
        return None
    return Path(found) if found else None


def _code_hash(factory: Callable[..., object]) -> str:
    try:
        text = inspect.getsource(factory)
    except (OSError, TypeError):
        text = repr(factory)
    return hashlib.sha256(text.encode()).hexdigest()
