"""Bad input to the ranking stage through the command line: tasks, agents, judged documents, impressions, ``explain``.

Everything ends in one sentence with exit code 2, or in a run that counts what it left out.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from recx.cli import main
from recx.core.errors import InputError
from recx.core.protocols import Dataset
from recx.core.types import Interactions
from recx.experiment import saved_runs
from recx.experiment.protocol_card import data_hash
from recx.parts.dataset.agents import Agents
from recx.parts.dataset.judged import Judged
from recx.parts.dataset.mind import Mind
from recx.parts.dataset.svmlight import Svmlight
from recx.parts.dataset.tool_selection import ToolSelection

Json = dict[str, Any]
Content = bytes | str | Json | Callable[[Path], object]
Files = dict[str, Content]

TASKS = ("send a mail", "book a flight", "tell the weather", "play some music", "translate a text", "buy new shoes")
TOOLS = ("mail_sender", "flight_booker", "weather_api", "music_player", "translator", "shop")
HALF = "half \ud800"
HUGE = "word " * 20_000
DEEP = "[" * 100_000


def pool() -> Json:
    return {"tools": {tool: {"description": task} for tool, task in zip(TOOLS, TASKS, strict=True)}}


def selections(n: int = 36) -> Json:
    """Return tasks that name their tool's work, each with all tools to choose from."""
    candidates = [{"tool_name": tool} for tool in TOOLS]
    tasks = [
        {"trace_id": f"t{i}", "node_id": "n", "task": f"{TASKS[i % 6]} {i}", "ground_truth": TOOLS[i % 6]}
        for i in range(n)
    ]
    return {"selections": [{**task, "retrieved_candidates": candidates} for task in tasks]}


def graphs(n: int = 18) -> Json:
    """Return traces of five nodes: a root, two children, and two below the first of them."""
    edges = [["a", "b"], ["a", "c"], ["b", "d"], ["b", "e"]]
    traces = []
    for i in range(n):
        nodes = {node: {"task": f"Call {TOOLS[(i + at) % 6]}"} for at, node in enumerate("abcde")}
        nodes["a"] = {"task": f"please {TASKS[i % 6]}"}
        traces.append({"trace_id": f"t{i}", "nodes": nodes, "edges": list(edges)})
    return {"traces": traces}


def tree(first: int) -> Json:
    labels = {"n": "root", "x": f"Call {TOOLS[first % 6]}", "y": f"Call {TOOLS[(first + 1) % 6]}"}
    return {"nodes": {node: {"task": task} for node, task in labels.items()}, "edges": [["n", "x"], ["x", "y"]]}


def ready(n: int = 18) -> Json:
    """Return ready candidates: a right tree and three others for each node."""
    traces = []
    for i in range(n):
        others = [{"candidate_id": f"r{k}", "type": "random", "tree": tree(i + k)} for k in range(1, 4)]
        truth = {"candidate_id": "gt", "type": "ground_truth", "tree": tree(i)}
        node = {"node_id": "n", "node_task": TASKS[i % 6], "ground_truth": truth, "random_candidates": others}
        traces.append({"trace_id": f"t{i}", "node_candidates": [node]})
    return {"traces": traces}


def found(n: int = 18) -> Json:
    """Return what a search found among the ready candidates."""
    chosen = [{"candidate_id": name, "type": "?", "tree_size": 3} for name in ("r1", "gt")]
    node = {"node_id": "n", "node_task": "?", "selected_candidates": chosen}
    return {"traces": [{"trace_id": f"t{i}", "node_selections": [dict(node)]} for i in range(n)]}


def rows(queries: int = 20, first: int = 0) -> list[str]:
    """Return five documents a query, whose first feature tells the grade."""
    draw = random.Random(0)
    return [
        f"{place % 3} qid:{first + query} 1:{place % 3 + draw.random():.3f} 2:{draw.random():.3f}"
        for query in range(queries)
        for place in range(5)
    ]


def lines(*parts: Sequence[str]) -> str:
    return "".join(f"{line}\n" for part in parts for line in part)


QUERIES = lines(["query_id,text"], [f"q{i},{TASKS[i % 6]}" for i in range(20)])
DOCUMENTS = lines(["document_id,text"], [f"d{i},{TASKS[i % 6]} {i}" for i in range(30)])
GRADES = lines(
    ["query_id,document_id,grade"], [f"q{i},d{(i + k) % 30},{(k + 1) % 3}" for i in range(20) for k in range(5)]
)
BEHAVIORS = lines(
    f"{i}\tU{i % 9}\t11/{11 + i % 9}/2019 9:{i:02d}:00 AM\tN{i % 10}\tN{10 + i % 10}-1 N{10 + (i + 1) % 10}-0"
    for i in range(40)
)  # fmt: skip
ARTICLES = lines([f"N{i}\tnews\tx\t{TASKS[i % 6]}\tabstract" for i in range(20)])

