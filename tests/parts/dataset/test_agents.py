"""Agent systems from calling graphs and from ready files: queries, candidates and faulty files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.agents import Agents
from recx.testing import check_dataset

TOOLS = {
    name: {"description": f"does {name}", "inputs": ""} for name in ("search", "book", "pay", "sendMail", "cancel")
}
Edges = list[list[str]]


def trace(name: str, tools: list[str], edges: Edges | None = None, task: str = "plan my trip") -> dict[str, Any]:
    """Return a trace's record: n0 is the query, n1 ... call the tools, in a chain unless edges are given."""
    nodes = {"n0": {"task": task, "input_spec": "", "output_spec": ""}}
    nodes |= {f"n{at}": {"task": f"Call {tool}", "input_spec": ""} for at, tool in enumerate(tools, start=1)}
    chain = [[f"n{at}", f"n{at + 1}"] for at in range(len(tools))]
    return {"trace_id": name, "nodes": nodes, "edges": chain if edges is None else edges}


def put(path: Path, content: Any, zipped: bool = False) -> None:
    data = json.dumps(content, ensure_ascii=False).encode()
    if zipped:
        path = path.with_name(f"{path.name}.gz")
    path.write_bytes(gzip.compress(data) if zipped else data)


def load(folder: Path, traces: list[Any], zipped: bool = False, n_candidates: int = 6) -> Interactions:
    put(folder / "tool_pool.json", {"tools": TOOLS}, zipped)
    put(folder / "tool_calling_graphs.json", {"traces": traces}, zipped)
    return Agents(str(folder), n_candidates=n_candidates).load()


def listed(record: dict[str, Any]) -> dict[str, Any]:
    """Return a graph's record with its nodes as a list."""
    return {**record, "nodes": [{"id": name, **facts} for name, facts in record["nodes"].items()]}


def same(one: Interactions, other: Interactions) -> bool:
    """Return whether two sets of data have the same events, slates, texts, graphs and notes."""
    assert one.slates is not None
    assert other.slates is not None
    ours, theirs = one.items.graphs, other.items.graphs
    assert ours is not None
    assert theirs is not None
    pairs = [(one.item, other.item), (one.slates.item, other.slates.item), (one.users.ids, other.users.ids)]
    pairs += [(one.items.table["text"], other.items.table["text"]), (ours.tool, theirs.tool), (ours.edge, theirs.edge)]
    pairs += [(one.users.table[name], other.users.table[name]) for name in one.users.table]
    return one.notes == other.notes and all(np.array_equal(first, second) for first, second in pairs)


