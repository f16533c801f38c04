"""Reports: well-formed pages, right MathML, and the same numbers in every format."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from costlab.algebra import maximum, symbol
from costlab.comparison.api import compare
from costlab.comparison.record import Comparison
from costlab.errors import InputError
from costlab.formulas.text import parse
from costlab.prediction.api import predict
from costlab.reporting.api import report, to_document
from costlab.reporting.document import Table, table_text
from costlab.reporting.html import to_html
from costlab.reporting.mathml import mathml
from tests.comparison.points import measured, predictions_over
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention

VOID = {"meta", "br", "hr", "img", "link", "input", "col"}


class Balance(HTMLParser):
    """Complains about an end tag that closes something else, and collects ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        href = found.get("href")
        if href:
            self.links.append(href)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def comparison() -> Comparison:
    predictions = predictions_over([100, 200, 400])
    points = [measured(p, 1.1, flags=["<noisy>"]) for p in predictions]
    return compare(points, predictions, run="run & 7")


@pytest.mark.parametrize("name", ["comparison", "derivation", "predictions"])
def test_pages_are_balanced_self_contained_and_linked(name: str) -> None:
    source = {
        "comparison": comparison(),
        "derivation": attention(),
        "predictions": predictions_over([100, 200]),
    }[name]

    page = to_html(to_document(source))  # type: ignore[arg-type]

    checker = Balance()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert {link.lstrip("#") for link in checker.links} <= set(checker.ids)
    assert "<script" not in page
    assert "src=" not in page
    assert page.startswith("<!DOCTYPE html>")


def test_text_from_outside_is_escaped() -> None:
    page = to_html(to_document(comparison()))

    assert "run &amp; 7" in page
    assert "&lt;noisy&gt;" in page
    assert "<noisy>" not in page


def test_every_format_has_the_same_points(tmp_path: Path) -> None:
    source = comparison()

    paths = {s: report(source, tmp_path / f"r.{s}") for s in ("html", "md", "json", "csv")}

    data = json.loads(paths["json"].read_text())
    rows = list(csv.DictReader(io.StringIO(paths["csv"].read_text())))
    assert data["schema"] == "costlab.compare/1"
    assert [float(row["measured.time_s"]) for row in rows] == [
        point["measured"]["time_s"] for point in data["points"]
    ]
    assert [row["sizes.n"] for row in rows] == ["100", "200", "400"]
    lines = paths["md"].read_text().splitlines()
    table = [line for line in lines if line.startswith("| attention")]
    # Once among the points and once among the exponents of time and peak.
    assert sum("n=" in line for line in table) == 3
    assert "−9.09 %" in paths["md"].read_text()


def test_an_unknown_suffix_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"allowed: \.html, \.md, \.json, \.csv"):
        report(comparison(), tmp_path / "r.docx")


def test_a_folder_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        report(comparison(), tmp_path / "none" / "r.md")


def test_a_bound_says_so() -> None:
    text = table_text(
        next(
            block
            for block in to_document([predict(attention(), {"b": 1, "n": 64, "d": 64}, "T4")])
            .sections[0]
            .blocks
            if isinstance(block, Table)
        )
    )

    assert "at least this" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4*b*n**2", "4⁢b⁢n²"),
        ("n/w", "(n)/(w)"),
        ("log(n, 2)", "log_2(n)"),
        ("ceiling(n/w)", "⌈(n)/(w)⌉"),
        ("-n + 3", "3−n or −n+3"),
        ("P_matmul", "P_matmul"),
        ("Max(n, d)", "max(d,n) or max(n,d)"),
        ("0", "0"),
    ],
)
def test_mathml_says_what_the_formula_says(text: str, expected: str) -> None:
    root = ET.fromstring(mathml(parse(text)))

    assert _flat(root) in expected.split(" or ")


def test_a_stacked_maximum_has_a_row_per_argument() -> None:
    n, d = symbol("n"), symbol("d")

    root = ET.fromstring(mathml(maximum(n * n, 7 * d, n * d), stacked=True))

    assert len(list(root.iter("mtr"))) == 3


def _flat(element: ET.Element) -> str:
    """MathML back to one line, structure kept in _ and (..)/(..)."""
    children = [_flat(child) for child in element]
    match element.tag:
        case "msub":
            return f"{children[0]}_{children[1]}"
        case "mfrac":
            return f"({children[0]})/({children[1]})"
    return (element.text or "") + "".join(children)


def test_tables_align_numbers_to_the_right() -> None:
    table = Table(("name", "value"), (("a", "1"), ("long name", "1 000")), "lr")

    assert table_text(table).splitlines() == [
        "name       value",
        "---------  -----",
        "a              1",
        "long name  1 000",
    ]


def test_predictions_json_is_the_contract(tmp_path: Path) -> None:
    predictions = [predict(attention(), {"b": 1, "n": 64, "d": 64}, flat_machine())]

    data = json.loads(report(predictions, tmp_path / "p.json").read_text())

    assert data["schema"] == "costlab.predict/1"
    assert {
        "architecture", "mode", "dtype", "device", "sizes", "flop", "flop_useful", "bytes",
        "peak_bytes", "reserved_bytes", "device_bytes", "steps", "time_s", "time_interval_s",
        "basis", "limiter", "energy_j", "energy_reason", "doubling", "assumptions", "gaps",
    } <= set(data["points"][0])  # fmt: skip


def test_exponents_at_several_widths_are_told_apart() -> None:
    predictions = [
        predict(attention(), {"b": 1, "n": n, "d": d}, flat_machine())
        for d in (64, 128)
        for n in (100, 200)
    ]
    source = compare([measured(p, 1.0) for p in predictions], predictions)

    text = "\n".join(
        table_text(block)
        for block in to_document(source).sections[0].blocks
        if isinstance(block, Table)
    )

    assert "time in n at d=64" in text and "time in n at d=128" in text
    assert "time in d at n=100" in text
    assert "at b=1" not in text