FILES: Mapping[str, Callable[[], Files]] = {
    "tools": lambda: {"d/tool_pool.json": pool(), "d/tool_selection.json": selections()},
    "graphs": lambda: {"d/tool_pool.json": pool(), "d/tool_calling_graphs.json": graphs()},
    "ready": lambda: {"d/node_candidates.json": ready()},
    "found": lambda: {"d/node_candidates.json": ready(), "d/graph_selection_results.json": found()},
    "svmlight": lambda: {"d/train.txt": lines(rows()), "d/test.txt": lines(rows(9, 100))},
    "judged": lambda: {"d/queries.csv": QUERIES, "d/documents.csv": DOCUMENTS, "d/qrels.csv": GRADES},
    "mind": lambda: {"d/behaviors.tsv": BEHAVIORS, "d/news.tsv": ARTICLES},
}
"""Case -> the files that it reads and their usual contents."""

WORDS = {
    "tools": ["+experiment=tools"],
    "graphs": ["+experiment=agents", "dataset.n_candidates=5"],
    "ready": ["+experiment=agents"],
    "found": ["+experiment=agents"],
    "svmlight": ["+experiment=rerank"],
    "judged": ["+experiment=rerank", "dataset=judged", "feature=documents"],
    "mind": ["+experiment=rerank", "dataset=mind", "feature=basic"],
}
DATASETS: Mapping[str, Callable[[str], Dataset]] = {
    "tools": ToolSelection,
    "graphs": Agents,
    "ready": Agents,
    "found": Agents,
    "svmlight": Svmlight,
    "judged": Judged,
    "mind": Mind,
}
JSON_FILES = {
    "tools": "tool_selection.json",
    "graphs": "tool_calling_graphs.json",
    "ready": "node_candidates.json",
    "found": "graph_selection_results.json",
}
TEXT_FILES = {**JSON_FILES, "svmlight": "train.txt", "judged": "queries.csv", "mind": "behaviors.tsv"}


def write(files: Files) -> None:
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        elif isinstance(content, dict):
            path.write_text(json.dumps(content))
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


class Recx:
    """Runs the command line in this process, in a folder of its own."""

    def __init__(self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capfd, self.monkeypatch = capfd, monkeypatch

    def __call__(self, *words: str) -> tuple[int, str]:
        """Return the exit code and stderr."""
        self.monkeypatch.setattr(sys, "argv", ["recx", *words])
        code = main.main()
        self.out, said = self.capfd.readouterr()
        return code, said

    def world(self, world: str, files: Files, *words: str) -> tuple[int, str]:
        """Run a world on its usual files, but for these."""
        write({**FILES[world](), **files})
        return self(*WORDS[world], "dataset.path=d", "tracker=console", *words)

    def works(self, world: str, files: Files, *words: str) -> dict[str, Any]:
        """Run a world, which must go well, and return the counts on its card."""
        assert self.world(world, files, *words) == (0, "")
        return dict(saved_runs.load("last").protocol["notes"])


@pytest.fixture
def recx(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Recx:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECX_DEBUG", raising=False)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    return Recx(capfd, monkeypatch)


def reported(outcome: tuple[int, str], said: str) -> None:
    """Check that a run ended with exit code 2 and one sentence that contains this."""
    code, sentence = outcome
    assert code == 2, sentence
    assert sentence.count("\n") == 1, sentence
    assert said in sentence


def refused(world: str, files: Files, said: str, path: str = "d", without: str = "") -> None:
    """Check that a world's dataset refuses its usual files, but for these, in one sentence that contains this."""
    write({name: content for name, content in {**FILES[world](), **files}.items() if name != without})
    with pytest.raises(InputError) as error:
        DATASETS[world](path).load()
    assert "\n" not in str(error.value)
    assert said in str(error.value)


def loaded(world: str, files: Files, without: str = "") -> Interactions:
    """Load a world's dataset from its usual files, but for these and ``without`` one."""
    write({name: content for name, content in {**FILES[world](), **files}.items() if name != without})
    return DATASETS[world]("d").load()


def noted(world: str, files: Files) -> Mapping[str, float]:
    return loaded(world, files).notes


def link_to_nowhere(path: Path) -> None:
    path.symlink_to("/nowhere")


def changed(document: Json, change: Callable[[Any], object]) -> Json:
    """Return a document whose list was changed."""
    [entries] = document.values()
    change(entries)
    return document


# ---- files ----


@pytest.mark.parametrize("world", TEXT_FILES)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x00\x01" * 9, "is a binary file"),
        ("text".encode("utf-16")[:-1], "begins as text in UTF-16, but byte 8 is not such"),
        (gzip.compress(b"text"), "is gzipped, contrary to its name"),
        (link_to_nowhere, "is a link to /nowhere, where there is no file"),
        (os.mkfifo, "is not a regular file but a pipe or a device"),
        (Path.mkdir, "is a folder"),
    ],
    ids=["empty", "binary", "utf-16", "gzipped", "link", "pipe", "folder"],
)
def test_a_file_of_another_kind_is_named(here: Path, world: str, content: Content, said: str) -> None:
    refused(world, {f"d/{TEXT_FILES[world]}": content}, f"d/{TEXT_FILES[world]} {said}")


