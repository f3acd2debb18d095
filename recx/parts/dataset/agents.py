"""Agent systems: which graph of tools answers this node of a calling graph?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.calling_graphs import askers_of, read_calling_graphs
from recx.parts.dataset.candidate_files import read_candidates
from recx.parts.dataset.events import at_home
from recx.parts.dataset.synthetic_agents import make_traces
from recx.parts.dataset.tool_pool import ToolPool, file_of
from recx.parts.dataset.trees import Traces, interactions_of

POOL, GRAPHS, READY = "tool_pool.json", "tool_calling_graphs.json", "node_candidates.json"


@dataclass(frozen=True)
class Agents:
    """A user is a node that asks, its items are the graphs that may answer it, and one of these is right.

    path: a folder with ``node_candidates.json`` (and, if there is one, ``graph_selection_results.json``), or else with
        ``tool_pool.json`` and ``tool_calling_graphs.json``, each plain or .gz. None: traces are made up.
    n_candidates: wrong graphs made for every node of a calling graph, by perturbing the right one.
    traces: how many traces to make up.
    """

    path: str | None = None
    n_candidates: PositiveInt = 20
    traces: Annotated[int, Ge(10)] = 600
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return the nodes with their right graphs as events of weight 1 and all their graphs as slates, no times.

        users.table: ``text`` (the node's task), ``request`` (the task of its trace's root; "" for the root itself),
        ``trace``, ``node``. items.table: ``text`` (tools below the root, size); items.graphs; items.names.

        Raises:
            InputError: the folder lacks its files, they cannot be used, or nobody asks.
        """
        return interactions_of(self._traces(), self.seed)

    def _traces(self) -> Traces:
        if self.path is None:
            pool, traces = make_traces(self.traces, self.seed)
            return askers_of(traces, pool, self.n_candidates, self.seed)
        folder = at_home(self.path)
        known, graphs, ready = (file_of(folder, name) for name in (POOL, GRAPHS, READY))
        if ready is not None:
            return read_candidates(folder, ready, None if known is None else ToolPool.read(known))
        if known is None or graphs is None:
            raise InputError(f"dataset.path={self.path}: it must be a folder with {READY}, or with {POOL} and {GRAPHS}")
        pool, notes = ToolPool.read(known), Counter[str]()
        made = askers_of(read_calling_graphs(graphs, pool, notes), pool, self.n_candidates, self.seed)
        return Traces(pool, made.askers, {**notes, **made.notes})
