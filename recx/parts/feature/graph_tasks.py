"""Votes of similar past tasks: the tools and edges of the graphs that answered them.

Known: the task and all tasks of the history, which is why data with times is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import PositiveInt, checked
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedEncoder, FittedFeature
from recx.core.ragged import group_of_rows, indptr_of, rows_of_groups, sum_of_groups
from recx.core.types import Array, Floats, Interactions, Longs, RankedLists, Requests, Vectors
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.graph_history import graphs_of, means, minima, past_graphs
from recx.parts.shared.texts import nearest_texts, text_column, texts_in


@dataclass(frozen=True)
@checked("feature")
class Votes:
    """Votes of the nearest past tasks on the tools and the edges of a graph.

    A task is the user's text, with the request of its trace if it has one. The vote for a tool is the share of the
    ``k`` nearest past tasks, weighted by their cosine, whose correct graph has it below the root; likewise for edges.
    The columns are the mean and the minimum vote for the graph's tools and their share of all votes for tools, and the
    same for its edges. They are 0 without tools or edges, and if no past task is near.

    Attributes:
        encoder: Encodes tasks as vectors.
        k: Number of past tasks that vote.
    """

    encoder: Encoder
    k: PositiveInt = 20

    def names(self, candidates: RankedLists) -> Sequence[str]:
        """Return the names of the columns."""
        return [f"past_{what}_{how}" for what in ("tools", "edges") for how in ("mean", "least", "held")]

    def fit(self, history: Interactions) -> FittedFeature:
        graphs, past, (vectors, fitted) = graphs_of(history), past_graphs(history), _known_tasks(history, self.encoder)
        tools = _Parts.of(past.node_indptr, past.node_tool, past.right)
        edges = _Parts.of(graphs.edge_indptr, past.pair_of_edge, past.right)
        of_event = vectors[np.cumsum(history.lengths > 0)[history.user] - 1]
        return FittedWith(self, _Past(fitted, _Tasks.in_(history), of_event, tools, edges))

    def values(self, past: _Past, candidates: RankedLists, requests: Requests) -> Floats:
        tasks = past.encoder.encode(past.tasks.of(candidates.user))
        near = nearest_texts(tasks, past.vectors, self.k)
        columns: list[Floats] = []
        for parts in (past.tools, past.edges):
            columns.extend(_columns(near @ parts.of_event, candidates, parts))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The tools or the edges of all graphs, and of the correct graphs of the past.

    Attributes:
        indptr: Borders of the graphs' parts [n_graphs + 1].
        kind: The kind of each part; -1: unknown.
        of_event: Which kinds the graph of each event has, CSR [n_events, n_kinds] of ones.
    """

    indptr: Longs
    kind: Array
    of_event: Vectors

    @classmethod
    def of(cls, indptr: Longs, kind: Array, right: Array) -> _Parts:
        """Return the parts of graphs, of which ``right`` were the correct ones of the events [n_events]."""
        kinds = kind[rows_of_groups(indptr, right)]
        known = kinds >= 0
        pairs = np.repeat(np.arange(len(right)), np.diff(indptr)[right])[known], kinds[known]
        shape = (len(right), int(kind.max(initial=0)) + 1)
        table = sparse.coo_array((np.ones(len(pairs[0]), np.float32), pairs), shape).tocsr()
        table.data[:] = 1
        return cls(indptr, kind, table)


@dataclass(frozen=True, eq=False)
class _Tasks:
    """The tasks of users.

    Attributes:
        columns: The users' texts and, if there are any, the requests of their traces [n_users each].
    """

    columns: tuple[Array, ...]

    @classmethod
    def in_(cls, history: Interactions) -> _Tasks:
        table = history.users.table
        return cls((text_column(history.users, "users"), *([table["request"]] if "request" in table else [])))

    def for_users(self, history: Interactions) -> _Tasks:
        return _Tasks.in_(history)

    def of(self, users: Array) -> Array:
        """Return the tasks of some users, by their numbers or a mask [n]."""
        tasks = texts_in(self.columns[0], users)
        for column in self.columns[1:]:
            tasks = tasks + " " + column[users]
        return tasks


@dataclass(frozen=True, eq=False)
class _Past:
    """The past tasks, and the graphs that answered them.

    Attributes:
        encoder: Encodes tasks.
        tasks: The users' tasks.
        vectors: The vector of each event's task [n_events, d].
        tools: The tools of graphs.
        edges: The edges of graphs.
    """

    encoder: FittedEncoder
    tasks: _Tasks
    vectors: Vectors
    tools: _Parts
    edges: _Parts


@once_per_input
def _known_tasks(history: Interactions, encoder: Encoder) -> tuple[Vectors, FittedEncoder]:
    """Return the vectors of the tasks of the users with events, in their order, and the encoder."""
    past = _Tasks.in_(history).of(history.lengths > 0)
    fitted = encoder.fit(np.concatenate([graphs_of(history).texts, past]))
    return fitted.encode(past), fitted


def _columns(votes: Any, candidates: RankedLists, parts: _Parts) -> tuple[Floats, Floats, Floats]:
    """Return the mean and the minimum vote and the share of all votes of each row (see ``Votes``)."""
    kinds = parts.kind[rows_of_groups(parts.indptr, candidates.item)]
    of_row = indptr_of(np.diff(parts.indptr)[candidates.item])
    row = candidates.list_of_row[group_of_rows(of_row)]
    vote = np.zeros(len(kinds), dtype=np.float32)
    known = kinds >= 0
    if known.any():  # SciPy returns a matrix for an empty index
        vote[known] = votes[row[known], kinds[known]]
    total = votes.sum(axis=1)[candidates.list_of_row]
    share = sum_of_groups(vote, of_row) / np.maximum(total, 1e-12)
    return means(vote, of_row, 0.0), minima(vote, of_row, 0.0), share.astype(np.float32)