@pytest.mark.parametrize("world", TEXT_FILES)
def test_gzip_and_a_byte_order_mark_are_read_and_a_torn_file_is_reported(here: Path, world: str) -> None:
    name = f"d/{TEXT_FILES[world]}"
    content = FILES[world]()[name]
    data = b"\xef\xbb\xbf" + (json.dumps(content) if isinstance(content, dict) else str(content)).encode()
    plain = data_hash(loaded(world, {name: content}))
    assert data_hash(loaded(world, {name: data})) == plain
    Path(name).unlink()
    assert loaded(world, {f"{name}.gz": gzip.compress(data)}, without=name).n_users
    refused(world, {f"{name}.gz": gzip.compress(data)[:-20]}, "is a damaged gzip file", without=name)


@pytest.mark.parametrize("world", WORDS)
def test_a_path_that_is_not_a_folder_is_reported(recx: Recx, world: str) -> None:
    refused(world, {"file": ""}, "file", "file")
    refused(world, {}, "cannot be read (", "x" * 3_000)
    refused(world, {}, "nowhere", "nowhere")


@pytest.mark.parametrize("world", JSON_FILES)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1, 2]", "it must be an object with the key"),
        ("null", "and is null"),
        ("{}", "it has no key"),
        ('{"traces": {}, "selections": {}}', "is {}, and must be a list"),
        ('{"traces": [null], "selections": [null]}', "and is null"),
        ('{"traces": [', "it is not JSON at column"),
        (DEEP, "it is nested too deeply"),
        ('{"traces": ' + "9" * 5_000 + "}", "a number in it has too many digits"),
        ('{"traces": "a \\ud800"}', "is half of a character"),
        ('{"traces": [], "traces": []}', "the key 'traces' occurs twice"),
        (b'{"traces": "\xe9"}', "is not UTF-8"),
    ],
    ids=["list", "null", "no-key", "dict", "of-null", "torn", "deep", "digits", "half", "twice", "latin-1"],
)
def test_json_of_another_kind_is_reported(here: Path, world: str, content: Content, said: str) -> None:
    refused(world, {f"d/{JSON_FILES[world]}": content}, said)


# ---- tools ----


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("task", None, "selection 4: 'task' is null, and must be text"),
        ("task", 5, "selection 4: 'task' is 5, and must be text"),
        ("ground_truth", ["shop", 5], "selection 4: 'ground_truth' lists 5, which is no name of a tool"),
        ("trace_id", 1.5, "selection 4: 'trace_id' is 1.5"),
        ("trace_id", "t1", "selection 4: node 'n' of trace 't1' appears twice"),
        ("retrieved_candidates", "shop", "selection 4: 'retrieved_candidates' is \"shop\""),
        ("retrieved_candidates", ["shop"], "it must be an object with the key 'tool_name'"),
        ("task", HALF, "half of a character"),
    ],
)
def test_a_bad_task_is_named(here: Path, key: str, value: object, said: str) -> None:
    refused("tools", {"d/tool_selection.json": changed(selections(), lambda all_: all_[3].update({key: value}))}, said)


ODD: dict[str, Json] = {
    "tasks_empty": {"task": " "},
    "tasks_with_unknown_truth": {"ground_truth": "no such tool"},
    "tasks_without_truth": {"ground_truth": None},
    "tasks_with_several_tools": {"ground_truth": ["shop", "weather_api"]},
    "tasks_without_candidates": {"retrieved_candidates": []},
    "candidates_twice": {"retrieved_candidates": [{"tool_name": "shop"}] * 2},
    "candidates_not_in_the_pool": {"retrieved_candidates": [{"tool_name": name} for name in ("shop", "nothing")]},
}
"""What is counted -> how the task is that is counted."""


@pytest.mark.parametrize("retriever", ["text", "given"])
def test_odd_tasks_are_counted(recx: Recx, retriever: str) -> None:
    def change(all_: list[Json]) -> None:
        for one, odd in zip(all_[3:], ODD.values(), strict=False):
            one.update(odd)

    counts = recx.works("tools", {"d/tool_selection.json": changed(selections(), change)}, f"retriever={retriever}")
    assert {name: counts[name] for name in ODD} == dict.fromkeys(ODD, 1)


STRANGE = ["查询北京的天气", "ابحث عن رحلة إلى روما", "🌧️🚀", HUGE, "x" * 100_000, "a\x00b", "\u2028", "[red]%s{}"]


