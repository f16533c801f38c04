"""The Plan page's answers are those of ``costlab plan``, to the last digit."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from costlab.cli.__main__ import main
from costlab_gui.model.plan import Answer, Problem, ask, usual
from costlab_gui.model.plan_curves import (
    BATCH,
    GPUS,
    LENGTH,
    PARETO,
    command,
    curve,
    quantities,
    view_titles,
)
from costlab_gui.model.plan_fields import FIELDS, command_line, work_fields
from costlab_gui.model.plan_help import helpful
from costlab_gui.model.plan_origin import origin
from costlab_gui.model.to_plan import JOBS, ToPlan

TRAIN = ToPlan(
    model="gpt3-13b", device="A100-80G-SXM", gpus="64", tokens="20B", length="2048", batch="512",
    memory="60GiB", price="1.50", carbon="300",
)  # fmt: skip
SERVE = ToPlan(
    model="llama-2-7b", job="serve", gpus="2", prompt="2048", output="128", weights="fp8",
    tpot="30ms", price="2",
)  # fmt: skip
TUNE = ToPlan(model="llama-2-7b", job="qlora", gpus="1", micro="4", rank="8", targets="all")
RLHF = ToPlan(model="llama-2-7b", job="rlhf", gpus="8", other="gpt2-xl", answer="256", zero="2")


def _answer(wish: ToPlan) -> Answer:
    found = ask(wish)
    assert isinstance(found, Answer), found
    return found


@pytest.mark.parametrize("wish", [TRAIN, SERVE, TUNE, RLHF], ids=lambda wish: wish.job)
def test_the_copied_command_prints_the_same_numbers(
    wish: ToPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = _answer(wish)
    words = shlex.split(command_line(wish))

    assert words[:2] == ["costlab", "plan"]
    assert main([*words[1:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(shown.data, default=float))

    assert main(words[1:]) == 0
    text = capsys.readouterr().out
    written = {"days", "mfu", "memory_total_bytes", "ttft_s", "tpot_s", "stall_s", "state_bytes",
               "flop", "moment_bytes", "seconds_at_least", "cost_per_million_tokens"}  # fmt: skip
    heads = [head for head in shown.heads if head.key in written]
    assert len(heads) >= 3
    for row in range(len(shown.rows)):
        for head in heads:
            assert shown.text(row, head) in text, head.key


def test_plans_come_fastest_first_and_say_why_the_others_lost() -> None:
    shown = _answer(TRAIN)

    steps = [row["step_s"] for row in shown.rows]
    assert steps == sorted(steps) and len(steps) == 12
    assert [row["number"] for row in shown.rows] == list(range(1, 13))
    titles = [title for title, _text in shown.reasons[0]]
    assert titles[:3] == ["Division", "What binds", "Why the runner-up lost"]
    assert [title for title, _text in shown.reasons[3]][1:] == ["What binds", "Why it lost"]
    assert "% of the step" in dict(shown.reasons[0])["What binds"]


def test_the_picture_is_the_memory_by_kind_against_the_capacity() -> None:
    shown = _answer(TRAIN)

    assert [mark.value for mark in shown.memory.marks] == [60 * 2**30]
    for at, row in enumerate(shown.rows):
        assert shown.memory.total(at) == pytest.approx(row["memory_total_bytes"], rel=1e-12)
        assert shown.memory.total(at) <= 60 * 2**30
    assert shown.time is not None
    assert shown.time.total(2) == pytest.approx(shown.rows[2]["step_s"], rel=1e-12)


def test_a_server_is_explained_where_memory_ends_its_concurrency() -> None:
    shown = _answer(SERVE)

    last = len(shown.rows) - 1
    assert shown.rows[last]["concurrency"] == shown.data["max_concurrency"]
    assert "memory binds" in dict(shown.reasons[last])["Why no more at once"]
    usable = shown.memory.marks[0].value
    one = shown.rows[0]["state_bytes"] / shown.rows[0]["concurrency"]
    assert shown.memory.total(last) <= usable < shown.memory.total(last) + one
    assert shown.rows[shown.best]["tpot_s"] <= 0.03


@pytest.mark.parametrize(
    ("wish", "field", "words"),
    [
        (ToPlan(gpus="many"), "gpus", "cannot read GPUs"),
        (ToPlan(memory="80"), "memory", "cannot read memory"),
        (ToPlan(price="cheap"), "price", "cannot read price"),
        (ToPlan(model="lama-3-8b"), "model", "did you mean llama-3-8b"),
        (ToPlan(model="gpt-4"), "", "not published"),
        (ToPlan(model="gpt3-175b", gpus="8"), "", "such devices would do"),
        (ToPlan(device="RTX-4090", gpus="64"), "", "network"),
        (ToPlan(job="serve", model="gpt3-175b", gpus="1"), "", "does not fit"),
    ],
)
def test_bad_input_is_one_line_with_what_helps(wish: ToPlan, field: str, words: str) -> None:
    found = ask(wish)

    assert isinstance(found, Problem)
    assert (found.field, "\n" in found.text) == (field, False)
    assert words in found.text
    assert len(found.text) < 400


def test_every_field_is_an_option_of_the_command() -> None:
    known = set(ToPlan.__dataclass_fields__) - {"model", "job", "device"}

    assert set(FIELDS) == known
    assert {name for job in JOBS for name in work_fields(job)} <= known


def _points(wish: ToPlan, view: str, key: str) -> dict[float, float]:
    found = curve(wish, view, key)
    assert found.figure is not None, found.why
    series = found.figure.series[0]
    return dict(zip(series.x, series.y, strict=True))


def test_curves_over_an_input_are_answers_at_its_values() -> None:
    days = _points(TRAIN, GPUS, "days")
    assert list(days) == [8, 16, 32, 64, 128, 256, 512]
    other = _answer(replace(TRAIN, gpus="128"))
    assert days[128] == other.rows[0]["days"]

    memory = _points(TRAIN, LENGTH, "memory_total_bytes")
    assert memory[1024.0] == _answer(replace(TRAIN, length="1024")).rows[0]["memory_total_bytes"]
    step = _points(TUNE, BATCH, "step_s_at_least")
    assert step[2] == _answer(replace(TUNE, micro="2")).data["step_s_at_least"]


def test_the_front_has_what_no_other_beats_in_time_and_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = curve(TRAIN, PARETO, "cost")
    assert found.figure is not None
    points = {ring.label: (ring.x, ring.y) for ring in found.figure.rings}
    every = found.figure.series[0]
    for at in zip(every.x, every.y, strict=True):
        beaten = any(x <= at[0] and y <= at[1] and (x, y) != at for x, y in points.values())
        assert beaten != (at in points.values())

    # The copied command compares the same clusters.
    assert main([*shlex.split(command(TRAIN, PARETO))[1:], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["clusters"]
    printed = {(row["best"]["days"], row["best"]["cost"]) for row in rows if row["best"]}
    assert printed == set(zip(every.x, every.y, strict=True))


def test_serving_is_drawn_over_the_concurrency() -> None:
    rates = _points(SERVE, BATCH, "tokens_per_s")
    shown = _answer(SERVE)
    assert rates == {row["concurrency"]: row["tokens_per_s"] for row in shown.rows}
    front = curve(SERVE, PARETO, "")
    assert front.figure is not None and front.figure.x.label == "TPOT"


def test_what_does_not_fit_is_missing_from_a_curve_with_its_reason() -> None:
    found = curve(replace(TUNE, length="2048"), LENGTH, "peak_bytes")

    assert found.figure is not None and found.missing
    assert all(value not in found.figure.series[0].x for value in found.missing)
    assert all("does not fit" in why for why in found.missing.values())


def test_a_curve_that_nobody_waits_for_is_not_computed() -> None:
    found = curve(replace(TRAIN, tokens="21B"), GPUS, "days", wanted=lambda: False)

    assert found.figure is None


def test_every_view_of_every_job_has_quantities() -> None:
    for job in JOBS:
        for view in view_titles(job):
            heads = quantities(replace(TRAIN, job=job), view)
            assert bool(heads) == (view not in ("memory", "time"))


@pytest.mark.parametrize(
    ("wish", "label"),
    [
        (ToPlan(model="gpt3-175b", device="A100-80G-SXM", gpus="8"), "Use 40 GPUs"),
        (ToPlan(job="serve", model="llama-3-70b", gpus="1"), "Use 4 GPUs"),
        (ToPlan(job="finetune", model="llama-3-8b", gpus="1"), "Use offload"),
        (ToPlan(job="lora", model="llama-2-7b", gpus="1", micro="32"), "Use b = 1"),
    ],
)
def test_what_helps_is_tried_before_it_is_offered(wish: ToPlan, label: str) -> None:
    problem = ask(wish)
    assert isinstance(problem, Problem)
    found = helpful(wish, problem)

    assert found is not None and found[0] == label
    assert isinstance(ask(found[1]), Answer)


def test_where_nothing_helps_nothing_is_offered() -> None:
    wish = ToPlan(model="gpt-4")
    problem = ask(wish)
    assert isinstance(problem, Problem)
    assert helpful(wish, problem) is None


def test_the_origin_of_a_number_is_its_sum_with_constants_and_sources() -> None:
    shown = _answer(TRAIN)
    memory = next(head for head in shown.heads if head.key == "memory_total_bytes")
    found = origin(shown, 0, memory)
    assert found.value == shown.text(0, memory)
    formula = {line.label: line.text for line in found.sections[0].lines}
    assert set(formula) == {kind for kind, size in shown.rows[0]["memory_bytes"].items() if size}
    constants = {line.label: line for line in found.sections[1].lines}
    assert "312 TFLOP/s" in constants["matrix rate bfloat16"].text
    assert constants["matrix rate bfloat16"].link.startswith("https://")
    assert constants["memory"].text == "60GiB, as it was given"
    assert any("error" in line.text for line in found.sections[2].lines)


@pytest.mark.parametrize("wish", [TRAIN, SERVE, TUNE], ids=lambda wish: wish.job)
def test_every_number_has_an_origin(wish: ToPlan) -> None:
    shown = _answer(wish)
    for head in shown.heads:
        found = origin(shown, 0, head)
        assert found.sections[0].lines and found.sections[-1].lines
        assert found.kind == "predicted, not measured"
        assert "None" not in found.text()


def test_colours_of_one_picture_differ() -> None:
    for wish in (TRAIN, SERVE, TUNE, RLHF, replace(RLHF, rank="8"), replace(RLHF, job="dpo")):
        shown = _answer(wish)
        for spec in filter(None, (shown.memory, shown.time)):
            colours = [layer.colour for layer in spec.layers]
            assert len(set(colours)) == len(colours) and max(colours) < 8, wish.job


def test_fields_show_what_is_usual_even_where_nothing_fits() -> None:
    wish = replace(TRAIN, model="gpt3-175b", gpus="8", batch="", length="")
    found = usual(wish)
    assert isinstance(ask(wish), Problem)
    answered = _answer(replace(wish, gpus="1024", memory="")).usual
    for name in ("length", "per_node", "link", "network", "memory"):
        assert found[name] == answered[name], name
    assert found["batch"] == _answer(replace(TRAIN, batch="", gpus="8")).usual["batch"]
