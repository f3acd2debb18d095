"""Calling graphs: ``tool_calling_graphs.json`` beside ``tool_pool.json``, or the like made up by a generator.

{"traces": [{trace_id, nodes: {id: {task, input_spec, output_spec}}, edges: [[from, to]]}]}: every node with a child
asks for a tree, and its own subtree is the right one.
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
from recx.parts.dataset.perturbation import Perturbation
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.trees import Query, Traces, Tree, edges_of, label_of, order_of
from recx.storage.readers.json import entry, read_json


@dataclass(frozen=True)
class Trace:
    """name: of the trace. tasks, labels: node id -> its task, and its tool. edges: from and to."""

    name: str
    tasks: dict[str, str]
    labels: dict[str, str]
    edges: Sequence[tuple[str, str]]


def read_calling_graphs(path: Path, pool: ToolPool, notes: Counter[str]) -> list[Trace]:
    """Return the traces of a file; those without nodes, with an edge to a missing node or with a cycle are counted.

    Raises:
        InputError: the file cannot be used, or a trace stands twice.
    """
    traces: dict[str, Trace] = {}
    for number, record in enumerate(entry(read_json(path), "traces", list, str(path)), start=1):
        name = entry(record, "trace_id", str, f"{path}, trace {number}")
        where = f"{path}, trace {name!r}"
        if name in traces:
            raise InputError(f"{where}: it stands twice: rename or remove one of them")
        traces[name] = _trace(name, record, where, pool)
    for name, trace in list(traces.items()):
        fault = _fault(trace)
        if fault:
            notes[fault] += 1
            del traces[name]
    return list(traces.values())


def _trace(name: str, record: Any, where: str, pool: ToolPool) -> Trace:
    nodes = entry(record, "nodes", dict, where)
    labels = {node: label_of(said, pool.number, f"{where}, node {node!r}") for node, said in nodes.items()}
    tasks = {node: _task(said, f"{where}, node {node!r}") for node, said in nodes.items()}
    return Trace(name, tasks, labels, edges_of(record, where))


def _task(node: Any, where: str) -> str:
    parts = [entry({"": "", **node}, key, str, where) for key in ("task", "input_spec", "output_spec") if key in node]
    return " ".join(part for part in parts if part)


def _fault(trace: Trace) -> str | None:
    if not trace.tasks:
        return "traces_without_nodes"
    if any(end not in trace.tasks for edge in trace.edges for end in edge):
        return "traces_with_edge_to_missing_node"
    return "traces_with_cycle" if order_of(trace.tasks, trace.edges) is None else None


def askers_of(traces: Sequence[Trace], pool: ToolPool, n: int, seed: int) -> Traces:
    """Return every node with a child, its subtree as the right tree and ``n`` perturbed ones beside it."""
    notes: Counter[str] = Counter()
    perturbation = perturbation_of(traces, pool)
    askers = [asker for trace in traces for asker in _askers(trace, pool, notes)]
    made = []
    for asker in askers:
        wrong, by_edge = perturbation.around(asker.trees[0], n, Random(f"{seed}/{asker.trace}/{asker.node}"))
        notes["perturbed_by_edge"] += by_edge
        notes["perturbed_by_tool"] += len(wrong) - by_edge
        notes["users_with_fewer_perturbed"] += len(wrong) < n
        names = ["true", *(str(place) for place in range(1, len(wrong) + 1))]
        made.append(replace(asker, trees=[asker.trees[0], *wrong], names=names))
    return Traces(pool, made, notes)


def perturbation_of(traces: Sequence[Trace], pool: ToolPool) -> Perturbation:
    """Return what brings tools in as often as the traces use them, and each at least as if once."""
    used = Counter(label for trace in traces for label in trace.labels.values())
    return Perturbation(pool.names, list(accumulate(used[name] + 1 for name in pool.names)))


def _askers(trace: Trace, pool: ToolPool, notes: Counter[str]) -> Iterator[Query]:
    leads: dict[str, list[str]] = {}
    for start, end in trace.edges:
        leads.setdefault(start, []).append(end)
    parents = {end for _, end in trace.edges}
    roots = [node for node in trace.tasks if node not in parents]
    notes["leaves_left_out"] += len(trace.tasks) - len(leads)
    notes["traces_without_a_child"] += not leads
    request = trace.tasks[roots[0]] if len(roots) == 1 else ""
    for node in leads:
        tree = _subtree(trace, node, leads)
        notes["nodes_with_unknown_tool"] += sum(label not in pool.number for label in tree.labels[1:])
        notes["users_without_text"] += not trace.tasks[node].strip()
        yield Query(trace.name, node, trace.tasks[node], "" if node in roots else request, [tree], ["true"])


def _subtree(trace: Trace, root: str, leads: dict[str, list[str]]) -> Tree:
    nodes = {root: 0}
    todo = [root]
    for node in todo:
        for child in leads.get(node, ()):
            if child not in nodes:
                nodes[child] = len(nodes)
                todo.append(child)
    edges = [(nodes[start], nodes[end]) for start, end in trace.edges if start in nodes]
    return Tree(tuple(trace.labels[node] for node in nodes), tuple(edges))