def graph(data: Interactions, item: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the tools below a graph's root, and its edges by tool; the root is called root."""
    graphs = data.items.graphs
    assert graphs is not None
    tools = graphs.tool[graphs.node_indptr[item] : graphs.node_indptr[item + 1]]
    names = ["root", *(str(graphs.tools[tool]) if tool >= 0 else "?" for tool in tools[1:])]
    edges = graphs.edge[graphs.edge_indptr[item] : graphs.edge_indptr[item + 1]]
    return sorted(names[1:]), sorted((names[start], names[end]) for start, end in edges)


# ---- calling graphs ----


@pytest.mark.parametrize("zipped", [False, True])
def test_every_node_with_a_child_is_a_query_for_its_own_subtree(tmp_path: Path, zipped: bool) -> None:
    data = load(tmp_path, [trace("a", ["search", "book", "pay"])], zipped)
    assert data.users.ids.tolist() == ["a/n0", "a/n1", "a/n2"]
    assert data.users.table["text"].tolist() == ["plan my trip", "Call search", "Call book"]
    assert data.users.table["request"].tolist() == ["", "plan my trip", "plan my trip"]
    assert data.users.table["trace"].tolist() == ["a", "a", "a"]
    assert data.users.table["node"].tolist() == ["n0", "n1", "n2"]
    chain = [("book", "pay"), ("root", "search"), ("search", "book")]
    assert graph(data, data.item[0]) == (["book", "pay", "search"], chain)
    assert graph(data, data.item[1]) == (["book", "pay"], [("book", "pay"), ("root", "book")])
    assert graph(data, data.item[2]) == (["pay"], [("root", "pay")])
    assert data.notes["leaves_left_out"] == 1


def test_the_slate_has_the_right_graph_and_the_perturbed_ones(tmp_path: Path) -> None:
    data = load(tmp_path, [trace("a", ["search", "book", "pay"]), trace("b", ["cancel", "pay"])])
    assert data.slates is not None
    assert data.slates.lengths.tolist() == [7] * 5
    assert np.sort(data.slates.item).tolist() == list(range(35))
    for user, item in enumerate(data.item):
        slate = data.slates[user : user + 1].item
        forms = [str(graph(data, other)) for other in slate]
        assert item in slate
        assert len(set(forms)) == 7
        assert all(graph(data, other)[0] for other in slate), "none is a root alone"
    assert data.notes["perturbed_by_edge"] + data.notes["perturbed_by_tool"] == 30


def test_the_text_of_a_graph_leaves_out_the_task_of_the_root(tmp_path: Path) -> None:
    data = load(tmp_path, [trace("a", ["search", "sendMail", "pay"])])
    assert (
        data.items.table["text"][data.item[0]]
        == "pay does pay ; search does search ; send Mail does sendMail ; 4 nodes"
    )
    assert data.items.table["text"][data.item[1]] == "pay does pay ; send Mail does sendMail ; 3 nodes"
    assert not any("plan" in text for text in data.items.table["text"])


def test_ids_and_their_order_do_not_reveal_the_answer_and_names_do(tmp_path: Path) -> None:
    data = load(tmp_path, [trace(f"t{n}", ["search", "book", "pay"]) for n in range(40)])
    assert data.items.ids.tolist() == list(range(data.n_items))
    assert data.slates is not None
    assert data.items.names is not None
    place = [float((data.slates[user : user + 1].item < item).mean()) for user, item in enumerate(data.item)]
    assert 0.3 < np.mean(place) < 0.55  # of 7 places from 0 the middle is 3 / 7
    assert all(str(data.items.names[item]).endswith("/true") for item in data.item)
    assert data.unnamed().items.names is None


def test_the_same_twice_other_seeds_differ_and_a_node_depends_on_itself_alone(tmp_path: Path) -> None:
    traces = [trace("a", ["search", "book", "pay"]), trace("b", ["cancel", "pay", "book"])]
    first = load(tmp_path, traces)
    check_dataset(Agents(str(tmp_path), n_candidates=6))
    other = Agents(str(tmp_path), n_candidates=6, seed=1).load()
    assert (first.items.table["text"] != other.items.table["text"]).any()
    (tmp_path / "more").mkdir()
    reversed_order = load(tmp_path / "more", traces[::-1])

    def by_name(data: Interactions) -> dict[str, Any]:
        assert data.items.names is not None
        return {str(name): graph(data, item) for item, name in enumerate(data.items.names)}

    assert by_name(first) == by_name(reversed_order)


def test_a_node_with_two_parents_is_not_a_cycle_and_several_roots_leave_the_request_empty(tmp_path: Path) -> None:
    data = load(
        tmp_path,
        [
            trace(
                "a", ["search", "book", "pay"], [["n0", "n1"], ["n0", "n2"], ["n1", "n3"], ["n2", "n3"], ["n0", "n1"]]
            ),
            trace("b", ["search", "book", "pay"], [["n0", "n1"], ["n2", "n3"]]),
        ],
    )
    assert data.users.ids.tolist() == ["a/n0", "a/n1", "a/n2", "b/n0", "b/n2"]
    edges = [("book", "pay"), ("root", "book"), ("root", "search"), ("search", "pay")]
    assert graph(data, data.item[0]) == (["book", "pay", "search"], edges)
    assert data.users.table["request"].tolist() == ["", "plan my trip", "plan my trip", "", ""]


def test_the_nodes_of_a_trace_may_be_a_list(tmp_path: Path) -> None:
    traces = [trace("a", ["search", "book", "pay"]), trace("b", ["cancel", "pay"], [["n0", "n9"]]), trace("c", [])]
    (tmp_path / "list").mkdir()
    of_lists = load(tmp_path / "list", [listed(record) for record in traces])
    assert same(load(tmp_path, traces), of_lists)
    assert of_lists.notes["traces_with_edge_to_missing_node"] == 1
    assert of_lists.notes["traces_without_a_child"] == 1


# ---- what is wrong with a calling graph ----


def test_faulty_traces_are_left_out_and_counted(tmp_path: Path) -> None:
    data = load(
        tmp_path,
        [
            trace("good", ["search", "book"]),
            trace("missing", ["search"], [["n0", "n9"]]),
            trace("cycle", ["search", "book"], [["n0", "n1"], ["n1", "n2"], ["n2", "n1"]]),
            trace("itself", ["search"], [["n1", "n1"]]),
            {"trace_id": "empty", "nodes": {}, "edges": []},
            trace("no answer", ["search"], []),
        ],
    )
    assert set(data.users.table["trace"]) == {"good"}
    assert data.notes["traces_with_edge_to_missing_node"] == 1
    assert data.notes["traces_with_cycle"] == 2
    assert data.notes["traces_without_nodes"] == 1
    assert data.notes["traces_without_a_child"] == 1


def test_an_unknown_tool_and_an_empty_task_are_kept_and_counted(tmp_path: Path) -> None:
    data = load(tmp_path, [trace("a", ["search", "teleport"], task="")])
    assert data.users.table["text"].tolist() == ["", "Call search"]
    assert graph(data, data.item[1]) == (["?"], [("root", "?")])
    assert data.items.table["text"][data.item[1]] == "teleport ; 2 nodes"
    assert data.notes["nodes_with_unknown_tool"] == 2  # in two subtrees
    assert data.notes["users_without_text"] == 1


@pytest.mark.parametrize("task", ["帮我订一张去北京的机票", "احجز لي رحلة", "🚗🏨 ✈️", "long " * 20_000])
def test_any_text_is_a_task(tmp_path: Path, task: str) -> None:
    data = load(tmp_path, [trace(f"t{n}", ["search", "book"], task=task) for n in range(3)])
    assert data.users.table["text"][0] == task


def test_a_chain_of_a_thousand_nodes_is_read(tmp_path: Path) -> None:
    edges = [["n0", "n1"], *([f"n{at}", f"n{at + 1}"] for at in range(1, 1000))]
    record = trace("deep", ["search", "book"] * 500, edges)
    record["nodes"] |= {"m": {"task": "Call pay"}}
    record["edges"] = [*record["edges"][:999], ["n999", "m"]]
    data = load(tmp_path, [record], n_candidates=1)
    assert data.n_users == 1000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("trace_id"), "it has no key 'trace_id'"),
        (lambda t: t.update(nodes="n0"), r"'nodes' is \"n0\", and must be an object or a list"),
        (lambda t: t.update(nodes=[*listed(t)["nodes"], {"id": "n0"}]), "trace 'a': two nodes have the id 'n0'"),
        (lambda t: t.update(edges=[["n0"]]), r"the edge \[\"n0\"\] is not a pair of node ids"),
        (lambda t: t.update(edges=[[0, 1]]), "is not a pair of node ids"),
        (lambda t: t["nodes"]["n1"].pop("task"), "node 'n1': it has no key 'task'"),
        (lambda t: t["nodes"]["n1"].update(input_spec=3), "'input_spec' is 3, and must be text"),
        (lambda t: t.update(trace_id="other"), "trace 'other': it appears twice"),
    ],
)
def test_a_wrong_record_is_reported_in_one_sentence(tmp_path: Path, change: Any, sentence: str) -> None:
    wrong = trace("a", ["search", "book"])
    change(wrong)
    with pytest.raises(InputError, match=sentence):
        load(tmp_path, [trace("other", ["search", "pay"]), wrong])


