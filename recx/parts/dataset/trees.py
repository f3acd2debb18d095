"""Trees of tools: what a node of a calling graph needs below it. Read from records, and turned into entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.graphs import Graphs
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.parts.dataset.tool_pool import ToolPool, words_of_name
from recx.storage.readers.json import entry

Edge = tuple[int, int]


@dataclass(frozen=True)
class Tree:
    """labels: the tool, or else the task, of every node, the root's first. edges: from and to, as places in it.

    A tree of the data may have a node with two parents, and a perturbed one may have come apart; none has a cycle.
    """

    labels: tuple[str, ...]
    edges: tuple[Edge, ...]

    def form(self) -> int:
        """Return a hash that trees share which differ in the order of their nodes only.

        A node is told by its label and the forms of its children, a tree by all its nodes.
        """
        children: list[list[int]] = [[] for _ in self.labels]
        for start, end in self.edges:
            children[start].append(end)
        forms = [0] * len(self.labels)
        for node in reversed(order_of(range(len(self.labels)), self.edges) or ()):
            forms[node] = hash((self.labels[node], *sorted([forms[child] for child in children[node]])))
        return hash(tuple(sorted(forms)))


@dataclass(frozen=True)
class Query:
    """A node that needs a tree: where it stands, what it is to do, and the trees that it may get.

    request: the task of the root of its trace, "" for the root itself. names: what the files call each tree. right:
    place of the right one among ``trees``. offered: places of those that the slate offers; None: all.
    """

    trace: str
    node: str
    task: str
    request: str
    trees: Sequence[Tree]
    names: Sequence[str]
    right: int = 0
    offered: Sequence[int] | None = None


@dataclass(frozen=True)
class Traces:
    """What was read: the pool, the nodes that ask, and counts of what was left out or is odd."""

    pool: ToolPool
    askers: Sequence[Query]
    notes: Mapping[str, float] = field(default_factory=dict)


def label_of(node: Any, pool: Mapping[str, Any], where: str) -> str:
    """Return the tool of a node's record (its ``tool``, or the task where it is "Call TOOL" or a tool), or its task."""
    task = str(entry(node, "task", str, where))
    named = node.get("tool")
    if isinstance(named, str) and named:
        return named
    called = task.removeprefix("Call ").strip()
    return called if task.startswith("Call ") or called in pool else task


def order_of(nodes: Iterable[Any], edges: Sequence[tuple[Any, Any]]) -> list[Any] | None:
    """Return the nodes with every parent before its children, or None where there is a cycle (Kahn 1962)."""
    waits = dict.fromkeys(nodes, 0)
    leads: dict[Any, list[Any]] = {}
    for start, end in edges:
        waits[end] += 1
        leads.setdefault(start, []).append(end)
    order = [node for node, parents in waits.items() if not parents]
    for node in order:
        for child in leads.get(node, ()):
            waits[child] -= 1
            if not waits[child]:
                order.append(child)
    return order if len(order) == len(waits) else None


def edges_of(record: Any, where: str) -> list[tuple[str, str]]:
    """Return the edges of a graph's record, each once.

    Raises:
        InputError: an edge is no pair of node ids.
    """
    edges = entry(record, "edges", list, where)
    for edge in edges:
        if not (isinstance(edge, list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)):
            raise InputError(f'{where}: the edge {edge!r} is no pair of node ids: write two texts, ["FROM", "TO"]')
    return list(dict.fromkeys((start, end) for start, end in edges))


