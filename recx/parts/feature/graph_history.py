"""What the right graphs of the past say of tools and of the edges between them, counted once for a history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recx.core.errors import InputError
from recx.core.graphs import Graphs
from recx.core.memo import once_per_input
from recx.core.ragged import indptr_of, max_of_groups, rows_of_groups, sum_of_groups
from recx.core.types import Array, Doubles, Floats, Interactions, Longs


def graphs_of(history: Interactions) -> Graphs:
    """Return the items' graphs.

    Raises:
        InputError: the items of this dataset are no graphs.
    """
    if history.items.graphs is None:
        raise InputError("the items of this dataset are no graphs, which this feature compares: choose feature=basic")
    return history.items.graphs


@once_per_input
def past_graphs(history: Interactions) -> PastGraphs:
    """Return the counts of a history, all of which lies before every request.

    Raises:
        InputError: the items are no graphs, or the events have times.
    """
    if history.time is not None:
        raise InputError(
            "features of graphs take the whole history for past, and this dataset has times: leave them out"
        )
    return PastGraphs(graphs_of(history), history.item)


@dataclass(frozen=True, eq=False)
class PastGraphs:
    """graphs: all that there are. right: the right graphs of the past [n_events]."""

    graphs: Graphs
    right: Array

    @cached_property
    def node_indptr(self) -> Longs:
        """Where in ``node_tool`` each graph's known nodes below the root begin, and where all end [n_graphs + 1]."""
        return indptr_of(np.bincount(self.graphs.graph_of_node[self._known], minlength=len(self.graphs)))

    @cached_property
    def node_tool(self) -> Array:
        """The tool of every known node below a root."""
        return self.graphs.tool[self._known]

    @cached_property
    def _known(self) -> Longs:
        return np.flatnonzero(self.graphs.below_root & (self.graphs.tool >= 0))

    @cached_property
    def edge_key(self) -> Longs:
        """A number for the two tools of every edge, also where the first one is none [n_edges]; -1 if the second is."""
        start, end = self.graphs.tools_of_edges.astype(np.int64).T
        return np.where(end >= 0, (start + 1) * len(self.graphs.tools) + end, -1)

    @cached_property
    def share(self) -> Doubles:
        """How much of all uses in the right graphs of the past is every tool's [n_tools]."""
        used = self.node_tool[rows_of_groups(self.node_indptr, self.right)]
        count = np.bincount(used, minlength=len(self.graphs.tools))
        share: Doubles = count / max(1, count.sum())
        return share

    @cached_property
    def pairs(self) -> tuple[Longs, Longs]:
        """The distinct edges (keys) of the right graphs of the past, rising, and how often each occurred."""
        keys = self.edge_key[rows_of_groups(self.graphs.edge_indptr, self.right)]
        return np.unique(keys[keys >= 0], return_counts=True)

    @cached_property
    def pair_of_edge(self) -> Longs:
        """The place in ``pairs`` of every edge [n_edges]; -1 where the past has no such edge."""
        keys, _ = self.pairs
        if not len(keys):
            return np.full(len(self.edge_key), -1)
        at = np.minimum(np.searchsorted(keys, self.edge_key), len(keys) - 1)
        return np.where(keys[at] == self.edge_key, at, -1)

    @cached_property
    def edge_count(self) -> Longs:
        """How often the tools of every edge followed each other in the past [n_edges]."""
        _, counts = self.pairs
        return np.append(counts, 0)[self.pair_of_edge]

    def edge_chance(self, strength: float) -> Doubles:
        """Return how likely every edge's second tool is to follow its first one [n_edges].

        strength: so many uses are added to those of the first tool, shared out as all uses are.
        """
        keys, counts = self.pairs
        n = len(self.graphs.tools)
        start, end = self.graphs.tools_of_edges.astype(np.int64).T
        leads = np.bincount(keys // n, counts, minlength=n + 1)[start + 1]
        uses = counts.sum()
        anywhere = (np.append(np.bincount(keys % n, counts, minlength=n), 0)[end] + 1) / (uses + n + 1)
        chance: Doubles = (self.edge_count + strength * anywhere) / (leads + strength)
        return chance


def means(values: Array, indptr: Longs, empty: float) -> Floats:
    """Return the mean of each group [n_groups]; ``empty`` for an empty one."""
    n = np.diff(indptr)
    return np.where(n > 0, sum_of_groups(values, indptr) / np.maximum(1, n), empty).astype(np.float32)


def leasts(values: Array, indptr: Longs, empty: float) -> Floats:
    """Return the least of each group [n_groups]; ``empty`` for an empty one."""
    return np.where(np.diff(indptr) > 0, -max_of_groups(-values, indptr), empty).astype(np.float32)
