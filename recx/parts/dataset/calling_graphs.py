"""Calling graphs: ``tool_calling_graphs.json`` next to ``tool_pool.json``, or the same from a generator.

{"traces": [{trace_id, nodes: {id: {task, input_spec, output_spec}}, edges: [[from, to]]}]}: every node with a child is
a query for a tree, and its own subtree is the right one. The nodes may also be a list (see ``graph_records``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from recx.core.errors import InputError
from recx.parts.dataset.graph_records import graph_of, label_of
from recx.parts.dataset.perturbation import Perturbation
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.trees import Query, Traces, Tree, children_of, fault_of
from recx.storage.readers.json import entry, read_json


@dataclass(frozen=True)
class Trace:
    """A calling graph.

    Attributes:
        name: id of the trace.
        tasks: node id -> task.
        labels: node id -> tool, or the task where there is no tool.
        edges: pairs of parent and child.
    """

    name: str
    tasks: dict[str, str]
    labels: dict[str, str]
    edges: Sequence[tuple[str, str]]


def read_calling_graphs(path: Path, pool: ToolPool, notes: Counter[str]) -> list[Trace]:
    """Return the traces of a file.

    Args:
        path: the file.
        pool: the tools.
        notes: receives the counts of traces that are left out: without nodes, with an edge to a missing node or with a
            cycle.

    Raises:
        InputError: the file cannot be used, or a trace appears twice.
    """
    traces: dict[str, Trace] = {}
    for number, record in enumerate(entry(read_json(path), "traces", list, str(path)), start=1):
        name = entry(record, "trace_id", str, f"{path}, trace {number}")
        where = f"{path}, trace {name!r}"
        if name in traces:
            raise InputError(f"{where}: it appears twice: rename or remove one of them")
        traces[name] = _trace(name, record, where, pool)
    faults = {name: fault_of(trace.tasks, trace.edges, "traces") for name, trace in traces.items()}
    notes.update(fault for fault in faults.values() if fault)
    return [trace for name, trace in traces.items() if not faults[name]]


def _trace(name: str, record: Any, where: str, pool: ToolPool) -> Trace:
    nodes, edges = graph_of(record, where)
    labels = {node: label_of(facts, pool.number, f"{where}, node {node!r}") for node, facts in nodes.items()}
    tasks = {node: _task(facts, f"{where}, node {node!r}") for node, facts in nodes.items()}
    return Trace(name, tasks, labels, edges)


def _task(node: Any, where: str) -> str:
    keys = (key for key in ("task", "input_spec", "output_spec") if key in node)
    return " ".join(filter(None, (entry(node, key, str, where) for key in keys)))


def queries_of(traces: Sequence[Trace], pool: ToolPool, n: int, seed: int) -> Traces:
    """Return every node with a child as a query, with its subtree as the right tree and ``n`` perturbed ones."""
    notes: Counter[str] = Counter()
    perturbation = perturbation_of(traces, pool)
    made = []
    for query in [query for trace in traces for query in _queries(trace, pool, notes)]:
        wrong, by_edge = perturbation.around(query.trees[0], n, Random(f"{seed}/{query.id}"))
        notes["perturbed_by_edge"] += by_edge
        notes["perturbed_by_tool"] += len(wrong) - by_edge
        notes["users_with_fewer_perturbed"] += len(wrong) < n
        names = ["true", *map(str, range(1, len(wrong) + 1))]
        made.append(replace(query, trees=[query.trees[0], *wrong], names=names))
    return Traces(pool, made, notes)


def perturbation_of(traces: Sequence[Trace], pool: ToolPool) -> Perturbation:
    """Return a perturbation that draws tools by how often the traces use them (plus one)."""
    used = Counter(label for trace in traces for label in trace.labels.values())
    return Perturbation(pool.names, list(accumulate(used[name] + 1 for name in pool.names)))


def _queries(trace: Trace, pool: ToolPool, notes: Counter[str]) -> Iterator[Query]:
    children = children_of(trace.edges)
    roots = trace.tasks.keys() - {end for _, end in trace.edges}
    notes["leaves_left_out"] += len(trace.tasks) - len(children)
    notes["traces_without_a_child"] += not children
    request = "".join(trace.tasks[root] for root in roots) if len(roots) == 1 else ""
    for node in children:
        tree = _subtree(trace, node, children)
        notes["nodes_with_unknown_tool"] += sum(label not in pool.number for label in tree.labels[1:])
        notes["users_without_text"] += not trace.tasks[node].strip()
        yield Query(trace.name, node, trace.tasks[node], "" if node in roots else request, [tree], ["true"])


def _subtree(trace: Trace, root: str, children: dict[str, list[str]]) -> Tree:
    place, pending = {root: 0}, [root]
    for node in pending:
        for child in children.get(node, ()):
            if child not in place:
                place[child] = len(place)
                pending.append(child)
    edges = [(place[start], place[end]) for start, end in trace.edges if start in place]
    return Tree(tuple(trace.labels[node] for node in place), tuple(edges))