def interactions_of(traces: Traces, seed: int) -> Interactions:
    """Return one user an asker, one item a tree, the right tree as the event, and what is offered as the slate.

    Items are numbered in a seeded order and their nodes by level and tool, so that neither tells the answer.

    Raises:
        InputError: nobody asks, or two nodes would be called the same.
    """
    askers = traces.askers
    if not askers:
        counted = ", ".join(f"{name} {count:g}" for name, count in traces.notes.items() if count)
        raise InputError(
            f"dataset.path: no node of these traces has a right tree of its own ({counted or 'there is no trace'}), so "
            "that there is nothing to choose: give nodes with children"
        )
    first = indptr_of(np.array([len(asker.trees) for asker in askers]))
    number = np.random.default_rng(seed).permutation(first[-1]).astype(np.int32)  # of the items, in the file's order
    trees = [tree for asker in askers for tree in asker.trees]
    order = np.argsort(number)
    offered = [range(len(asker.trees)) if asker.offered is None else asker.offered for asker in askers]
    has_slate = np.array([len(places) > 0 for places in offered])
    lengths = np.array([len(places) for places in offered])
    rows = np.concatenate([first[user] + np.array(places, dtype=np.int64) for user, places in enumerate(offered)])
    names = [f"{asker.trace}/{asker.node}/{name}" for asker in askers for name in asker.names]
    return Interactions(
        indptr=np.arange(len(askers) + 1),
        item=number[first[:-1] + [asker.right for asker in askers]],
        time=None,
        weight=np.ones(len(askers), dtype=np.float32),
        users=_users(askers),
        items=_items([trees[place] for place in order], [names[place] for place in order], traces.pool),
        slates=RankedLists(
            user=np.flatnonzero(has_slate).astype(np.int32),
            indptr=indptr_of(lengths[has_slate]),
            item=number[rows],
            score=np.zeros(len(rows), dtype=np.float32),
        ),
        notes=dict(traces.notes),
    )


def _users(askers: Sequence[Query]) -> Entities:
    columns = {"text": "task", "request": "request", "trace": "trace", "node": "node"}
    table = {name: np.array([getattr(asker, key) for asker in askers], dtype=object) for name, key in columns.items()}
    ids = [f"{asker.trace}/{asker.node}" for asker in askers]
    if len(set(ids)) < len(ids):
        twice = next(name for name, count in Counter(ids).items() if count > 1)
        raise InputError(f"dataset.path: two nodes would be called {twice!r}, trace and node: rename one of the traces")
    return Entities(np.array(ids, dtype=object), table)


def _items(trees: Sequence[Tree], names: Sequence[str], pool: ToolPool) -> Entities:
    ordered = [_in_order(tree, pool) for tree in trees]
    texts = [_text_of(tree, pool) for tree in ordered]
    graphs = Graphs(
        node_indptr=indptr_of(np.array([len(tree.labels) for tree in ordered])),
        tool=np.array([pool.number.get(label, -1) for tree in ordered for label in tree.labels], dtype=np.int32),
        edge_indptr=indptr_of(np.array([len(tree.edges) for tree in ordered])),
        edge=np.array([edge for tree in ordered for edge in tree.edges], dtype=np.int32).reshape(-1, 2),
        tools=np.array(pool.names, dtype=object),
        texts=np.array(pool.texts, dtype=object),
    )
    return Entities(
        np.arange(len(trees)),
        {"text": np.array(texts, dtype=object)},
        graphs=graphs,
        names=np.array(names, dtype=object),
    )


def _in_order(tree: Tree, pool: ToolPool) -> Tree:
    """Return the tree with the root first and the other nodes by tool, the edges sorted."""
    places = [0, *sorted(range(1, len(tree.labels)), key=lambda node: tree.labels[node])]
    new = {old: place for place, old in enumerate(places)}
    edges = sorted((new[start], new[end]) for start, end in tree.edges)
    return Tree(tuple(tree.labels[place] for place in places), tuple(edges))


def _text_of(tree: Tree, pool: ToolPool) -> str:
    """Return what the nodes below the root are, and how many nodes there are.

    The root stands for whoever asks. Its own task is left out: where it is "Call TOOL", it would tell whose tree it is.
    """
    known = [pool.number.get(label) for label in tree.labels[1:]]
    said = [
        words_of_name(label) if at is None else pool.texts[at] for at, label in zip(known, tree.labels[1:], strict=True)
    ]
    return " ; ".join([*said, f"{len(tree.labels)} nodes"])
