"""The smallest change that gives a plan where there is none, tried before it is offered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from costlab.i18n import _
from costlab_gui.model.plan import Answer, Problem, ask
from costlab_gui.model.plan_fields import FIELDS, job_title
from costlab_gui.model.to_plan import ToPlan

# What the planner says about devices; the number is what is to be asked for.
_DEVICES = (
    _("{n} such devices would do"),
    _("{n} devices would divide it"),
    _("{n} such devices with ZeRO-3 fit"),
    _("{n} such devices with ZeRO-3, --recompute and --micro 1 fit"),
)
_OPTIONS = re.compile(r"--(batch|length|micro|weights|job) ([\w.-]+)")
_FLAGS = re.compile(r"--(recompute|offload)")

Change = dict[str, object]


def helpful(wish: ToPlan, problem: Problem) -> tuple[str, ToPlan] | None:
    """The first change that the problem names and that works: what to call it, and the new wish."""
    for change in _changes(problem.text):
        tried = replace(wish, **change)  # type: ignore[arg-type]
        if tried != wish and isinstance(ask(tried), Answer):
            return _("Use {what}").format(what=_named(change)), tried
    return None


def _changes(text: str) -> Iterator[Change]:
    """Each change alone, then all of them together."""
    found: list[Change] = []
    for template in _DEVICES:
        pattern = re.escape(template).replace(re.escape("{n}"), r"(\d+)")
        found += [{"gpus": number} for number in re.findall(pattern, text)]
    found += [{name: value} for name, value in _OPTIONS.findall(text)]
    found += [{name: True} for name in _FLAGS.findall(text)]
    yield from found
    if len(found) > 1:
        together: Change = {}
        for change in found:
            together |= change
        yield together


def _named(change: Change) -> str:
    words = []
    for name, value in change.items():
        if name == "gpus":
            words.append(_("{n} GPUs").format(n=value))
        elif name == "job":
            words.append(job_title(str(value)))
        else:
            title = FIELDS[name].title
            words.append(title if value is True else f"{title} = {value}")
    return ", ".join(words)