@pytest.mark.parametrize(
    ("pool", "sentence"),
    [
        ('{"tools": {}}', "'tools' is empty"),
        ('{"tools": {"a": {"description": "x"}, "a": {"description": "x"}}}', "the key 'a' occurs twice in one object"),
        ('{"tools": {"a": {}}}', "tool 'a': it has no key 'description'"),
        ('{"tools": [1]}', "must be an object"),
        ("{", "it is not JSON"),
    ],
)
def test_a_wrong_pool_is_reported_in_one_sentence(tmp_path: Path, pool: str, sentence: str) -> None:
    put(tmp_path / "tool_calling_graphs.json", {"traces": [trace("a", ["search", "book"])]})
    (tmp_path / "tool_pool.json").write_text(pool)
    with pytest.raises(InputError, match=sentence):
        Agents(str(tmp_path)).load()


def test_a_folder_without_the_files_and_files_without_an_answer_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it must be a folder with node_candidates\.json, or with tool_pool\.json"):
        Agents(str(tmp_path)).load()
    with pytest.raises(InputError, match="there is nothing to choose"):
        load(tmp_path, [trace("a", ["search"], [])])
    with pytest.raises(InputError, match=r"dataset.n_candidates=0: it must be 1 or more"):
        Agents(n_candidates=0)


# ---- ready files ----