def test_tasks_in_any_script_and_of_any_length_are_served(recx: Recx) -> None:
    def change(all_: list[Json]) -> None:
        for one, task in zip(all_[::2], cycle(STRANGE), strict=False):
            one["task"] = task

    recx.works("tools", {"d/tool_selection.json": changed(selections(), change)}, "report.format=csv")
    asked = pd.read_csv(next(Path("outputs").glob("*/*/detailed_results.csv")))
    assert len(asked) == saved_runs.load("last").metrics["num_queries"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({}, "'tools' is empty"),
        ([], "'tools' is empty"),
        ({"shop": None}, "tool 'shop': it must be an object"),
        ({"shop": {}}, "tool 'shop': it has no key 'description'"),
        ({"shop": {"description": 5}}, "tool 'shop': 'description' is 5"),
        ({"shop": {"description": HALF}}, "half of a character"),
    ],
)
@pytest.mark.parametrize("world", ["tools", "graphs", "ready"])
def test_a_bad_tool_is_named(here: Path, world: str, tools: Json, said: str) -> None:
    refused(world, {"d/tool_pool.json": {"tools": tools}}, said)


def test_tools_of_any_name_are_served(recx: Recx) -> None:
    names = ["", " ", "天气", "🚀", "a\nb", "A", "a", "[b]", "x" * 9_999]
    tools = {"tools": {**pool()["tools"], **{name: {"description": ""} for name in names}}}
    recx.works("tools", {"d/tool_pool.json": tools})


def test_a_tool_that_appears_twice_is_reported(here: Path) -> None:
    twice = '{"tools": {"shop": {"description": ""}, "shop": {"description": ""}}}'
    refused("tools", {"d/tool_pool.json": twice}, "the key 'shop' occurs twice")


# ---- agents ----

FAULTS = {
    "traces_without_nodes": {"nodes": {}, "edges": []},
    "traces_with_edge_to_missing_node": {"edges": [["a", "nowhere"]]},
    "traces_with_cycle": {"edges": [["a", "b"], ["b", "a"]]},
    "traces_without_a_child": {"edges": []},
}


@pytest.mark.parametrize("count", FAULTS)
def test_a_trace_that_is_not_a_tree_is_counted_and_if_all_are_it_are_reported(recx: Recx, count: str) -> None:
    def break_(traces: list[Json]) -> None:
        for trace in traces:
            trace.update(FAULTS[count])

    one = changed(graphs(), lambda traces: break_(traces[:1]))
    assert recx.works("graphs", {"d/tool_calling_graphs.json": one})[count] == 1
    refused("graphs", {"d/tool_calling_graphs.json": changed(graphs(), break_)}, f"{count} 18")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edges": None}, "trace 't2': 'edges' is null"),
        ({"edges": [[0, 1]]}, "trace 't2': the edge [0, 1] is not a pair of node ids"),
        ({"nodes": [1]}, "trace 't2', node 1 of its list: it is 1, and must be an object with an id"),
        ({"nodes": {"a": None}}, "trace 't2', node 'a': it must be an object"),
        ({"nodes": {"a": {"task": 5}}}, "trace 't2', node 'a': 'task' is 5"),
        ({"nodes": {"a": {"task": "", "input_spec": 5}}}, "trace 't2', node 'a': 'input_spec' is 5"),
        ({"trace_id": "t1"}, "trace 't1': it appears twice"),
        ({"trace_id": HALF}, "half of a character"),
    ],
)
def test_a_bad_graph_is_named(here: Path, change: Json, said: str) -> None:
    files: Files = {"d/tool_calling_graphs.json": changed(graphs(), lambda traces: traces[2].update(change))}
    refused("graphs", files, said)


def test_two_nodes_of_one_name_are_reported(here: Path) -> None:
    def change(traces: list[Json]) -> None:
        traces[0] = {"trace_id": "x/y", "nodes": {"z": {"task": "a"}, "w": {"task": "b"}}, "edges": [["z", "w"]]}
        traces[1] = {"trace_id": "x", "nodes": {"y/z": {"task": "a"}, "w": {"task": "b"}}, "edges": [["y/z", "w"]]}

    files: Files = {"d/tool_calling_graphs.json": changed(graphs(), change)}
    refused("graphs", files, "two nodes would be called 'x/y/z'")


@pytest.mark.parametrize("world", ["graphs", "ready"])
def test_tasks_of_traces_may_be_in_any_script(recx: Recx, world: str) -> None:
    def change(traces: list[Json]) -> None:
        for trace, task in zip(traces[::3], cycle(["", "查询天气 🚀", HUGE]), strict=False):
            (trace["nodes"]["a"].update if world == "graphs" else trace["node_candidates"][0].update)(
                {"task": task, "node_task": task}
            )

    document = changed(graphs() if world == "graphs" else ready(), change)
    notes = recx.works(world, {f"d/{JSON_FILES[world]}": document})
    assert notes["users_without_text"] == 2


