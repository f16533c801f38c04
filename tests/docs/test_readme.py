"""What the documents say runs, and what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import costlab
from costlab.cli.__main__ import build_parser, main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


QUICK = [
    line[2:] for block in _blocks("console") for line in block.splitlines() if line[:2] == "$ "
]
OTHERS = [
    line.partition("#")[0].strip()
    for block in _blocks("sh")
    for line in block.splitlines()
    if line.startswith("costlab ")
]


@pytest.mark.parametrize("command", QUICK)
def test_a_quick_command_runs(
    command: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, *argv = command.split()
    monkeypatch.chdir(tmp_path)  # one writes files

    assert program == "costlab"
    assert main(argv) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", OTHERS)
def test_another_command_parses(command: str) -> None:
    known, rest = build_parser().parse_known_args(command.split()[1:])

    assert callable(known.run)
    assert not [word for word in rest if word.startswith("-")]


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"make (\w+)", README))
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert {"run", "test"} <= targets
    phony = re.search(r"^\.PHONY: (.*)$", rules, flags=re.MULTILINE)
    assert phony is not None
    assert targets <= set(phony[1].split())


def test_the_module_of_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, session = _blocks("python")
    (tmp_path / "my_model.py").write_text(module, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert main(["derive", "my_model.py:build"]) == 0
    exec(session, {"costlab": costlab})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_tests_that_documents_name_exist() -> None:
    named = {
        name
        for path in DOCUMENTS
        for name in re.findall(r"`(tests/[\w/]+\.py::\w+)`", path.read_text(encoding="utf-8"))
    }

    assert len(named) > 30
    for name in named:
        file, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), name
