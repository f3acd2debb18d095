"""Graphs of tools, one an entity: what an agent system is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.ragged import group_of_rows, position_of_rows

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graphs:
    """Grouped like everything else: the nodes of graph ``g`` are ``node_indptr[g]:node_indptr[g + 1]``.

    node_indptr: int64 [n + 1]. tool: int32 [n_nodes], the number of the node's tool in ``tools``, -1 where it
    calls none or the pool lacks it. edge_indptr: int64 [n + 1]. edge: int32 [n_edges, 2], from and to, as places within
    the graph. The first node is the root: whoever asks. tools: ids [n_tools]. texts: what each tool is [n_tools].
    """

    node_indptr: Longs
    tool: npt.NDArray[np.int32]
    edge_indptr: Longs
    edge: npt.NDArray[np.int32]
    tools: npt.NDArray[Any]
    texts: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.node_indptr) - 1

    @cached_property
    def sizes(self) -> Longs:
        """Number of nodes of every graph [n]."""
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
        """The tools that every edge leads from and to [n_edges, 2]."""
        start = np.repeat(self.node_indptr[:-1], np.diff(self.edge_indptr))
        tools: npt.NDArray[np.int32] = self.tool[start[:, None] + self.edge]
        return tools
