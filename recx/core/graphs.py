"""Graphs of tools, one per entity: the structure of agent systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.ragged import group_of_rows, indptr_of, position_of_rows, rows_of_groups

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs in CSR form: the nodes of graph ``g`` are ``node_indptr[g]:node_indptr[g + 1]``.

    Attributes:
        node_indptr: Borders of the graphs' nodes [n + 1]. The first node of a graph is its root: the requester.
        tool: The number of each node's tool in ``tools`` [n_nodes], -1 if it calls none or the pool lacks it.
        edge_indptr: Borders of the graphs' edges [n + 1].
        edge: Both ends of each edge, from and to, as positions within the graph [n_edges, 2].
        tools: The ids of the tools [n_tools].
        texts: The description of each tool [n_tools].
        reliability: How reliable each tool is said to be, from 0 to 1, NaN if unknown [n_tools]; None: nothing says it.
    """

    node_indptr: Longs
    tool: npt.NDArray[np.int32]
    edge_indptr: Longs
    edge: npt.NDArray[np.int32]
    tools: npt.NDArray[Any]
    texts: npt.NDArray[Any]
    reliability: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.node_indptr) - 1

    def take(self, numbers: Longs) -> Graphs:
        """Return some of the graphs, in the given order; the tools stay."""
        nodes, edges = (rows_of_groups(indptr, numbers) for indptr in (self.node_indptr, self.edge_indptr))
        lengths = (np.diff(indptr)[numbers] for indptr in (self.node_indptr, self.edge_indptr))
        node_indptr, edge_indptr = map(indptr_of, lengths)
        return replace(
            self, node_indptr=node_indptr, tool=self.tool[nodes], edge_indptr=edge_indptr, edge=self.edge[edges]
        )

    @cached_property
    def sizes(self) -> Longs:
        """Number of nodes per graph [n]."""
        return np.diff(self.node_indptr)

    @cached_property
    def graph_of_node(self) -> Longs:
        """The graph of every node [n_nodes]."""
        return group_of_rows(self.node_indptr)

    @cached_property
    def below_root(self) -> npt.NDArray[np.bool_]:
        """Which nodes are not the root of their graph [n_nodes]."""
        return position_of_rows(self.node_indptr) > 0

    @cached_property
    def tools_of_edges(self) -> npt.NDArray[np.int32]:
        """The tools at both ends of every edge [n_edges, 2]."""
        start = np.repeat(self.node_indptr[:-1], np.diff(self.edge_indptr))
        tools: npt.NDArray[np.int32] = self.tool[start[:, None] + self.edge]
        return tools
