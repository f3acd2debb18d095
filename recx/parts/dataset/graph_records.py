"""Reads records of graphs: ``nodes``, an object (id -> facts) or a list of objects with an id, and ``edges``.

Both forms are the same graph: ``{"nodes": {"a": {...}}}`` and ``{"nodes": [{"id": "a", ...}]}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recx.core.errors import InputError
from recx.storage.readers.json import entry, shown

IDS = ("id", "node_id")
"""Keys of a node's id."""
ENDS = (("source", "target"), ("from", "to"))
"""Keys of both ends of an edge that is an object."""

Edges = list[tuple[str, str]]


def graph_of(record: Any, where: str) -> tuple[dict[str, Any], Edges]:
    """Return the facts of a graph's nodes by id, and its distinct edges, pairs of parent and child.

    Args:
        record: The graph, with ``nodes`` and ``edges``.
        where: File and graph, for errors.

    Raises:
        InputError: A node is no object, two have the same id, one has none or a second one that differs from it, or an
            edge does not name two nodes; ids are texts, or all of them whole numbers.
    """
    nodes = entry(record, "nodes", (dict, list), where)
    if isinstance(nodes, list):
        named = list(_listed(nodes, where))
        facts = {str(name): node for name, node in named}
        if len(facts) < len(named):
            names = [str(name) for name, _ in named]
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise InputError(f"{where}: two nodes have the id {twice!r}: give each node its own")
        kinds = {type(name) for name, _ in named}
        if len(kinds) > 1:
            raise InputError(f"{where}: some ids of nodes are texts and others whole numbers: write all in one form")
        kind = kinds.pop() if kinds else str
    else:
        facts, kind = nodes, str
        for name, node in nodes.items():
            _check_key(name, node, where)
    return facts, list(dict.fromkeys(_edges(record, kind, where)))


def label_of(node: Any, pool: Mapping[str, Any], where: str) -> str:
    """Return the tool of a node's record, or its task.

    The tool is the entry ``tool``, or else the task where it reads "Call TOOL" or is the name of a tool.

    Args:
        node: The record.
        pool: The tools by name.
        where: File and node, for error messages.

    Raises:
        InputError: The record has neither a tool nor a task.
    """
    named = node.get("tool") if isinstance(node, Mapping) else None
    if isinstance(named, str) and named:
        return named
    task = str(entry(node, "task", str, where))
    called = task.removeprefix("Call ").strip()
    return called if task.startswith("Call ") or called in pool else task


def _listed(nodes: list[Any], where: str) -> Iterator[tuple[str | int, dict[str, Any]]]:
    for number, node in enumerate(nodes, start=1):
        place = f"{where}, node {number} of its list"
        if not isinstance(node, dict):
            raise InputError(
                f'{place}: it is {shown(node)}, and must be an object with an id, such as {{"id": "a", "task": "x"}}: '
                "write all nodes so, or 'nodes' as an object of ids"
            )
        names = {key: node[key] for key in IDS if key in node}
        if not names:
            raise InputError(f"{place}: it has no key 'id': give every node of a list one")
        if len(set(map(str, names.values()))) > 1:
            raise InputError(f"{place}: its id and node_id differ ({shown(names)}): keep one of them")
        yield entry(node, next(iter(names)), (str, int), place), node


def _check_key(name: str, node: Any, where: str) -> None:
    said = {key: node[key] for key in IDS if key in node} if isinstance(node, dict) else {}
    for key, value in said.items():
        if str(value) != name:
            raise InputError(
                f"{where}, node {name!r}: its {key} is {shown(value)}, which is not the key above it: drop "
                "one of them, or write 'nodes' as a list"
            )


def _edges(record: Any, kind: type, where: str) -> Iterator[tuple[str, str]]:
    edges = entry(record, "edges", list, where)
    if len({type(edge) for edge in edges}) > 1:
        raise InputError(f"{where}: some edges are lists and others objects: write all in one form")
    for edge in edges:
        ends = edge
        if isinstance(edge, dict):
            ends = next(([edge[start], edge[end]] for start, end in ENDS if start in edge and end in edge), None)
        if not (isinstance(ends, list) and len(ends) == 2 and all(type(end) is kind for end in ends)):
            example = '["FROM", "TO"]' if kind is str else "[1, 2]"
            raise InputError(
                f"{where}: the edge {shown(edge)} is not a pair of node ids: write two of them, {example}, "
                "as the nodes have them"
            )
        yield str(ends[0]), str(ends[1])
