"""Rows of published numbers under ``reference/``, and which of them nothing may be fitted to."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One published number: ``tolerance`` None where it is a formula or a measurement."""

    id: str
    quantity: str
    inputs: Mapping[str, Any]
    value: str
    unit: str
    tolerance: float | None
    source: str
    recomputes: str
    note: str

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value)

    @property
    def exact(self) -> bool:
        """Whether nothing but the number itself will do."""
        return self.tolerance == 0


def rows(name: str) -> list[Row]:
    """Every row of ``reference/<name>.csv``, in the order of the file."""
    text = (files("costlab_profiles") / "reference" / f"{name}.csv").read_text(encoding="utf-8")
    return [
        Row(
            r["id"], r["quantity"], json.loads(r["inputs_json"] or "{}"), r["value"], r["unit"],
            float(r["tolerance"]) if r["tolerance"] else None, r["source"], r["recomputes"],
            r["note"],
        )
        for r in csv.DictReader(text.splitlines())
    ]  # fmt: skip


def may_fit(row: str) -> bool:
    """Whether constants may be fitted on a row: the last hex digit of sha256(id) is 5 to f."""
    return sha256(row.encode()).hexdigest()[-1] not in "01234"