def node(traces: list[Json]) -> Json:
    return dict.__getitem__(traces[2], "node_candidates")[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (lambda n: n.update(ground_truth=None), "nodes_without_right_tree"),
        (lambda n: n["ground_truth"]["tree"].update(nodes={}), "trees_without_nodes"),
        (lambda n: n["ground_truth"]["tree"].update(edges=[["n", "n"]]), "trees_with_cycle"),
        (lambda n: n["random_candidates"][0]["tree"].update(edges=[["n", "?"]]), "trees_with_edge_to_missing_node"),
        (lambda n: n.update(ground_truth="gt"), "it must be an object with the key 'candidate_id'"),
        (lambda n: n["ground_truth"].update(tree=None), "candidate 'gt': 'tree' is null"),
        (lambda n: n.update(random_candidates=None), "'random_candidates' is null"),
        (lambda n: n["random_candidates"][0].update(candidate_id="gt"), "a candidate_id appears twice"),
        (lambda n: n.update(node_task=None), "'node_task' is null"),
        (lambda n: n.update(node_task=HALF), "half of a character"),
    ],
)
def test_a_ready_node_is_counted_or_reported(recx: Recx, change: Callable[[Json], object], outcome: str) -> None:
    files: Files = {"d/node_candidates.json": changed(ready(), lambda traces: change(node(traces)))}
    if " " in outcome:
        refused("ready", files, outcome)
    else:
        assert noted("ready", files)[outcome] == 1


@pytest.mark.parametrize(
    ("chosen", "outcome"),
    [
        ([], "users_without_selection"),
        ([{"candidate_id": "?"}, {"candidate_id": "gt"}], "selected_candidates_unknown"),
        ([{"candidate_id": "gt"}] * 2, "selected_candidates_twice"),
        (None, "'selected_candidates' is null"),
        (["gt"], "it must be an object with the key 'candidate_id'"),
    ],
)
def test_what_a_search_found_is_counted_or_reported(recx: Recx, chosen: Any, outcome: str) -> None:
    def change(traces: list[Json]) -> None:
        traces[2]["node_selections"][0]["selected_candidates"] = chosen

    files: Files = {"d/graph_selection_results.json": changed(found(), change)}
    if " " in outcome:
        refused("found", files, outcome)
    else:
        assert noted("found", files)[outcome] == 1


# ---- judged rows ----


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1 qid:1 1:nan", "line 8: feature 1 of query 1 is nan"),
        ("1 qid:1 1:0 2:inf", "line 8: feature 2 of query 1 is inf"),
        ("1 qid:1 1:1e39", "line 8: feature 1 of query 1 is 1e+39"),
        ("nan qid:1 1:0", "line 8: the grade is not finite in float32 (nan)"),
        ("1e308 qid:1 1:0", "line 8: the grade is not finite in float32 (1e+308)"),
        ("good qid:1 1:0", "line 8: 'good' is not a number"),
        ("1 1:0", "line 8: qid:QUERY must follow the grade"),
        ("1 qid:1 qid:2 1:0", "line 8: qid:QUERY must follow the grade"),
        ("1 qid:-1 1:0", "line 8: the qid is not a whole number"),
        ("1 qid:99999999999999999999 1:0", "line 8: the qid is not a whole number"),
        ("1 qid:1 2:0 1:0", "line 8: the features' numbers must be whole and rise"),
        ("1 qid:1 1:", "line 8: it is not a row"),
    ],
)
def test_a_bad_row_is_named(here: Path, row: str, said: str) -> None:
    refused("svmlight", {"d/train.txt": lines(rows()[:7], [row], rows()[7:])}, f"train.txt, {said}")


def graded(grade: Callable[[int], object]) -> list[str]:
    return [f"{grade(place)} {row.split(' ', 1)[1]}" for place, row in enumerate(rows())]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (lines(random.Random(0).sample(rows(), 100)), {}),
        (lines(rows(), ["1 qid:90 1:1 2:2"]), {"queries_with_one_document": 1}),
        (lines(rows(), ["1 qid:90 1:1", "2 qid:90 1:2"]), {"queries_all_relevant": 1}),
        (lines(rows(), ["0 qid:90 1:1", "0 qid:90 1:2"]), {"queries_without_relevant": 1}),
        (lines(rows(), ["-1 qid:90 1:1", "1 qid:90 1:2"]), {"negative_grades": 1}),
        (lines(graded(lambda place: 1)), {"queries_all_relevant": 29}),
        (lines(f"{row} 3:5" for row in rows()), {"ranker_constant_features": 1}),
        (lines(f"{row} 3:{n % 7}e30 4:{n % 5}e-30" for n, row in enumerate(rows())), {"ranker_constant_features": 0}),
        (lines(f"{row} 3:{(-1) ** n * 3e38}" for n, row in enumerate(rows())), {"ranker_constant_features": 0}),
    ],
    ids=["not-contiguous", "one", "only-good", "none-good", "negative", "all-good", "constant", "scales", "huge"],
)  # fmt: skip
def test_odd_groups_and_features_are_counted(recx: Recx, text: str, counts: dict[str, int]) -> None:
    if "all_relevant" in str(counts) and counts["queries_all_relevant"] > 1:
        write({"d/test.txt": lines([row.replace("qid:", "qid:1") for row in graded(lambda place: 1)][:45])})
        notes = recx.works("svmlight", {"d/train.txt": text, "d/test.txt": Path("d/test.txt").read_text()})
    else:
        notes = recx.works("svmlight", {"d/train.txt": text})
    assert {name: notes[name] for name in counts} == counts
    assert (notes["queries_not_contiguous"] > 0) == (not counts)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ("5\n" * 19, "add up to 95 rows and f.txt has 100"),
        ("5\n" * 20 + "0\n", "entry 21: '0' is not a number of rows"),
        ("9" * 30, "is not a number of rows"),
        ("²", "entry 1: '²' is not a number of rows"),
        ("", "is empty"),
        (link_to_nowhere, "is a link to /nowhere"),
        (None, "does not say which rows belong to one query"),
    ],
)
def test_bad_group_sizes_are_reported(here: Path, sizes: Content | None, said: str) -> None:
    bare = [row.replace(f" {row.split()[1]}", "") for row in rows()]
    write({"f.txt": lines(bare), **({} if sizes is None else {"f.txt.query": sizes})})
    with pytest.raises(InputError, match=re.escape(said)):
        Svmlight("f.txt").load()
    Path("f.txt.query").unlink(missing_ok=True)
    write({"f.txt.query": "\ufeff" + "5\n" * 20})
    assert Svmlight("f.txt").load().n_users == 20


