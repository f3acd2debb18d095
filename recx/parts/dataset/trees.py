"""Trees of tools: what a node of a calling graph needs below it. Turned into users and items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.graphs import Graphs
from recx.core.precision import Reals
from recx.core.ragged import indptr_of
from recx.core.types import Interactions
from recx.parts.dataset.events import slates_of, text_array
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.tool_schemas import words_of_name

Edge = tuple[int, int]


@dataclass(frozen=True)
class Tree:
    """A graph of labelled nodes with one root.

    A tree of the data may have a node with two parents, and a perturbed tree may be disconnected; none has a cycle.

    Attributes:
        labels: the tool (or, without a tool, the task) of every node; the root comes first.
        edges: pairs of parent and child, as positions in ``labels``.
    """

    labels: tuple[str, ...]
    edges: tuple[Edge, ...]

    def form(self) -> int:
        """Return a hash that is equal for trees that differ in the order of their nodes only.

        A node is identified by its label and the forms of its children, a tree by all its nodes.
        """
        children = children_of(self.edges)
        forms = [0] * len(self.labels)
        for node in reversed(order_of(range(len(self.labels)), self.edges) or ()):
            forms[node] = hash((self.labels[node], *sorted([forms[child] for child in children.get(node, ())])))
        return hash(tuple(sorted(forms)))


@dataclass(frozen=True)
class Node:
    """A node of a trace, whose task is a query.

    Attributes:
        trace: id of the trace.
        node: id of the node within the trace.
        task: text of the task.
    """

    trace: str
    node: str
    task: str

    @property
    def id(self) -> str:
        """Trace and node, separated by a slash."""
        return f"{self.trace}/{self.node}"


@dataclass(frozen=True)
class Query(Node):
    """A node that needs a tree.

    Attributes:
        request: the task of the root of its trace; "" for the root itself.
        trees: the trees to choose from.
        names: what the files call each tree.
        right: position of the right tree in ``trees``.
        offered: positions of the trees in the slate; None: all.
        worth: how good a first search found each of them; None: it does not say.
    """

    request: str
    trees: Sequence[Tree]
    names: Sequence[str]
    right: int = 0
    offered: Sequence[int] | None = None
    worth: Reals | None = None


@dataclass(frozen=True)
class Traces:
    """What was read.

    Attributes:
        pool: the tools.
        queries: the nodes that need a tree.
        notes: counts of what was left out or is unusual.
    """

    pool: ToolPool
    queries: Sequence[Query]
    notes: Mapping[str, float] = field(default_factory=dict)


def children_of(edges: Sequence[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return the children of every node that has any."""
    children: dict[Any, list[Any]] = {}
    for start, end in edges:
        children.setdefault(start, []).append(end)
    return children


def order_of(nodes: Collection[Any], edges: Sequence[tuple[Any, Any]]) -> list[Any] | None:
    """Return the nodes with every parent before its children, or None if there is a cycle (Kahn 1962)."""
    parents, children = Counter([end for _, end in edges]), children_of(edges)
    order = [node for node in nodes if node not in parents]
    for node in order:
        for child in children.get(node, ()):
            parents[child] -= 1
            if not parents[child]:
                order.append(child)
    return order if len(order) == len(nodes) else None


def fault_of(nodes: Collection[str], edges: Sequence[tuple[str, str]], what: str) -> str | None:
    """Return the name under which a faulty graph is counted, such as ``trees_with_cycle``, or None."""
    if not nodes:
        return f"{what}_without_nodes"
    if any(end not in nodes for edge in edges for end in edge):
        return f"{what}_with_edge_to_missing_node"
    return f"{what}_with_cycle" if order_of(nodes, edges) is None else None


def users_of(nodes: Sequence[Node], *columns: str) -> Entities:
    """Return the nodes as users with these columns, each an attribute of the nodes; ``text`` is the task."""
    table = {name: text_array(getattr(node, "task" if name == "text" else name) for node in nodes) for name in columns}
    return Entities(text_array(node.id for node in nodes), table)


