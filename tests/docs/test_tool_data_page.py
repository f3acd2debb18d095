"""The files that docs/how-to/tool-data.md shows are read as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recx.core.types import Interactions
from recx.parts.dataset.agents import Agents
from recx.parts.dataset.otel import Otel
from recx.parts.dataset.samples import Samples
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.tool_selection import ToolSelection

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "tool-data.md").read_text(encoding="utf-8")
SECTIONS = {
    part.partition("\n")[0]: re.findall(r"^```json\n(.*?)^```$", part, flags=re.DOTALL | re.MULTILINE)
    for part in PAGE.split("\n## ")[1:]
}
POOL = json.dumps({"tools": {"search": {"description": "finds flights"}}})


def test_all_that_is_shown_is_read_below() -> None:
    assert {title: len(blocks) for title, blocks in SECTIONS.items()} == {
        "Tasks and the tool that answers each": 1,
        "Graphs of tools": 2,
        "Tool pools: own descriptions, OpenAI's function schemas, MCP's tools": 3,
        "How reliable a tool is": 1,
        "Traces of agents from OpenTelemetry": 1,
        "Ready-made samples": 1,
    }


def test_tasks_with_their_tools(tmp_path: Path) -> None:
    [tasks] = SECTIONS["Tasks and the tool that answers each"]
    pool = {name: {"description": name} for name in ("forecast", "mail", "chat")}
    (tmp_path / "tool_pool.json").write_text(json.dumps({"tools": pool}))
    (tmp_path / "tool_selection.json").write_text(tasks)
    data = ToolSelection(str(tmp_path), abstain="none").load()
    right = [sorted(data.items.table["name"][data.item[data.user == user]].tolist()) for user in range(3)]
    assert right == [["forecast"], ["chat", "mail"], ["none"]]


def test_both_forms_of_a_graph(tmp_path: Path) -> None:
    graphs, candidates = SECTIONS["Graphs of tools"]
    (tmp_path / "tool_pool.json").write_text(POOL)
    (tmp_path / "tool_calling_graphs.json").write_text(graphs)
    of_graphs = Agents(str(tmp_path), n_candidates=1).load()
    (tmp_path / "node_candidates.json").write_text(candidates)
    of_candidates = Agents(str(tmp_path)).load()
    for data in (of_graphs, of_candidates):
        assert data.users.table["text"].tolist() == ["plan my trip"]
        assert data.items.table["text"][data.item].tolist() == ["search finds flights ; 2 nodes"]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (0, "search finds flights from, to"),
        (1, "search finds flights from where it starts"),
        (2, "search Flights finds flights"),
    ],
)
def test_every_form_of_a_pool(tmp_path: Path, block: int, text: str) -> None:
    [title] = [title for title in SECTIONS if title.startswith("Tool pools")]
    (tmp_path / "p.json").write_text(SECTIONS[title][block])
    assert ToolPool.read(tmp_path / "p.json").texts == (text,)


def test_the_reliability_of_tools(tmp_path: Path) -> None:
    [pool] = SECTIONS["How reliable a tool is"]
    (tmp_path / "tool_pool.json").write_text(pool)
    tasks = [{"trace_id": "t", "node_id": "n", "task": "x", "ground_truth": "book"}]
    (tmp_path / "tool_selection.json").write_text(json.dumps({"selections": tasks}))
    data = ToolSelection(str(tmp_path), reliability="success_rate").load()
    assert data.items.table["reliability"].tolist()[1] == 0.97
    assert data.notes["tools_without_reliability"] == 1


def test_the_trace_of_an_agent(tmp_path: Path) -> None:
    data = loaded(Otel, tmp_path, SECTIONS["Traces of agents from OpenTelemetry"][0])
    assert data.users.table["text"].tolist() == ["Weather in Paris?"]
    assert data.items.ids[data.item].tolist() == ["get_weather"]


def test_ready_made_samples(tmp_path: Path) -> None:
    data = loaded(Samples, tmp_path, SECTIONS["Ready-made samples"][0])
    assert data.items.ids[data.item].tolist() == ["search"]
    assert data.slates is not None
    assert data.slates.columns["bm25"].tolist() == [0.5, 2.5]


def loaded(dataset: type[Otel] | type[Samples], folder: Path, text: str) -> Interactions:
    (folder / "x.json").write_text(text)
    return dataset(str(folder / "x.json")).load()