# ---- queries and documents ----


@pytest.mark.parametrize(
    ("file", "text", "outcome"),
    [
        ("queries.csv", f"{QUERIES}q1,again\n", "queries_twice"),
        ("queries.csv", f"{QUERIES}q99\n", "queries_without_text"),
        ("queries.csv", f"{QUERIES}q99,a,b,c\n", "row 21: 4 columns instead of 2"),
        ("queries.csv", f"{QUERIES},text\n", "queries.csv, row 21: the query's id is missing"),
        ("queries.csv", "query_id,text\n", "queries.csv has no rows"),
        ("queries.csv", "PAR1", "is Parquet: provide CSV, TSV"),
        ("qrels.csv", f"{GRADES}q1,d9,good\n", "qrels.csv, row 101: the grade 'good' is not a number"),
        ("qrels.csv", f"{GRADES}q1,d9,nan\n", "the grade 'nan' is not a number"),
        ("qrels.csv", f"{GRADES}q1,d9,1e308\n", "the grade '1e308' is not a number within float32"),
        ("qrels.csv", f"{GRADES}q1,d9,-2\n", "negative_grades"),
        ("qrels.csv", f"{GRADES}q77,d9,2\n", "grades_of_unknown_queries"),
        ("qrels.csv", f"{GRADES}q1,d77,2\n", "grades_of_unknown_documents"),
        ("qrels.csv", f"{GRADES}q1,d2,2\n", "documents_twice_in_a_query"),
        ("qrels.csv", "query_id,document_id,grade\na,b,1\n", "no grade belongs to a query and a document"),
        ("qrels.csv", "query_id,document_id,grade\nq1,d1,0\n", "no document has a grade above 0"),
        ("documents.csv", f"{DOCUMENTS}d1,again\n", "documents_twice"),
        ("candidates.csv", GRADES.replace("grade", "score") + "q1,d9,1e300\n", "the score '1e300' is not a number"),
        ("grades.csv", GRADES, "d has both grades.csv and qrels.csv"),
    ],
)
def test_an_odd_table_of_texts_is_counted_or_reported(recx: Recx, file: str, text: str, outcome: str) -> None:
    if " " in outcome:
        refused("judged", {f"d/{file}": text}, outcome)
    else:
        assert noted("judged", {f"d/{file}": text})[outcome] == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "line 21: it must be an object"),
        ('{"_id":', "line 21: it is not JSON"),
        ('{"_id": null, "text": "x"}', "row 21: the query's id is missing"),
        ('{"_id": "x", "text": "\\ud800"}', "line 21: \\ud800 after"),
        ('{"_id": ' + "9" * 5_000 + "}", "line 21: a number in it has too many digits"),
        ('{"_id": "x", "_id": "y"}', "line 21: the key '_id' occurs twice"),
    ],
)
def test_a_bad_line_of_json_is_named(here: Path, line: str, said: str) -> None:
    good = [json.dumps({"_id": f"q{i}", "text": TASKS[i % 6]}) for i in range(20)]
    files = {**FILES["judged"](), "d/queries.jsonl": lines(good, [line])}
    del files["d/queries.csv"]
    write(files)
    with pytest.raises(InputError, match=re.escape(said)):
        Judged("d").load()


def test_whole_characters_written_as_two_halves_are_read(recx: Recx) -> None:
    good = lines(json.dumps({"_id": f"q{i}", "text": f"🚀 {TASKS[i % 6]}"}) for i in range(20))
    write({**FILES["judged"](), "d/queries.jsonl": good})
    Path("d/queries.csv").unlink()
    assert r"\ud83d\ude80" in good
    assert recx(*WORDS["judged"], "dataset.path=d", "tracker=console") == (0, "")
    reported(recx("explain", "last", "user=none"), "the run has no request of this user")