def candidate(name: str, tools: list[str], edges: Edges | None = None, kind: str = "random") -> dict[str, Any]:
    made = trace("", tools, edges, "Call search")
    return {"candidate_id": name, "type": kind, "tree": {"nodes": made["nodes"], "edges": made["edges"]}}


def ready(truth: Any, others: list[Any], node: str = "n0", task: str = "Call search") -> dict[str, Any]:
    return {"node_id": node, "node_task": task, "ground_truth": truth, "random_candidates": others}


def load_ready(folder: Path, nodes: list[Any], selections: list[Any] | None = None) -> Interactions:
    put(folder / "node_candidates.json", {"traces": [{"trace_id": "a", "node_candidates": nodes}]})
    if selections is not None:
        found = {"traces": [{"trace_id": "a", "node_selections": selections}]}
        put(folder / "graph_selection_results.json", found)
    return Agents(str(folder)).load()


def names_of(data: Interactions, user: int) -> list[str]:
    assert data.slates is not None
    assert data.items.names is not None
    items = data.slates.item[data.slates.indptr[user] : data.slates.indptr[user + 1]]
    return sorted(str(data.items.names[item]) for item in items)


def test_ready_candidates_are_read_without_their_ids_and_types(tmp_path: Path) -> None:
    truth = candidate("gt", ["book", "pay"], kind="ground_truth")
    data = load_ready(tmp_path, [ready(truth, [candidate("r1", ["pay"]), candidate("r2", ["cancel"])])])
    assert data.items.names is not None
    assert data.items.names[data.item[0]] == "a/n0/gt"
    assert names_of(data, 0) == ["a/n0/gt", "a/n0/r1", "a/n0/r2"]
    assert graph(data, data.item[0]) == (["book", "pay"], [("book", "pay"), ("root", "book")])
    parts_see = [str(data.unnamed().items.ids.tolist()), *data.items.table["text"]]
    assert not any(word in text for text in parts_see for word in ("gt", "ground_truth", "r1"))
    assert set(data.items.table) == {"text"}


def test_the_nodes_of_ready_trees_may_be_a_list(tmp_path: Path) -> None:
    cycle = candidate("c", ["book", "pay"], [["n1", "n2"], ["n2", "n1"]])
    trees = [candidate("gt", ["book", "pay"]), candidate("r1", ["pay"]), cycle]
    lists = [{**one, "tree": listed(one["tree"])} for one in trees]
    for folder in ("objects", "lists", "both"):
        (tmp_path / folder).mkdir()
    of_objects = load_ready(tmp_path / "objects", [ready(trees[0], trees[1:])])
    assert same(of_objects, load_ready(tmp_path / "lists", [ready(lists[0], lists[1:])]))
    assert same(of_objects, load_ready(tmp_path / "both", [ready(trees[0], lists[1:])]))
    assert of_objects.notes["trees_with_cycle"] == 1


def test_what_was_found_is_the_slate_and_what_it_lacks_is_counted(tmp_path: Path) -> None:
    nodes = [
        ready(candidate("gt", ["book"]), [candidate("r1", ["pay"]), candidate("r2", ["cancel"])], node)
        for node in ("n0", "n1")
    ]
    chosen = [{"candidate_id": name, "type": "x", "tree_size": 2} for name in ("r1", "gt", "r1", "nowhere")]
    selections = [{"node_id": "n0", "node_task": "", "selected_candidates": chosen}]
    selections.append({"node_id": "n7", "node_task": "", "selected_candidates": []})
    data = load_ready(tmp_path, nodes, selections)
    assert data.slates is not None
    assert data.slates.user.tolist() == [0]
    assert names_of(data, 0) == ["a/n0/gt", "a/n0/r1"]
    assert data.notes["selected_candidates_twice"] == 1
    assert data.notes["selected_candidates_unknown"] == 1
    assert data.notes["selections_of_unknown_nodes"] == 1
    assert data.notes["users_without_selection"] == 1


def test_nodes_without_a_right_tree_and_faulty_trees_are_left_out_and_counted(tmp_path: Path) -> None:
    good = candidate("gt", ["book"])
    faulty = [
        candidate("c", ["book", "pay"], [["n1", "n2"], ["n2", "n1"]]),
        candidate("m", ["book"], [["n0", "n5"]]),
        {"candidate_id": "e", "type": "random", "tree": {"nodes": {}, "edges": []}},
    ]
    cycle = candidate("gt", ["book", "pay"], [["n1", "n2"], ["n2", "n1"]])
    data = load_ready(tmp_path, [ready(good, faulty), ready(None, [], "n1"), ready(cycle, [], "n2")])
    assert data.users.ids.tolist() == ["a/n0"]
    assert data.notes["nodes_without_right_tree"] == 2
    assert data.notes["trees_with_cycle"] == 2
    assert data.notes["trees_with_edge_to_missing_node"] == 1
    assert data.notes["trees_without_nodes"] == 1


