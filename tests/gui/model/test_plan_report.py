"""The report from the Plan page has the numbers of the page, in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from costlab.reporting.document import Table, figures_of
from costlab_gui.model.plan import answer
from costlab_gui.model.plan_report import plan_document
from costlab_gui.model.report import write_report
from costlab_gui.model.session import Session
from costlab_gui.model.to_plan import ToPlan
from costlab_gui.model.workspace import Workspace

WISH = ToPlan(model="llama-2-7b", device="A100-80G-SXM", gpus="16", price="2")


def test_table_and_pictures_are_those_of_the_page() -> None:
    found, document = answer(WISH), plan_document(WISH)

    table = document.sections[0].blocks[0]
    assert isinstance(table, Table) and len(table.rows) == len(found.rows)
    days = table.columns.index("days")
    assert [row[days] for row in table.rows] == [
        found.text(at, found.heads[2]) for at in range(len(found.rows))
    ]
    figures = figures_of(document)
    assert figures[:2] == (found.memory, found.time) and len(figures) == 4


@pytest.mark.parametrize("job", ["serve", "lora"])
def test_other_jobs_have_reports_too(job: str) -> None:
    document = plan_document(ToPlan(model="llama-2-7b", job=job, gpus="2"))

    assert len(document.sections) == 4 and figures_of(document)


def test_the_report_of_the_window_is_that_of_the_plan(tmp_path: Path) -> None:
    session = Session(page="plan", plan=WISH)
    for suffix in ("html", "md", "json", "csv"):
        write_report(session, Workspace(), (), tmp_path / f"plan.{suffix}")

    found = answer(WISH)
    html = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "costlab plan llama-2-7b" in html and html.count("<svg") == 4
    data = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert data["plans"] == json.loads(json.dumps(found.data["plans"]))
    with (tmp_path / "plan.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["days"]) for row in rows] == [row["days"] for row in found.rows]