# ---- impressions ----


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("N10-1 ", "N10 ", "row 1: 'N10' has no label -0 or -1, unlike others"),
        ("N10-1 ", "N10-2 ", "row 1: 'N10-2' has no label"),
        ("9:00:00 AM", "soon", "row 1: '11/11/2019 soon' is not a time"),
        ("1\tU1", "0\tU1", "the impression '0' appears twice"),
        ("0\tU0\t", "0 U0 ", "line 1: it has fewer than 5 columns"),
        ("\tN0\t", "\t\t", "impressions_without_history"),
        ("N10-1 N11-0", "", "impressions_to_predict"),
        ("N10-1 N11-0", "N10-1 N10-0", "shown_twice"),
        ("N10-1 ", "N99-1 ", "articles_without_metadata"),
        ("N10-1 N11-0", "N10-0 N11-0", "impressions_without_click"),
    ],
)
def test_an_odd_impression_is_counted_or_reported(recx: Recx, old: str, new: str, outcome: str) -> None:
    files: Files = {"d/behaviors.tsv": BEHAVIORS.replace(old, new, 1)}
    if " " in outcome:
        refused("mind", files, outcome)
    else:
        assert noted("mind", files)[outcome] == 1


def test_without_a_click_no_query_has_an_answer(recx: Recx) -> None:
    write({**FILES["mind"](), "d/behaviors.tsv": BEHAVIORS.replace("-1", "-0")})
    reported(
        recx(*WORDS["mind"], "dataset.path=d", "ranker=identity", "tracker=console"),
        "no query of this part has an answer",
    )


# ---- the commands ----


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ("tools", []),
        ("ready", ["fold=predict"]),
        ("svmlight", ["ranker=identity"]),
        ("judged", ["report=detailed_results", "split=by_user"]),
    ],
    ids=str,
)
def test_every_run_can_be_explained(recx: Recx, world: str, words: list[str]) -> None:
    recx.works(world, {}, *words)
    user = saved_runs.load("last").candidates["user"][0]
    assert recx("explain", "last", f"user={user}") == (0, "")
    assert recx("explain", "last", f"user={user}", "--json") == (0, "")
    assert bool(json.loads(recx.out)["contributions"]) == (words != ["ranker=identity"])
    reported(recx("explain", "last", "user=nobody"), "user=nobody: the run has no request of this user")
    if words == ["fold=predict"]:
        reported(recx("explain", "last", "--worst", "3"), "with fold=predict its targets are unknown")
    else:
        assert recx("explain", "last", "--worst", "3") == (0, "")


@pytest.mark.parametrize("world", WORDS)
def test_the_doctor_looks_at_all_data(recx: Recx, world: str) -> None:
    write(FILES[world]())
    assert recx("doctor", *WORDS[world], "dataset.path=d", "--json") == (0, "")
    assert json.loads(recx.out)["findings"]


def test_the_runs_of_a_sweep_can_be_compared(recx: Recx) -> None:
    write(FILES["svmlight"]())
    words = ["-m", *WORDS["svmlight"], "dataset.path=d", "ranker=identity,linear", "tracker=console"]
    assert recx(*words) == (0, "")
    runs = sorted(str(path.parent) for path in Path("outputs").glob("sweeps/*/*/metrics.json"))
    assert recx("compare", *runs) == (0, "")
    assert "ndcg" in recx.out


@pytest.mark.parametrize("world", ["tools", "ready", "svmlight", "judged", "mind"])
def test_data_that_changed_is_reported(recx: Recx, world: str) -> None:
    recx.works(world, {}, "ranker=identity")
    user = saved_runs.load("last").candidates["user"][0]
    path = Path("d", TEXT_FILES[world])
    texts = {"svmlight": ("1:", "1:9"), "judged": ("mail", "letter"), "mind": ("N3-0", "N3-1 N4-0")}
    path.write_text(path.read_text().replace(*texts.get(world, ("flight", "train")), 1))
    if world == "mind":
        path.write_text(path.read_text().replace("-0", "-1", 1))
    reported(recx("explain", "last", f"user={user}"), "the data has changed since the run")
    path.unlink()
    reported(recx("explain", "last", f"user={user}"), TEXT_FILES[world].split(".")[0])


@pytest.mark.parametrize(
    "words", [[], ["user=x", "--worst", "2"], ["x"], ["user="], ["--worst", "0"], ["--worst", "x"]]
)
def test_a_wrong_request_is_reported(recx: Recx, words: list[str]) -> None:
    reported(recx("explain", "last", *words), "recx explain: ")


