"""What past tasks like this one needed: the tools and the edges of the graphs that answered them."""

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
from recx.parts.feature.graph_history import graphs_of, leasts, means, past_graphs
from recx.parts.shared.texts import nearest_texts, texts_of


@dataclass(frozen=True)
@checked("feature")
class Votes:
    """Votes of the nearest past tasks on the tools and the edges of a graph.

    A task is the user's text and the request of its trace, where there is one. The vote on a tool is the share of the
    ``k`` nearest past tasks, weighted by their cosine, whose right graph has it below the root; on an edge likewise.
    Columns: the mean and the least vote on the graph's tools, and the share of all votes on tools that goes to them;
    the same of its edges. 0 without tools or edges, and where no past task is near.

    encoder: makes vectors of tasks. k: how many past tasks vote.
    """

    encoder: Encoder
    k: PositiveInt = 20

    def names(self, candidates: RankedLists) -> Sequence[str]:
        """Return the names of the columns."""
        return [f"past_{what}_{how}" for what in ("tools", "edges") for how in ("mean", "least", "held")]

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        graphs, past = graphs_of(history), past_graphs(history)
        known = _known(history, self.encoder)
        asked = known.fitted.encode(_tasks(history, candidates.user))
        near = nearest_texts(asked, known.past[np.cumsum(history.lengths > 0)[history.user] - 1], self.k)
        columns: list[Floats] = []
        for indptr, kind in ((past.node_indptr, past.node_tool), (graphs.edge_indptr, past.pair_of_edge)):
            votes = near @ _incidence(indptr, kind, past.right)
            columns.extend(_columns(votes, candidates, indptr, kind))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class _Known:
    """past: vectors of the users with events in the history, in their order. fitted: made them."""

    past: Vectors
    fitted: FittedEncoder


@once_per_input
def _known(history: Interactions, encoder: Encoder) -> _Known:
    past = _tasks(history, history.lengths > 0)
    fitted = encoder.fit(np.concatenate([graphs_of(history).texts, past]))
    return _Known(fitted.encode(past), fitted)


def _tasks(history: Interactions, users: Array) -> Array:
    """Return these users' tasks with their requests [n]."""
    tasks = texts_of(history.users, "users", users)
    if "request" in history.users.table:
        tasks = tasks + " " + history.users.table["request"][users]
    return tasks


def _incidence(indptr: Longs, kind: Array, right: Array) -> Any:
    """Return the CSR [n_events, n_kinds] of which kinds (-1: none) every right graph has, each once."""
    kinds = kind[rows_of_groups(indptr, right)]
    event = group_of_rows(indptr_of(np.diff(indptr)[right]))
    shape = (len(right), int(kind.max(initial=0)) + 1)
    known = kinds >= 0
    table = sparse.coo_array((np.ones(known.sum(), np.float32), (event[known], kinds[known])), shape).tocsr()
    table.data[:] = 1
    return table


def _columns(votes: Any, candidates: RankedLists, indptr: Longs, kind: Array) -> tuple[Floats, Floats, Floats]:
    """Return mean, least and held votes of every row (see ``Votes``)."""
    kinds = kind[rows_of_groups(indptr, candidates.item)]
    of_row = indptr_of(np.diff(indptr)[candidates.item])
    line = candidates.list_of_row[group_of_rows(of_row)]
    vote = np.zeros(len(kinds), dtype=np.float32)
    known = kinds >= 0
    if known.any():  # SciPy returns a matrix for no places at all
        vote[known] = votes[line[known], kinds[known]]
    everything = votes.sum(axis=1)[candidates.list_of_row]
    held = sum_of_groups(vote, of_row) / np.maximum(everything, 1e-12)
    return means(vote, of_row, 0.0), leasts(vote, of_row, 0.0), held.astype(np.float32)
