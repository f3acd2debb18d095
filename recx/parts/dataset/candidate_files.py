"""Candidates made beforehand: ``node_candidates.json``, and what a search found among them.

{"traces": [{trace_id, node_candidates: [{node_id, node_task, ground_truth: {candidate_id, type, tree: {nodes, edges}},
random_candidates: [...]}]}]}. The nodes of a tree are an object or a list (see ``graph_records``). The type of a
candidate is never read: it would reveal the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.precision import Reals
from recx.parts.dataset.files import file_in
from recx.parts.dataset.graph_records import graph_of, label_of
from recx.parts.dataset.search_order import best_first
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.tool_schemas import words_of_name
from recx.parts.dataset.trees import Query, Traces, Tree, fault_of
from recx.storage.readers.json import entry, read_json

FOUND = "graph_selection_results.json"


def read_candidates(folder: Path, path: Path, pool: ToolPool | None) -> Traces:
    """Return the nodes of a file that have a right tree.

    Args:
        folder: where ``FOUND`` is looked for; if it is there, it says which candidates each node is offered.
        path: the file ``node_candidates.json``.
        pool: the tools; None: those that the trees name.

    Raises:
        InputError: a file cannot be used, or a node appears twice.
    """
    notes: Counter[str] = Counter()
    reader = _Reader({} if pool is None else pool.number, notes)
    nodes = list(_nodes(path, "node_candidates"))
    queries = [query for node in nodes if (query := reader.query(*node)) is not None]
    labels = [label for query in queries for tree in query.trees for label in tree.labels[1:]]
    pool = pool or ToolPool.of({label: words_of_name(label) for label in labels})
    notes["nodes_with_unknown_tool"] = sum(label not in pool.number for label in labels)
    found = file_in(folder, FOUND)
    offered = queries if found is None else _offered(queries, found, notes)
    return Traces(pool, offered, {**pool.notes, **notes})


@dataclass(frozen=True)
class _Reader:
    """Reads records of nodes. known: the tools by name. notes: counts of what is left out."""

    known: Mapping[str, int]
    notes: Counter[str]

    def query(self, trace: str, record: Any, where: str) -> Query | None:
        node, task = str(record["node_id"]), entry(record, "node_task", str, where)
        truth = record.get("ground_truth")
        root = node, label_of({"task": task}, self.known, where)
        right = None if not truth else self._tree(truth, root, where)
        if right is None:
            self.notes["nodes_without_right_tree"] += 1
            return None
        others = [self._tree(other, root, where) for other in entry(record, "random_candidates", list, where)]
        candidates = [right, *(other for other in reversed(others) if other is not None)]
        trees = dict(candidates)
        self.notes["users_without_text"] += not task.strip()
        if len(trees) < len(candidates):
            raise InputError(f"{where}: a candidate_id appears twice: give every candidate its own")
        return Query(trace, node, task, "", list(trees.values()), list(trees))

    def _tree(self, record: Any, root: tuple[str, str], where: str) -> tuple[str, Tree] | None:
        """Return a candidate's id and its tree, whose root is always the query's, as other roots reveal the answer."""
        name = entry(record, "candidate_id", str, where)
        inside = f"{where}, candidate {name!r}"
        nodes, edges = graph_of(entry(record, "tree", dict, inside), inside)
        if fault := fault_of(nodes, edges, "trees"):
            self.notes[fault] += 1
            return None
        labels = {key: label_of(facts, self.known, f"{inside}, node {key!r}") for key, facts in nodes.items()}
        ends = {end for _, end in edges}
        top = root[0] if root[0] in nodes else next(key for key in nodes if key not in ends)
        self.notes["roots_renamed"] += labels[top] != root[1]
        labels = {top: root[1], **{key: label for key, label in labels.items() if key != top}}
        place = {key: at for at, key in enumerate(labels)}
        return name, Tree(tuple(labels.values()), tuple((place[a], place[b]) for a, b in edges))


def _nodes(path: Path, key: str) -> Iterator[tuple[str, Any, str]]:
    """Yield (trace, record, its place for error messages) of every node of a file."""
    seen: set[tuple[str, str]] = set()
    for number, trace in enumerate(entry(read_json(path), "traces", list, str(path)), start=1):
        name = entry(trace, "trace_id", str, f"{path}, trace {number}")
        where = f"{path}, trace {name!r}"
        for record in entry(trace, key, list, where):
            node = str(entry(record, "node_id", (str, int), where))
            if (name, node) in seen:
                raise InputError(f"{where}: the node {node!r} appears twice: remove one of them")
            seen.add((name, node))
            yield name, record, f"{where}, node {node!r}"


def _offered(queries: Sequence[Query], path: Path, notes: Counter[str]) -> list[Query]:
    """Return the queries with the candidates that the file says were found; a node that it lacks is offered none."""
    found: dict[tuple[str, str], tuple[list[str], Reals | None]] = {}
    for trace, record, where in _nodes(path, "node_selections"):
        chosen = entry(record, "selected_candidates", list, where)
        names = [entry(one, "candidate_id", str, where) for one in chosen]
        order, worth = best_first(chosen, where)
        found[trace, str(record["node_id"])] = [names[place] for place in order], worth
    notes["selections_of_unknown_nodes"] = len(found.keys() - {(query.trace, query.node) for query in queries})
    offered = []
    for query in queries:
        place = {name: at for at, name in enumerate(query.names)}
        names, worth = found.get((query.trace, query.node), ([], None))
        known = [place[name] for name in names if name in place]
        once: dict[int, int] = {}  # the tree's position -> that in the search's order
        for at, name in enumerate(names):
            if name in place:
                once.setdefault(place[name], at)
        notes["selected_candidates_unknown"] += len(names) - len(known)
        notes["selected_candidates_twice"] += len(known) - len(once)
        notes["users_without_selection"] += not once
        offered.append(replace(query, offered=list(once), worth=None if worth is None else worth[list(once.values())]))
    return offered