def test_a_root_of_its_own_does_not_reveal_the_answer(tmp_path: Path) -> None:
    other = candidate("r1", ["book"])
    other["tree"]["nodes"]["n0"]["task"] = "Call cancel"
    data = load_ready(tmp_path, [ready(candidate("gt", ["book"]), [other])])
    graphs = data.items.graphs
    assert graphs is not None
    roots = graphs.tool[graphs.node_indptr[:-1]]
    assert roots[0] == roots[1]
    assert data.items.table["text"][0] == data.items.table["text"][1] == "book ; 2 nodes"
    assert data.notes["roots_renamed"] == 1


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (ready(candidate("gt", ["book"]), [candidate("gt", ["pay"])]), "a candidate_id appears twice"),
        (ready({"candidate_id": "gt"}, []), "candidate 'gt': it has no key 'tree'"),
        (
            ready({"candidate_id": "gt", "tree": {"nodes": [{"id": "n0"}, {"id": "n0"}], "edges": []}}, []),
            "candidate 'gt': two nodes have the id 'n0'",
        ),
        (ready({"candidate_id": "gt", "tree": {"nodes": ["n0"], "edges": []}}, []), "must be an object with an id"),
        ({"node_id": "n0", "node_task": 3, "ground_truth": None}, "'node_task' is 3, and must be text"),
    ],
)
def test_a_wrong_candidate_is_reported_in_one_sentence(tmp_path: Path, node: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_ready(tmp_path, [node])


def test_a_node_that_appears_twice_is_refused(tmp_path: Path) -> None:
    node = ready(candidate("gt", ["book"]), [])
    with pytest.raises(InputError, match="the node 'n0' appears twice"):
        load_ready(tmp_path, [node, node])


# ---- the reliability of tools ----


def test_the_pool_says_how_reliable_the_tools_of_graphs_are(tmp_path: Path) -> None:
    load(tmp_path, [trace("a", ["search", "book"])])
    tools = {name: {**tool, "success": 0.5} for name, tool in TOOLS.items() if name != "pay"} | {"pay": TOOLS["pay"]}
    put(tmp_path / "tool_pool.json", {"tools": tools})
    data = Agents(str(tmp_path), n_candidates=2, reliability="success").load()
    assert data.items.graphs is not None
    assert data.items.graphs.tools.tolist() == ["book", "cancel", "pay", "search", "sendMail"]
    assert np.array_equal(data.items.graphs.reliability, [0.5, 0.5, np.nan, 0.5, 0.5], equal_nan=True)
    assert data.notes["tools_without_reliability"] == 1
    put(
        tmp_path / "node_candidates.json",
        {
            "traces": [
                {"trace_id": "a", "node_candidates": [ready(candidate("gt", ["book"]), [candidate("r1", ["pay"])])]}
            ]
        },
    )
    assert Agents(str(tmp_path), reliability="success").load().notes["tools_without_reliability"] == 1
    (tmp_path / "tool_pool.json").unlink()
    with pytest.raises(InputError, match=r"dataset.reliability=success: .* has no tool_pool.json"):
        Agents(str(tmp_path), reliability="success").load()
    with pytest.raises(InputError, match="made-up tools have none"):
        Agents(reliability="success").load()


# ---- generated and real data ----


def test_the_generator_makes_a_dataset() -> None:
    check_dataset(Agents(traces=20, n_candidates=3))
    data = Agents(traces=20, n_candidates=3).load()
    assert len(set(data.users.table["trace"])) == 20
    assert data.notes["nodes_with_unknown_tool"] == 0


def test_the_real_calling_graphs(shared_data: Callable[[str], Path]) -> None:
    data = Agents(str(shared_data("ultratool")), n_candidates=1).load()
    assert data.notes["traces_with_cycle"] == 33  # the tool-level graph of a trace that uses a tool twice has loops
    assert data.n_users == 6335
    assert data.notes["leaves_left_out"] == 2612
    assert data.notes["nodes_with_unknown_tool"] == 0
