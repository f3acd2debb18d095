"""Traces in OpenTelemetry's GenAI conventions as tasks and tools."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_traces import ASKED, agent, chat, exported, lines, span, tool

import recx
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.otel import Otel
from recx.parts.dataset.recognised_files import known_as
from recx.testing import check_dataset

MESSAGES = json.dumps(ASKED)


def load(folder: Path, *spans: Any, **settings: Any) -> Interactions:
    path = folder / "traces.jsonl"
    path.write_text(lines(exported(*spans)))
    return Otel(str(path), **settings).load()


def table(data: Interactions, column: str) -> Any:
    return data.users.table[column].tolist()


def answers(data: Interactions) -> dict[str, str]:
    """Return each task and the name of its tool."""
    return dict(zip(data.users.ids.tolist(), data.items.ids[data.item].tolist(), strict=True))


TRACE = (
    agent("t1", 0, input__messages=MESSAGES),
    chat("t1", "c1", 1, usage__input_tokens=47, usage__output_tokens=17, usage__cost=0.25),
    tool("t1", "x1", 2, "get_weather", tool__call__id="call_1"),
    chat("t1", "c2", 3, usage__input_tokens=97, usage__output_tokens=52, usage__cost=0.5),
    tool("t1", "x2", 4, "sendMail"),
    chat("t1", "c3", 5, usage__input_tokens=3),
)


def test_every_call_of_a_tool_is_a_task_with_the_message_of_the_user(tmp_path: Path) -> None:
    data = load(tmp_path, *TRACE)
    check_dataset(Otel(str(tmp_path / "traces.jsonl")))
    assert answers(data) == {"t1/x1": "get_weather", "t1/x2": "sendMail"}
    assert table(data, "text") == ["Weather in Paris?"] * 2
    assert table(data, "trace") == ["t1", "t1"]
    assert table(data, "node") == ["x1", "x2"]
    assert table(data, "status") == ["ok", "ok"]
    assert data.items.table["text"].tolist() == ["get weather", "send Mail"]
    assert data.time is None
    assert data.slates is None
    assert data.notes["spans"] == 6


def test_tokens_and_cost_of_the_tasks_of_a_trace_add_up_to_those_of_the_trace(tmp_path: Path) -> None:
    other = (agent("t2", input__messages=MESSAGES), tool("t2", "x", 1, "sendMail"))
    data = load(tmp_path, *TRACE, *other)
    assert table(data, "input_tokens")[:2] == [47, 97 + 3]
    assert table(data, "output_tokens")[:2] == [17, 52]
    assert table(data, "cost")[:2] == [0.25, 0.5]
    assert all(np.isnan(table(data, name)[2]) for name in ("input_tokens", "output_tokens", "cost"))


def test_a_span_that_sums_up_its_inner_ones_does_not_count_twice(tmp_path: Path) -> None:
    total = agent("t1", 0, input__messages=MESSAGES, usage__input_tokens=147, usage__output_tokens=69, usage__cost=9.0)
    inner = [chat("t1", "c1", 1, usage__input_tokens=47), chat("t1", "c2", 3, usage__input_tokens=100)]
    data = load(tmp_path, total, *inner, tool("t1", "x1", 2, "a"), tool("t1", "x2", 4, "b"))
    assert table(data, "input_tokens") == [47, 100]
    assert table(data, "output_tokens") == [69, 0], "the agent alone reports them"
    assert table(data, "cost") == [9, 0]


def test_without_tokens_there_are_no_such_columns_and_the_cost_may_have_another_name(tmp_path: Path) -> None:
    data = load(
        tmp_path, agent("t", 0, input__messages=MESSAGES, total=2.5), tool("t", "x", 1, "a"), cost="gen_ai.total"
    )
    assert set(data.users.table) == {"text", "trace", "node", "status", "calls", "cost"}
    assert table(data, "cost") == [2.5]


def test_what_is_no_task_is_counted(tmp_path: Path) -> None:
    data = load(
        tmp_path,
        *TRACE,
        tool("t1", "server", 2, "get_weather", parent="x1"),  # MCP's own span of the same call
        tool("t1", "failed", 6, "get_weather", failed=True),
        span("t1", "nameless", "agent", 7, operation__name="execute_tool"),
        agent("t3"),
        tool("t3", "silent", 1, "get_weather"),
        TRACE[2],
    )
    assert answers(data) == {"t1/x1": "get_weather", "t1/x2": "sendMail"}
    assert table(data, "calls") == [1, 3], "those that are no task count for the next one, or for the last"
    assert {name: count for name, count in data.notes.items() if count} == {
        "spans": 11,
        "spans_twice": 1,
        "tool_spans_of_the_same_call": 1,
        "tool_calls_failed": 1,
        "tool_spans_without_name": 1,
        "tasks_without_prompt": 1,
        "traces_without_task": 1,
        "tools_without_description": 2,
    }


def test_failed_calls_may_be_tasks_and_a_call_may_be_named_by_its_span(tmp_path: Path) -> None:
    failed = tool("t", "x", 1, "a", failed=True)
    typed = tool("t", "y", 2, "a")
    typed["attributes"].append({"key": "error.type", "value": {"stringValue": "timeout"}})
    named = {**span("t", "z", "agent", 3, operation__name="execute_tool"), "name": "execute_tool b"}
    data = load(tmp_path, agent("t", input__messages=MESSAGES), failed, typed, named, failed="keep")
    assert table(data, "status") == ["error", "error", "ok"]
    assert data.notes["tool_calls_failed"] == 2
    assert answers(data)["t/z"] == "b"


def test_tools_are_described_and_offered_by_definitions(tmp_path: Path) -> None:
    offered = [
        {"type": "function", "name": "b", "description": "books", "parameters": {"properties": {"seat": {}}}},
        {"type": "function", "function": {"name": "c", "description": "cancels"}},
        {"type": "web_search"},
    ]
    first = chat("t", "c1", 1, input__messages=MESSAGES, tool__definitions=json.dumps(offered))
    later = chat("t", "c2", 3, input__messages=MESSAGES, tool__definitions=offered[:1])
    calls = [tool("t", "x", 2, "b"), tool("t", "y", 4, "a", tool__description="asks")]
    data = load(tmp_path, agent("t"), first, calls[0], later, calls[1])
    assert data.items.ids.tolist() == ["a", "b", "c"]
    assert data.items.table["text"].tolist() == ["a asks", "b books seat", "c cancels"]
    assert data.slates is not None
    assert [data.slates[user : user + 1].item.tolist() for user in range(2)] == [[1, 2], [1]]
    assert data.notes["tasks_whose_candidates_lack_the_truth"] == 1
    assert data.notes["tool_definitions_left_out"] == 1


def test_a_file_may_describe_the_tools(tmp_path: Path) -> None:
    pool = tmp_path / "tools.json"
    pool.write_text(json.dumps([{"name": "sendMail", "description": "mails", "inputSchema": {}, "rate": 0.5}]))
    data = load(tmp_path, *TRACE, pool=str(pool), reliability="rate")
    assert answers(data) == {"t1/x2": "sendMail"}
    assert data.items.table["text"].tolist() == ["send Mail mails"]
    assert data.items.table["reliability"].tolist() == [0.5]
    assert data.notes["tasks_with_unknown_truth"] == 1
    assert table(data, "input_tokens") == [147], "what was used up to the call that is left out counts too"
    assert table(data, "calls") == [2]
    with pytest.raises(InputError, match=r"dataset.reliability=rate names a key .* by dataset.pool"):
        load(tmp_path, *TRACE, reliability="rate")
    pool.write_text(json.dumps([{"name": "getWeather", "inputSchema": {}}]))
    with pytest.raises(InputError, match=r"tasks_with_unknown_truth 2, .*its tool is known"):
        load(tmp_path, *TRACE, pool=str(pool))


def test_tasks_may_have_times(tmp_path: Path) -> None:
    data = load(tmp_path, *TRACE, times=True)
    assert data.time is not None
    assert data.time.tolist() == [2000, 4000]
    with pytest.raises(InputError, match=r"the span t1/x0 \(trace/span\) has no start"):
        load(tmp_path, *TRACE, tool("t1", "x0", 0, "a"), times=True)


def test_the_order_of_the_spans_changes_nothing_but_that_of_traces(tmp_path: Path) -> None:
    one, other = load(tmp_path, *TRACE), load(tmp_path, *reversed(TRACE))
    assert answers(one) == answers(other)
    assert all(table(one, name) == table(other, name) for name in one.users.table)


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a-1.json").write_text(json.dumps(exported(*TRACE[:3]), indent=1))
    (tmp_path / "d" / "a-2.jsonl.gz").write_bytes(gzip.compress(lines(exported(*TRACE[3:])).encode()))
    assert answers(Otel(str(tmp_path / "d")).load()) == {"t1/x1": "get_weather", "t1/x2": "sendMail"}


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (
            [agent("t", input__messages=MESSAGES)],
            r"none of its spans calls a tool .*\(spans 1\): a task is a span with",
        ),
        ([tool("t", "x", 1, "a")], r"tasks_without_prompt 1, .*: a task .*execute_tool, in or after one"),
        (
            [agent("t", input__messages=MESSAGES, usage__input_tokens="many"), tool("t", "x", 1, "a")],
            r'span agent of trace t: gen_ai.usage.input_tokens is "many", and must be a number from 0',
        ),
        (
            [agent("t", input__messages=MESSAGES, usage__cost=-1.0), tool("t", "x", 1, "a")],
            "usage.cost is -1.0, and must",
        ),
    ],
)
def test_spans_without_a_task_are_refused_in_one_sentence(tmp_path: Path, spans: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        load(tmp_path, *spans)
    assert "\n" not in str(error.value)


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match=r"dataset.path is not set: name the file, such as dataset.path=traces.jsonl"):
        Otel().load()


def test_traces_run_from_end_to_end(here: Path) -> None:
    tasks = {"mail": "send a mail to", "weather": "will it rain in", "calc": "what is the sum of"}
    spans = []
    for at in range(30):
        name = list(tasks)[at % 3]
        asked = [{"role": "user", "parts": [{"type": "text", "content": f"{tasks[name]} {at}"}]}]
        spans += [agent(f"t{at}", 1, input__messages=asked, usage__input_tokens=at), tool(f"t{at}", "x", 2, name)]
    Path("traces.jsonl").write_text(lines(exported(*spans)))
    result = recx.run(["+experiment=tools", "dataset=otel", "dataset.path=traces.jsonl", "tracker=console"])
    assert result.metrics["end_to_end/top_1_accuracy"] == 1.0
    assert result.metrics["data/spans"] == 60
    assert result.metrics["end_to_end/trace_success"] == 1.0
    judged = [int(str(user).split("/")[0][1:]) for user in result.report.users]
    assert result.metrics["end_to_end/trace_input_tokens"] == pytest.approx(sum(judged) / len(judged))


def test_the_doctor_knows_otlp(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(lines(exported(*TRACE)))
    found = known_as(tmp_path / "x.json")
    assert found is not None
    assert (found.name, found.format.experiment) == ("otel", "tools")
