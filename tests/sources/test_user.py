"""User files are read by path; what is wrong with them is said in one line."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from costlab.errors import CostLabError, InputError, ModuleError, SizeError, UnknownNameError
from costlab.sources import resolve

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a user's file and returns its path."""

    def writer(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return writer


FACTORY = """
import torch
from torch import nn

def make(*, b=2, n, d: int = 32, layers=3, causal=True, p=0.5, name="x", zero=0, **rest):
    assert causal in (True, False) and p == 0.5
    return nn.Linear(d, d), (torch.randn(b, n, d),)
"""


def test_sizes_options_and_loops_come_from_the_signature(write: Write) -> None:
    source = resolve(f"{write(FACTORY)}:make")
    assert source.symbols == ("b", "n", "d", "layers")
    assert source.defaults == {"b": 2, "d": 32, "layers": 3}
    assert source.options == {"causal": (True, False)}
    assert source.loops == ("layers",)
    program = source.program("forward", {"n": 5, "d": 7}, {"causal": False})
    assert [tuple(t.shape) for t in program.inputs] == [(2, 5, 7)]


def test_sizes_are_checked(write: Write) -> None:
    source = resolve(f"{write(FACTORY)}:make")
    with pytest.raises(SizeError, match=r"give n=\.\."):
        source.build("forward", {"b": 1})
    with pytest.raises(SizeError, match="given: n=0"):
        source.build("forward", {"n": 0})
    with pytest.raises(UnknownNameError, match="allowed: b, d, layers, n"):
        source.build("forward", {"n": 1, "heads": 2})
    with pytest.raises(InputError, match="allowed: forward, train, prefill, decode"):
        source.build("optimizer", {"n": 1})


@pytest.mark.parametrize(
    ("text", "factory", "kind", "said"),
    [
        ("def make(n):\n    pass\n", "mak", UnknownNameError, "did you mean make?"),
        ("def make(n)\n    pass\n", "make", ModuleError, "SyntaxError"),
        ("x = 1\nimport no_such_thing\n", "make", ModuleError, "mine.py:2"),
        ("raise SystemExit(3)\n", "make", ModuleError, "SystemExit: 3"),
        ("make = 3\n", "make", ModuleError, "is no factory; given: int"),
        ("def make(n, /):\n    pass\n", "make", ModuleError, "cannot be given by name"),
        ("def make(Max):\n    pass\n", "make", ModuleError, "given: Max"),
    ],
)
def test_an_unusable_file_is_one_line(
    write: Write, text: str, factory: str, kind: type[CostLabError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        resolve(f"{write(text)}:{factory}")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failing_factory_names_the_users_line(write: Write) -> None:
    text = "from torch import nn\n\ndef make(*, n=3):\n    layer = nn.Linear(n, 'wide')\n"
    path = write(text)
    with pytest.raises(ModuleError) as caught:
        resolve(f"{path}:make").build("forward", {})
    assert f"{path}:4" in str(caught.value)
    assert "n=3" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_or_factory_name_says_what_to_write(write: Write) -> None:
    with pytest.raises(InputError, match=r"no such file; given: nowhere\.py"):
        resolve("nowhere.py:make")
    path = write(FACTORY)
    with pytest.raises(InputError, match=r"FILE\.py:FACTORY") as caught:
        resolve(str(path))
    assert f"{path}:make" in str(caught.value)


def test_a_changed_file_is_read_again_and_leaves_nothing_behind(write: Write) -> None:
    first = resolve(f"{write(FACTORY)}:make")
    path = write(FACTORY.replace("d, d)", "d, 9)"))
    second = resolve(f"{path}:make")
    assert first.fingerprint != second.fingerprint
    module = second.program("forward", {"n": 3}).module
    assert isinstance(module, nn.Linear) and module.out_features == 9
    assert [item.name for item in path.parent.iterdir()] == ["mine.py"]


def test_a_file_may_import_its_neighbour(write: Write, tmp_path: Path) -> None:
    neighbour = tmp_path / "neighbour_of_mine.py"
    neighbour.write_text(
        "import torch\n\ndef make(*, n=3):\n    return torch.relu, (torch.ones(n),)\n"
    )
    path = write("import neighbour_of_mine\nmake = neighbour_of_mine.make\n")
    try:
        first = resolve(f"{path}:make")
        assert first.program("forward", {}).inputs[0].shape == (3,)
        neighbour.write_text(neighbour.read_text() + "# changed\n")
        assert resolve(f"{path}:make").fingerprint != first.fingerprint
    finally:
        sys.modules.pop("neighbour_of_mine", None)
        sys.path.remove(str(tmp_path))


def test_dataclasses_and_prints_of_a_users_file_work(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
from __future__ import annotations
import dataclasses
import torch
print("loading")

@dataclasses.dataclass
class Config:
    d: int

def make(*, d=4):
    print("building")
    return torch.relu, (torch.ones(Config(d).d),)
"""
    resolve(f"{write(text)}:make").program("forward", {})
    assert capsys.readouterr() == ("", "loading\nbuilding\n")


def test_a_python_factory_is_a_source() -> None:
    def make(*, n: int, d: int = 4) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        return nn.Linear(d, d), (torch.ones(n, d),)

    source = resolve(make)
    assert (source.kind, source.symbols, source.defaults) == ("callable", ("n", "d"), {"d": 4})
    assert resolve(source) is source
    assert dataclasses.replace(source, name="other").fingerprint == source.fingerprint


def test_every_catalogued_name_resolves_without_torch_being_needed() -> None:
    from costlab.arch import registry

    for name in registry.names():
        source = resolve(name)
        assert source.spec is not None
        assert set(source.modes) <= set(source.spec.modes)
    with pytest.raises(UnknownNameError, match="did you mean full_attention"):
        resolve("full_atention")
