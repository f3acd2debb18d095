"""Candidates that were made before: ``node_candidates.json``, and what a search found in them.

{"traces": [{trace_id, node_candidates: [{node_id, node_task, ground_truth: {candidate_id, type, tree: {nodes, edges}},
random_candidates: [...]}]}]}. What an entry's type is, is never read: it would tell the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.parts.dataset.tool_pool import ToolPool, file_of, words_of_name
from recx.parts.dataset.trees import Query, Traces, Tree, edges_of, label_of, order_of
from recx.storage.readers.json import entry, read_json

FOUND = "graph_selection_results.json"


def read_candidates(folder: Path, path: Path, pool: ToolPool | None) -> Traces:
    """Return the nodes of the file that have a right tree, with what ``FOUND`` offers them where that file is there.

    pool: None where there is none; the tools are then those that the trees name.

    Raises:
        InputError: a file cannot be used, or a node stands twice.
    """
    notes: Counter[str] = Counter()
    reader = _Reader(str(path), {} if pool is None else pool.number, notes)
    askers = list(reader.askers(read_json(path)))
    pool = pool or _pool_of(askers)
    notes["nodes_with_unknown_tool"] = sum(
        label not in pool.number for asker in askers for tree in asker.trees for label in tree.labels[1:]
    )
    found = file_of(folder, FOUND)
    if found is not None:
        askers = _offered(askers, found, notes)
    return Traces(pool, askers, notes)


@dataclass(frozen=True)
class _Reader:
    """where: the file. known: names of the tools. notes: counts of what is left out."""

    where: str
    known: dict[str, int]
    notes: Counter[str]

    def askers(self, content: Any) -> Iterator[Query]:
        for trace, record, where in _nodes(content, "node_candidates", self.where):
            asker = self._asker(trace, record, where)
            if asker is not None:
                yield asker

    def _asker(self, trace: str, record: Any, where: str) -> Query | None:
        node, task = (entry(record, key, str, where) for key in ("node_id", "node_task"))
        truth = record.get("ground_truth")
        asker = node, label_of({"task": task}, self.known, where)
        right = None if not truth else self._tree(truth, asker, where)
        if right is None:
            self.notes["nodes_without_right_tree"] += 1
            return None
        others = [self._tree(other, asker, where) for other in entry(record, "random_candidates", list, where)]
        trees = dict([right, *(other for other in reversed(others) if other is not None)])
        self.notes["users_without_text"] += not task.strip()
        if len(trees) < 1 + sum(other is not None for other in others):
            raise InputError(f"{where}: a candidate_id stands twice: every candidate needs one of its own")
        return Query(trace, node, task, "", list(trees.values()), list(trees))

    def _tree(self, record: Any, asker: tuple[str, str], where: str) -> tuple[str, Tree] | None:
        """Return a candidate's id and its tree; its root is whoever asks, as other roots would tell the answer."""
        name = entry(record, "candidate_id", str, where)
        inside = f"{where}, candidate {name!r}"
        tree = entry(record, "tree", dict, inside)
        nodes, edges = entry(tree, "nodes", dict, inside), edges_of(tree, inside)
        fault = _fault(nodes, edges)
        if fault:
            self.notes[fault] += 1
            return None
        labels = {key: label_of(said, self.known, f"{inside}, node {key!r}") for key, said in nodes.items()}
        ends = {end for _, end in edges}
        root = asker[0] if asker[0] in nodes else next(key for key in nodes if key not in ends)
        self.notes["roots_renamed"] += labels[root] != asker[1]
        labels[root] = asker[1]
        place = {key: at for at, key in enumerate([root, *(key for key in nodes if key != root)])}
        return name, Tree(tuple(labels[key] for key in place), tuple((place[a], place[b]) for a, b in edges))


def _nodes(content: Any, key: str, file: str) -> Iterator[tuple[str, Any, str]]:
    """Yield (trace, record, where it stands) of every node of a file."""
    seen: set[tuple[str, str]] = set()
    for number, trace in enumerate(entry(content, "traces", list, file), start=1):
        name = entry(trace, "trace_id", str, f"{file}, trace {number}")
        for record in entry(trace, key, list, f"{file}, trace {name!r}"):
            node = entry(record, "node_id", str, f"{file}, trace {name!r}")
            if (name, node) in seen:
                raise InputError(f"{file}, trace {name!r}: the node {node!r} stands twice: remove one of them")
            seen.add((name, node))
            yield name, record, f"{file}, trace {name!r}, node {node!r}"


def _fault(nodes: dict[str, Any], edges: Sequence[tuple[str, str]]) -> str | None:
    if not nodes:
        return "trees_without_nodes"
    if any(end not in nodes for edge in edges for end in edge):
        return "trees_with_edge_to_missing_node"
    return "trees_with_cycle" if order_of(nodes, edges) is None else None


def _pool_of(askers: Sequence[Query]) -> ToolPool:
    labels = {label for asker in askers for tree in asker.trees for label in tree.labels[1:]}
    return ToolPool.of({label: words_of_name(label) for label in labels})


def _offered(askers: Sequence[Query], path: Path, notes: Counter[str]) -> list[Query]:
    """Return the askers with what the file says was found for each; a node that it lacks is offered nothing."""
    found: dict[tuple[str, str], list[str]] = {}
    for trace, record, where in _nodes(read_json(path), "node_selections", str(path)):
        chosen = entry(record, "selected_candidates", list, where)
        found[trace, record["node_id"]] = [entry(one, "candidate_id", str, where) for one in chosen]
    notes["selections_of_unknown_nodes"] = len(found.keys() - {(asker.trace, asker.node) for asker in askers})
    offered = []
    for asker in askers:
        place = {name: at for at, name in enumerate(asker.names)}
        names = found.get((asker.trace, asker.node), [])
        known = list(dict.fromkeys(place[name] for name in names if name in place))
        notes["selected_candidates_unknown"] += sum(name not in place for name in names)
        notes["selected_candidates_twice"] += sum(name in place for name in names) - len(known)
        notes["users_without_selection"] += not known
        offered.append(replace(asker, offered=known))
    return offered
