"""Counts of tools and of edges between tools in the correct graphs of the past, made once per history."""

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
        InputError: The items of this dataset are not graphs.
    """
    if history.items.graphs is None:
        raise InputError("the items of this dataset are not graphs, which this feature compares: choose feature=basic")
    return history.items.graphs


@once_per_input
def past_graphs(history: Interactions) -> PastGraphs:
    """Return the counts of a history, all of which must be before every request.

    Raises:
        InputError: The items are not graphs, or the events have times.
    """
    if history.time is not None:
        raise InputError("features of graphs count the whole history, and this dataset has times: leave them out")
    return PastGraphs(graphs_of(history), history.item)


@dataclass(frozen=True, eq=False)
class PastGraphs:
    """Counts over the correct graphs of the past.

    Attributes:
        graphs: All graphs.
        right: Numbers of the correct graphs of the past [n_events].
    """

    graphs: Graphs
    right: Array

    @cached_property
    def node_indptr(self) -> Longs:
        """The borders of the graphs in ``node_tool`` [n_graphs + 1]."""
        return indptr_of(np.bincount(self.graphs.graph_of_node[self._known], minlength=len(self.graphs)))

    @cached_property
    def node_tool(self) -> Array:
        """The tool of each known node below a root."""
        return self.graphs.tool[self._known]

    @cached_property
    def _known(self) -> Longs:
        return np.flatnonzero(self.graphs.below_root & (self.graphs.tool >= 0))

    @cached_property
    def edge_key(self) -> Longs:
        """A key for the two tools of each edge [n_edges]; -1 if the second tool is unknown."""
        start, end = self.graphs.tools_of_edges.astype(np.int64).T
        return np.where(end >= 0, (start + 1) * len(self.graphs.tools) + end, -1)

    @cached_property
    def share(self) -> Doubles:
        """Share of each tool in all uses in the correct graphs of the past [n_tools]."""
        used = self.node_tool[rows_of_groups(self.node_indptr, self.right)]
        return np.bincount(used, minlength=len(self.graphs.tools)) / max(1, len(used))

    @cached_property
    def pairs(self) -> tuple[Longs, Longs]:
        """The distinct edge keys of the correct graphs of the past, sorted, and the count of each."""
        keys = self.edge_key[rows_of_groups(self.graphs.edge_indptr, self.right)]
        return np.unique(keys[keys >= 0], return_counts=True)

    @cached_property
    def pair_of_edge(self) -> Longs:
        """The position in ``pairs`` of each edge [n_edges]; -1 if the edge does not occur in the past."""
        keys, _ = self.pairs
        if not len(keys):
            return np.full(len(self.edge_key), -1)
        at = np.minimum(np.searchsorted(keys, self.edge_key), len(keys) - 1)
        return np.where(keys[at] == self.edge_key, at, -1)

    @cached_property
    def edge_count(self) -> Longs:
        """Count of each edge in the past [n_edges]."""
        return np.append(self.pairs[1], 0)[self.pair_of_edge]

    def edge_chance(self, strength: float) -> Doubles:
        """Return the probability of each edge's second tool after its first one [n_edges].

        Args:
            strength: Weight of the prior, the distribution of all second tools, in edges.
        """
        keys, counts = self.pairs
        n = len(self.graphs.tools)
        start, end = self.graphs.tools_of_edges.astype(np.int64).T
        leads = np.bincount(keys // n, counts, minlength=n + 1)[start + 1]
        uses = counts.sum()
        anywhere = (np.append(np.bincount(keys % n, counts, minlength=n), 0)[end] + 1) / (uses + n + 1)
        return np.asarray((self.edge_count + strength * anywhere) / (leads + strength))


def means(values: Array, indptr: Longs, empty: float) -> Floats:
    """Return the mean of each group [n_groups], ``empty`` for an empty group."""
    n = np.diff(indptr)
    return np.where(n > 0, sum_of_groups(values, indptr) / np.maximum(1, n), empty).astype(np.float32)


def minima(values: Array, indptr: Longs, empty: float) -> Floats:
    """Return the minimum of each group [n_groups], ``empty`` for an empty group."""
    return np.where(np.diff(indptr) > 0, -max_of_groups(-values, indptr), empty).astype(np.float32)
