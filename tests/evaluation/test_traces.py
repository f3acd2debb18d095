"""Figures of whole traces: by hand, and equal to a slow loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.metric_names import lower_is_better
from recx.evaluation.definitions import definition
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.traces import Traces

NAN = float("nan")


def tasks(trace: list[str], **columns: list[float]) -> Entities:
    """Return tasks with these columns."""
    table = {"trace": np.array(trace, dtype=object), **{name: np.array(x) for name, x in columns.items()}}
    return Entities(np.arange(len(trace)), table)


def traces_of(users: Entities, judged: list[int] | None = None) -> Traces:
    numbers = np.arange(len(users)) if judged is None else np.array(judged)
    found = Traces.of(users, numbers.astype(np.int32))
    assert found is not None
    return found


def test_a_trace_succeeds_if_every_task_is_right() -> None:
    traces = traces_of(tasks(["b", "a", "b", "c", "a", ""]))
    right = np.array([1.0, 1, 0, 1, 1, 1])
    assert traces.success(right) == pytest.approx([0, 1, NAN, 1, NAN, NAN], nan_ok=True)
    assert traces.numbers(right) == {"trace_calls": 5 / 3}
    assert traces.notes == {"traces_judged": 3, "traces_judged_in_part": 0}


def test_traces_of_which_a_task_is_not_judged_are_left_out_and_counted() -> None:
    traces = traces_of(tasks(["a", "a", "b", "c", "c", "c"]), [1, 2, 3, 5])
    assert traces.success(np.ones(4)) == pytest.approx([NAN, 1, NAN, NAN], nan_ok=True)
    assert traces.notes == {"traces_judged": 1, "traces_judged_in_part": 2}


def test_tokens_and_cost_are_added_up_over_a_trace() -> None:
    users = tasks(
        ["a", "a", "b", "c"], input_tokens=[10, 20, 60, -1], output_tokens=[1, NAN, 3, 5], cost=[0.5, 0.25, 0.25, 1.0]
    )
    traces = traces_of(users)
    numbers = traces.numbers(np.array([1.0, 1, 0, 1]))
    assert numbers == pytest.approx(
        {
            "trace_calls": 4 / 3,
            "trace_input_tokens": (30 + 60) / 2,
            "trace_output_tokens": (3 + 5) / 2,
            "trace_cost": (0.75 + 0.25 + 1) / 3,
            "cost_per_success": 2.0 / 2,  # that of b, which fails, is paid too
        }
    )
    assert traces.notes["traces_without_input_tokens"] == 1
    assert traces.notes["traces_without_output_tokens"] == 1
    assert traces.notes["traces_without_cost"] == 0
    assert np.isnan(traces.numbers(np.zeros(4))["cost_per_success"])


def test_calls_that_the_data_counts_are_those_of_a_trace() -> None:
    numbers = traces_of(tasks(["a", "a", "b"], calls=[3.0, 1, 2])).numbers(np.ones(3))
    assert numbers == {"trace_calls": 3.0}


def test_data_without_traces_has_no_such_figures() -> None:
    assert Traces.of(Entities(np.arange(3)), np.arange(3, dtype=np.int32)) is None
    none_whole = traces_of(tasks(["a", "a"]), [0])
    assert np.isnan(none_whole.success(np.ones(1))).all()
    assert none_whole.numbers(np.ones(1)) == {}


@pytest.mark.parametrize("kind", [object, np.int32, np.float32])
def test_a_trace_may_be_a_text_or_a_number(kind: type) -> None:
    column = np.array(["x", "y", "x", ""], dtype=object) if kind is object else np.array([7, 3, 7, -1]).astype(kind)
    if kind is np.float32:
        column[3] = np.nan
    traces = traces_of(Entities(np.arange(4), {"trace": column}))
    assert traces.success(np.array([1.0, 0, 1, 1])) == pytest.approx([1, 0, NAN, NAN], nan_ok=True)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.booleans(), st.booleans(), st.integers(-1, 5))))
def test_it_equals_a_slow_loop(rows: list[tuple[str, bool, bool, int]]) -> None:
    """Of each row: the trace, whether it is judged, whether its first item is right, and its cost."""
    users = tasks([trace for trace, *_ in rows], cost=[float(cost) for *_, cost in rows])
    judged = [number for number, (_, is_judged, _, _) in enumerate(rows) if is_judged]
    right = np.array([float(rows[number][2]) for number in judged])
    traces = traces_of(users, judged)
    by_trace = {
        name: [row for row in rows if row[0] == name]
        for name in dict.fromkeys(rows[number][0] for number in judged)
        if name
    }
    whole = [of_trace for of_trace in by_trace.values() if all(row[1] for row in of_trace)]
    values = traces.success(right)
    assert values[~np.isnan(values)].tolist() == [float(all(row[2] for row in of_trace)) for of_trace in whole]
    assert traces.notes["traces_judged_in_part"] == len(by_trace) - len(whole)
    paid = [of_trace for of_trace in whole if all(row[3] >= 0 for row in of_trace)]
    successes = sum(all(row[2] for row in of_trace) for of_trace in paid)
    if successes:
        cost = sum(row[3] for of_trace in paid for row in of_trace)
        assert traces.numbers(right)["cost_per_success"] == pytest.approx(cost / successes)


def test_the_evaluator_reports_them_where_the_data_has_traces(lists_of, fold_of) -> None:
    fold = fold_of({0: {5: 1}, 1: {6: 1, 7: 1}, 2: {8: 1}})
    lists = lists_of({0: [5, 1], 1: [7, 1], 2: [1, 8]})
    evaluator = Evaluator([], [], ["top_1_accuracy"])
    assert "end_to_end/trace_success" not in evaluator.evaluate(lists, lists, fold).means
    column = np.array(["a", "a", "b", *[""] * (len(fold.history.users) - 3)], dtype=object)
    users = replace(fold.history.users, table={"trace": column, "cost": np.full(len(column), 0.5)})
    report = evaluator.evaluate(lists, lists, replace(fold, history=replace(fold.history, users=users)))
    assert report.values["end_to_end/trace_success"] == pytest.approx([1, NAN, 0], nan_ok=True)
    figures = {"trace_success": 0.5, "trace_calls": 1.5, "trace_cost": 0.75, "cost_per_success": 1.5}
    assert {name: report.means[f"end_to_end/{name}"] for name in figures} == figures
    assert report.notes["traces_judged"] == 2
    assert all(definition(name) for name in figures)
    assert [lower_is_better(f"end_to_end/{name}") for name in figures] == [False, False, True, True]
