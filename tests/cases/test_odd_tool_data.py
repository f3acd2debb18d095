"""Traces, samples, pools and graphs of tools with any value in any place: they are read, or refused in one sentence."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_traces import ASKED, agent, chat, exported, tool

from recx.core.errors import InputError
from recx.core.protocols import Dataset
from recx.parts.dataset.agents import Agents
from recx.parts.dataset.otel import Otel
from recx.parts.dataset.samples import Samples
from recx.parts.dataset.tool_selection import ToolSelection
from recx.storage.cache.keys import key_of_part

DEFINED = [
    {"type": "function", "name": "a", "description": "x", "parameters": {"properties": {"p": {"type": "string"}}}}
]
TRACE = exported(
    agent("t", 0, input__messages=ASKED),
    chat("t", "c", 1, usage__input_tokens=4, tool__definitions=DEFINED),
    tool("t", "x", 2, "a", tool__call__id="1"),
    tool("t", "y", 3, "b", failed=True),
)
TRACE["resourceLogs"] = [
    {"scopeLogs": [{"logRecords": [{"traceId": "t", "spanId": "c", "eventName": "e", "body": {}}]}]}
]
SAMPLES = [
    {"task_id": f"q{task}", "text": "x", "tool": name, "label": int(name == "a"), "features": {"f": 1.5, "g": task}}
    for task in range(2)
    for name in "ab"
]
POOL = [
    {"type": "function", "function": {"name": "a", "description": "x", "parameters": {"properties": {"p": {}}}}},
    {"name": "b", "title": "B", "inputSchema": {"properties": {"q": {"description": "y", "items": {}}}}, "_meta": {}},
]
SELECTIONS = {"selections": [{"trace_id": "t", "node_id": "n", "task": "x", "ground_truth": "a"}]}
NODES = [{"id": "n", "task": "x"}, {"id": "m", "tool": "a", "task": "y"}]
CANDIDATE = {"candidate_id": "1", "type": "?", "tree": {"nodes": NODES, "edges": [{"source": "n", "target": "m"}]}}
READY = {
    "traces": [
        {"trace_id": "t", "node_candidates": [
            {"node_id": "n", "node_task": "x", "ground_truth": CANDIDATE, "random_candidates": []}
        ]}
    ]
}  # fmt: skip
CASES: dict[str, tuple[str, Any, Callable[[Path], Dataset]]] = {
    "traces": ("spans.json", TRACE, lambda folder: Otel(str(folder / "spans.json"))),
    "samples": ("samples.json", SAMPLES, lambda folder: Samples(str(folder / "samples.json"))),
    "pool": ("tool_pool.json", POOL, lambda folder: ToolSelection(str(folder))),
    "trees": ("node_candidates.json", READY, lambda folder: Agents(str(folder))),
}
ODD = st.sampled_from(
    [None, True, -1, 0, 1.5, 10**400, "", "x", "[", '{"a": 1}', [], {}, [None], [[1]], {"a": None}, ["x"]]
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value of a document."""
    yield path
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from places(value, (*path, key))


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=4 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_in_any_place_is_read_or_refused(case: str, data: st.DataObject, tmp_path: Path) -> None:
    name, document, dataset = CASES[case]
    changed = replaced(document, data.draw(st.sampled_from([*places(document)])), data.draw(ODD))
    (tmp_path / "tool_selection.json").write_text(json.dumps(SELECTIONS))
    (tmp_path / name).write_text(json.dumps(changed))
    found, said = None, ""
    try:
        found = dataset(tmp_path).load()
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 600
    assert said or (found is not None and found.n_users and found.n_items)


@pytest.mark.parametrize("case", CASES)
def test_what_is_changed_can_be_read_as_it_is(case: str, tmp_path: Path) -> None:
    name, document, dataset = CASES[case]
    (tmp_path / "tool_selection.json").write_text(json.dumps(SELECTIONS))
    (tmp_path / name).write_text(json.dumps(document))
    assert dataset(tmp_path).load().n_users


def test_the_cache_knows_all_files_that_traces_and_samples_are_read_from(tmp_path: Path) -> None:
    for name, content in (("a.jsonl", "1"), ("b.jsonl", "2"), ("pool.json", "3")):
        (tmp_path / name).write_text(content)
    paths = (str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    made: list[Dataset] = [Otel(paths, pool=str(tmp_path / "pool.json")), Samples(paths)]
    for changed, expected in (("b.jsonl", [True, True]), ("pool.json", [True, False])):
        before = [key_of_part(one) for one in made]
        (tmp_path / changed).write_text("other content")
        assert [key_of_part(one) != key for one, key in zip(made, before, strict=True)] == expected


@pytest.mark.parametrize("dataset", ["otel", "samples"])
def test_the_command_line_ends_in_one_sentence(dataset: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    words = [f"dataset={dataset}", "dataset.path=x.jsonl", "tracker=console"]
    command = [sys.executable, "-m", "recx", "+experiment=tools", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "x.jsonl" in done.stderr