def config(change: Callable[[Json], object]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        path = folder / "config.yaml"
        settings = yaml.safe_load(path.read_text())
        change(settings)
        path.write_text(yaml.safe_dump(settings))

    return rewrite


def table(name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    return lambda folder: change(pd.read_parquet(folder / name)).to_parquet(folder / name, index=False)


def text(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: write({str(folder / name): content})


DAMAGE: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "no runtime": (config(lambda c: c.pop("runtime")), "config.yaml is damaged"),
    "runtime null": (config(lambda c: c.update(runtime=None)), "config.yaml is damaged"),
    "no feature": (config(lambda c: c.pop("feature")), "config.yaml: the configuration lacks the key 'feature'"),
    "no dataset": (config(lambda c: c.pop("dataset")), "config.yaml: the configuration lacks the key 'dataset'"),
    "foreign": (config(lambda c: c["ranker"].update(_target_="os.system")), "config.yaml: ranker._target_=os.system"),
    "tag": (text("config.yaml", "a: !!python/object/apply:os.system [ls]"), "config.yaml is damaged"),
    "empty": (text("config.yaml", ""), "config.yaml is damaged"),
    "card": (text("protocol.json", "{}"), "protocol.json is damaged"),
    "no manifest": (lambda folder: (folder / "model" / "model.json").unlink(), "(no model.json)"),
    "torn manifest": (text("model/model.json", '{"files": ['), "model.json is damaged"),
    "no part": (lambda folder: (folder / "model" / "value.json").unlink(), "(value.json is missing)"),
    "torn part": (text("model/value.json", '{"fields": ['), "(value.json has changed)"),
    **{
        name: (table("recommendations.parquet", damage), "recommendations.parquet is damaged")
        for name, damage in {
            "no user": lambda t: t.drop(columns="user"),
            "no rank": lambda t: t.drop(columns="rank"),
            "no score": lambda t: t.drop(columns="score"),
            "text": lambda t: t.assign(score="x"),
            "text before": lambda t: t.assign(retriever_score="x"),
            "rank of text": lambda t: t.assign(retriever_rank="x"),
            "rank of nothing": lambda t: t.assign(retriever_rank=None),
            "twice": lambda t: pd.concat([t, t]),
        }.items()
    },
    "nan": (
        table("recommendations.parquet", lambda t: t.assign(retriever_score=float("nan"))),
        "a score that is not finite",
    ),
    "other user": (
        table("recommendations.parquet", lambda t: t.assign(user="zz")),
        "its lists have users or items that its data lacks",
    ),
    "candidates of another run": (
        lambda folder: saved_runs.SavedRun(folder).candidates[:0].to_parquet(folder / "candidates.parquet"),
        "recommendations.parquet and candidates.parquet have different items",
    ),
}


@pytest.fixture(scope="module")
def once() -> dict[str, Path]:
    """The run that many tests damage a copy of, once it was made."""
    return {}


@pytest.fixture
def explained(recx: Recx, once: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Put a finished run of tools into this folder and return a user that it asked for."""
    if once:
        shutil.copytree(once["run"], tmp_path, dirs_exist_ok=True)
    else:
        recx.works("tools", {})
        once["run"] = Path(shutil.copytree(tmp_path, tmp_path_factory.mktemp("once") / "run"))
    return str(saved_runs.load("last").candidates["user"][0])


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_reported(recx: Recx, explained: str, damage: str) -> None:
    change, said = DAMAGE[damage]
    change(saved_runs.load("last").folder)
    reported(recx("explain", "last", f"user={explained}"), said)


EVIL: Json = {"_target_": "recx.parts.ranker.callable.Callable", "object": "evil:reranker"}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(ranker=EVIL),
        lambda c: c["ranker"]["features"].update(phi_rel=EVIL),
        lambda c: c["feature"].update(phi_rel=EVIL),
        lambda c: c["dataset"].update(path=EVIL),
        lambda c: c.update(report=EVIL),
        lambda c: c.update(tracker=EVIL),
    ],
    ids=["ranker", "in the ranker", "feature", "in the dataset", "report", "tracker"],
)
@pytest.mark.parametrize("words", [["user=USER"], ["--worst", "2"]], ids=["user", "worst"])
def test_explaining_imports_nothing_that_a_run_names(
    recx: Recx, explained: str, monkeypatch: pytest.MonkeyPatch, change: Callable[[Json], object], words: list[str]
) -> None:
    write({"evil.py": "import pathlib\npathlib.Path('imported').touch()\n"})
    monkeypatch.syspath_prepend(Path.cwd())
    config(change)(saved_runs.load("last").folder)
    code, _ = recx("explain", "last", *(word.replace("USER", explained) for word in words))
    assert code in (0, 2)
    assert not Path("imported").exists()


def test_an_object_that_reranks_is_reported_before_the_data_is_read(recx: Recx) -> None:
    words = [*WORDS["judged"], "dataset.path=nowhere", "ranker=callable", "tracker=console"]
    reported(recx(*words, "ranker.object=no_such_module:x"), "ranker.object=no_such_module:x: it cannot be imported")
    reported(recx(*words), "ranker.object is not set")
