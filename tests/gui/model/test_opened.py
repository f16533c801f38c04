"""What a user's file offers, read without running it, and the answers of the child."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from costlab.errors import (
    CostLabError,
    DerivationError,
    InputError,
    ModuleError,
    SizeError,
    UnknownNameError,
)
from costlab.formulas import store
from costlab_gui.model.choices import flags
from costlab_gui.model.opened import (
    Agreed,
    as_line,
    command,
    config_text,
    factories,
    fingerprint,
    is_own,
    path_of,
    result,
    runs_code,
    target_of,
)
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Key

FILE = '''
raise SystemExit("this file must not be run")

def helper(x):
    return x

def build(*, b=1, n, d: int = 64, causal=False):
    """Attention.

    More."""
    return module(d, causal), (b, n)

def _hidden(n):
    return n, n

async def later(n):
    return n, n
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_factories_are_found_without_running_the_file(module: Path) -> None:
    build, helper = factories(module)

    assert (build.name, build.doc) == ("build", "Attention.")
    assert build.text == "build(b=1, n, d=64, causal=False)"
    assert (build.flags, build.likely) == (("causal",), True)
    assert (helper.name, helper.likely) == ("helper", False)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("def broken(:", ModuleError, "no valid Python"),
        ("x = 1", InputError, "no function"),
        (None, InputError, "cannot be read"),
    ],
)
def test_what_is_no_module_is_one_line(
    tmp_path: Path, text: str | None, kind: type[CostLabError], says: str
) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)

    with pytest.raises(kind, match=says) as caught:
        factories(path)

    assert "\n" not in str(caught.value)


def test_targets(module: Path) -> None:
    code, config = target_of(module, "build"), target_of(module.with_name("config.json"))

    assert (code, config) == (f"{module}:build", f"hf:{module.with_name('config.json')}")
    assert (path_of(code), path_of(config)) == (module, module.with_name("config.json"))
    assert (runs_code(code), runs_code(config)) == (True, False)
    assert is_own(code) and is_own(config) and not is_own("lstm")


def test_the_command_has_the_flags_that_the_factory_takes(module: Path) -> None:
    sha256 = fingerprint(module)
    options = (("causal", True), ("two_sided", True))
    key = Key(f"{module}:build", "train", "float32", "cpu", options)

    assert command(key, sha256).words == (key.target, "train", "float32", "cpu", sha256, "causal")
    assert command(key, sha256).title == "Deriving mine.py:build"
    with pytest.raises(ModuleError, match="no longer has this function"):
        command(dataclasses.replace(key, target=f"{module}:gone"), sha256)


def test_only_code_that_was_agreed_to_is_run(module: Path) -> None:
    targets = ("lstm", f"hf:{module.with_name('config.json')}", f"{module}:build")
    agreed = Agreed()
    with pytest.raises(InputError, match="nobody agreed") as caught:
        agreed.check(targets)
    assert str(module) in str(caught.value)

    agreed.add(fingerprint(module))
    agreed.check(targets)
    module.write_text(FILE + "\n")
    with pytest.raises(InputError):
        agreed.check(targets)


def test_flags_of_opened_modules_can_be_switched(module: Path) -> None:
    target = f"{module}:build"
    session = Session(programs=(target,), opened={target: fingerprint(module)})

    assert flags(session) == ("causal",)
    module.write_text("def other():\n    return 1, 2\n")
    gone = Session(programs=(target,), opened={target: fingerprint(module)})
    assert flags(gone) == ()


def test_a_config_in_one_line() -> None:
    models = Path(str(store.__file__)).parents[2] / "profiles/costlab_profiles/models"

    text = config_text(models / "gpt2.json")

    assert text == "gpt2 · 12 layers · width 768 · 12 heads · vocabulary 50257"


@pytest.mark.parametrize("text", ["[1]", "{}", "{", '{"model_type": 3}'])
def test_what_is_no_config_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)

    with pytest.raises(InputError) as caught:
        config_text(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        ModuleError("it failed", given="n=3", advice="do"),
        SizeError("too small", given="n=0", allowed="1"),
        InputError("no"),
        DerivationError("no closed form", operator="aten.sort", where="x.py:3", advice="do"),
    ],
)
def test_an_error_of_the_child_arrives_as_it_was(error: CostLabError) -> None:
    answer = result([{"kind": "other"}, json.loads(json.dumps(as_line(error, "trace")))])

    assert answer is not None
    found, details = answer
    assert isinstance(found, CostLabError)
    assert (type(found), str(found), details) == (type(error), str(error), "trace")


def test_a_wrong_name_keeps_what_was_near() -> None:
    error = UnknownNameError("factory", "bild", ["build"])
    answer = result([as_line(error, "")])

    assert answer is not None
    assert str(answer[0]) == str(error)
    assert result([]) is None