def interactions_of(traces: Traces, seed: int) -> Interactions:
    """Return one user per query and one item per tree; the right tree is the event, the trees offered are the slate.

    Items are numbered in a seeded order and their nodes by level and tool, so that neither reveals the answer.

    Raises:
        InputError: there are no queries, or two nodes have the same trace and id.
    """
    queries = traces.queries
    if not queries:
        counted = ", ".join(f"{name} {count:g}" for name, count in traces.notes.items() if count)
        raise InputError(
            f"dataset.path: no node of these traces has a right tree of its own ({counted or 'there is no trace'}), so "
            "there is nothing to choose: provide nodes with children"
        )
    users = users_of(queries, "text", "request", "trace", "node")
    name, count = Counter(users.ids.tolist()).most_common(1)[0]
    if count > 1:
        raise InputError(f"dataset.path: two nodes would be called {name!r} (trace/node): rename one of the traces")
    first = indptr_of(np.array([len(query.trees) for query in queries]))
    number = np.random.default_rng(seed).permutation(first[-1])  # of the items, in the file's order
    offered = [range(len(query.trees)) if query.offered is None else query.offered for query in queries]
    lengths = np.array([len(places) for places in offered])
    worth = [np.zeros(n) if query.worth is None else query.worth for query, n in zip(queries, lengths, strict=True)]
    rows = np.repeat(first[:-1], lengths) + np.array([place for places in offered for place in places], dtype=np.int64)
    trees = [tree for query in queries for tree in query.trees]
    names = [f"{query.id}/{name}" for query in queries for name in query.names]
    order = np.argsort(number)
    return Interactions(
        indptr=np.arange(len(queries) + 1),
        item=number[first[:-1] + [query.right for query in queries]].astype(np.int32),
        time=None,
        weight=np.ones(len(queries), dtype=np.float32),
        users=users,
        items=_items([trees[place] for place in order], [names[place] for place in order], traces.pool),
        slates=slates_of(np.flatnonzero(lengths), lengths[lengths > 0], number[rows]).reorder(np.concatenate(worth)),
        notes=dict(traces.notes),
    )


def _items(trees: Sequence[Tree], names: Sequence[str], pool: ToolPool) -> Entities:
    ordered = [_in_order(tree) for tree in trees]
    graphs = Graphs(
        node_indptr=indptr_of(np.array([len(tree.labels) for tree in ordered])),
        tool=np.array([pool.number.get(label, -1) for tree in ordered for label in tree.labels], dtype=np.int32),
        edge_indptr=indptr_of(np.array([len(tree.edges) for tree in ordered])),
        edge=np.array([edge for tree in ordered for edge in tree.edges], dtype=np.int32).reshape(-1, 2),
        tools=text_array(pool.names),
        texts=text_array(pool.texts),
        reliability=pool.reliability,
    )
    table = {"text": text_array(_text_of(tree, pool) for tree in ordered)}
    return Entities(np.arange(len(trees)), table, graphs=graphs, names=text_array(names))


def _in_order(tree: Tree) -> Tree:
    """Return the tree with the root first, the other nodes sorted by tool, and the edges sorted."""
    places = [0, *sorted(range(1, len(tree.labels)), key=tree.labels.__getitem__)]
    new = {old: place for place, old in enumerate(places)}
    edges = sorted((new[start], new[end]) for start, end in tree.edges)
    return Tree(tuple(tree.labels[place] for place in places), tuple(edges))


def _text_of(tree: Tree, pool: ToolPool) -> str:
    """Return the texts of the nodes below the root, and the number of nodes.

    The root stands for the query. Its own task is left out: where it is "Call TOOL", it would reveal whose tree it is.
    """
    below = tree.labels[1:]
    texts = [pool.texts[pool.number[label]] if label in pool.number else words_of_name(label) for label in below]
    return " ; ".join([*texts, f"{len(tree.labels)} nodes"])
