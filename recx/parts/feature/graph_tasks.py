"""Votes of similar past tasks: the tools and edges of the graphs that answered them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import PositiveInt, checked
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedEncoder
from recx.core.ragged import group_of_rows, indptr_of, rows_of_groups, sum_of_groups
from recx.core.types import Array, Floats, Interactions, Longs, RankedLists, Requests, Vectors
from recx.parts.feature.graph_history import graphs_of, means, minima, past_graphs
from recx.parts.shared.texts import nearest_texts, texts_of


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

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        graphs, past = graphs_of(history), past_graphs(history)
        vectors, fitted = _known_tasks(history, self.encoder)
        tasks = fitted.encode(_tasks(history, candidates.user))
        near = nearest_texts(tasks, vectors[np.cumsum(history.lengths > 0)[history.user] - 1], self.k)
        columns: list[Floats] = []
        for indptr, kind in ((past.node_indptr, past.node_tool), (graphs.edge_indptr, past.pair_of_edge)):
            votes = near @ _incidence(indptr, kind, past.right)
            columns.extend(_columns(votes, candidates, indptr, kind))
        return np.stack(columns, axis=1)


@once_per_input
def _known_tasks(history: Interactions, encoder: Encoder) -> tuple[Vectors, FittedEncoder]:
    """Return the vectors of the tasks of the users with events, in their order, and the encoder."""
    past = _tasks(history, history.lengths > 0)
    fitted = encoder.fit(np.concatenate([graphs_of(history).texts, past]))
    return fitted.encode(past), fitted


def _tasks(history: Interactions, users: Array) -> Array:
    """Return the tasks of these users, with the requests of their traces [n]."""
    tasks = texts_of(history.users, "users", users)
    if "request" in history.users.table:
        tasks = tasks + " " + history.users.table["request"][users]
    return tasks


def _incidence(indptr: Longs, kind: Array, right: Array) -> Any:
    """Return a CSR [n_events, n_kinds] of ones: which kinds (-1: unknown) each correct graph has."""
    kinds = kind[rows_of_groups(indptr, right)]
    known = kinds >= 0
    pairs = np.repeat(np.arange(len(right)), np.diff(indptr)[right])[known], kinds[known]
    shape = (len(right), int(kind.max(initial=0)) + 1)
    table = sparse.coo_array((np.ones(len(pairs[0]), np.float32), pairs), shape).tocsr()
    table.data[:] = 1
    return table


def _columns(votes: Any, candidates: RankedLists, indptr: Longs, kind: Array) -> tuple[Floats, Floats, Floats]:
    """Return the mean and the minimum vote and the share of all votes of each row (see ``Votes``)."""
    kinds = kind[rows_of_groups(indptr, candidates.item)]
    of_row = indptr_of(np.diff(indptr)[candidates.item])
    row = candidates.list_of_row[group_of_rows(of_row)]
    vote = np.zeros(len(kinds), dtype=np.float32)
    known = kinds >= 0
    if known.any():  # SciPy returns a matrix for an empty index
        vote[known] = votes[row[known], kinds[known]]
    total = votes.sum(axis=1)[candidates.list_of_row]
    share = sum_of_groups(vote, of_row) / np.maximum(total, 1e-12)
    return means(vote, of_row, 0.0), minima(vote, of_row, 0.0), share.astype(np.float32)
