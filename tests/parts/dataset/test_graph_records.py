"""The nodes of a graph as an object and as a list: one graph, and one sentence where they are neither."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.parts.dataset.graph_records import graph_of

NODES = {"a": {"task": "x"}, "b": {"task": "y"}}
LISTED = [{"id": "a", "task": "x"}, {"id": "b", "task": "y"}]


def test_a_list_of_nodes_is_the_same_graph_as_an_object() -> None:
    of_object = graph_of({"nodes": NODES, "edges": [["a", "b"]]}, "here")
    assert of_object == (NODES, [("a", "b")])
    named, edges = graph_of({"nodes": LISTED, "edges": [["a", "b"]]}, "here")
    assert {name: node["task"] for name, node in named.items()} == {"a": "x", "b": "y"}
    assert edges == of_object[1]
    other_key = [{"node_id": node["id"], "task": node["task"]} for node in LISTED]
    assert list(graph_of({"nodes": other_key, "edges": []}, "here")[0]) == ["a", "b"]


@pytest.mark.parametrize("ends", [("source", "target"), ("from", "to")], ids=str)
def test_edges_may_be_objects_and_ids_whole_numbers(ends: tuple[str, str]) -> None:
    record = {"nodes": [{"id": 7}, {"id": 8}], "edges": [dict(zip(ends, (7, 8), strict=True))] * 2}
    assert graph_of(record, "here") == ({"7": {"id": 7}, "8": {"id": 8}}, [("7", "8")])


@given(st.dictionaries(st.text(), st.dictionaries(st.sampled_from(["task", "tool"]), st.text()), max_size=6), st.data())
def test_any_object_of_nodes_can_be_written_as_a_list(nodes: dict[str, dict[str, str]], data: st.DataObject) -> None:
    pairs = st.lists(st.sampled_from([*nodes, "missing"]), min_size=2, max_size=2)
    edges = data.draw(st.lists(pairs, max_size=5))
    listed = [{"id": name, **facts} for name, facts in nodes.items()]
    found, found_edges = graph_of({"nodes": listed, "edges": edges}, "here")
    assert found_edges == graph_of({"nodes": nodes, "edges": edges}, "here")[1]
    assert [(name, {key: node[key] for key in node if key != "id"}) for name, node in found.items()] == [*nodes.items()]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"nodes": "a", "edges": []}, "here: 'nodes' is \"a\", and must be an object or a list"),
        ({"nodes": ["a"], "edges": []}, 'here, node 1 of its list: it is "a", and must be an object with an id'),
        ({"nodes": [LISTED[0], NODES["b"]], "edges": []}, "node 2 of its list: it has no key 'id'"),
        ({"nodes": [*LISTED, LISTED[1]], "edges": []}, "two nodes have the id 'b'"),
        ({"nodes": [{"id": 1}, {"id": "1"}], "edges": []}, "two nodes have the id '1'"),
        ({"nodes": [{"id": 1}, {"id": "b"}], "edges": []}, "some ids of nodes are texts and others whole numbers"),
        ({"nodes": [{"id": 1.5}], "edges": []}, "'id' is 1.5, and must be text or a whole number"),
        ({"nodes": [{"id": True}], "edges": []}, "'id' is true, and must be text or a whole number"),
        ({"nodes": [{"id": "a", "node_id": "b"}], "edges": []}, "its id and node_id differ"),
        ({"nodes": {"a": {"id": "b"}}, "edges": []}, "node 'a': its id is \"b\", which is not the key"),
        ({"nodes": LISTED, "edges": {"a": "b"}}, '\'edges\' is {"a": "b"}, and must be a list'),
        ({"nodes": LISTED, "edges": [["a", "b"], {"from": "a", "to": "b"}]}, "some edges are lists and others objects"),
        ({"nodes": LISTED, "edges": [{"start": "a", "to": "b"}]}, "is not a pair of node ids"),
        ({"nodes": LISTED, "edges": [[1, 2]]}, "the edge [1, 2] is not a pair of node ids"),
        ({"nodes": [{"id": 1}], "edges": [["1", "1"]]}, 'the edge ["1", "1"] is not a pair of node ids'),
        ({"nodes": [{"id": 1}], "edges": [[True, 1]]}, "the edge [true, 1] is not a pair of node ids"),
        ({"nodes": LISTED}, "it has no key 'edges'"),
    ],
)
def test_what_is_no_graph_is_refused_in_one_sentence(record: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        graph_of(record, "here")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
