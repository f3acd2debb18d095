"""Graphs of tools, one an entity: what an agent system is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Graphs:
    """Grouped like everything else: the nodes of graph ``g`` are ``node_indptr[g]:node_indptr[g + 1]``.

    node_indptr: int64 [n + 1]. tool: int32 [n_nodes], the number of the node's tool in ``tools``, -1 where the pool
    does not have it. edge_indptr: int64 [n + 1]. edge: int32 [n_edges, 2], from and to, as places within the graph. The
    first node is the root. tools: their ids [n_tools].
    """

    node_indptr: npt.NDArray[np.int64]
    tool: npt.NDArray[np.int32]
    edge_indptr: npt.NDArray[np.int64]
    edge: npt.NDArray[np.int32]
    tools: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.node_indptr) - 1
