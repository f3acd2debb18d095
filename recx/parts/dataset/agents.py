"""Agent systems: which graph of tools answers this node of a calling graph?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, checked
from recx.core.errors import InputError
from recx.core.nouns import Nouns
from recx.core.types import Interactions
from recx.parts.dataset.calling_graphs import queries_of, read_calling_graphs
from recx.parts.dataset.candidate_files import FOUND, read_candidates
from recx.parts.dataset.events import made_up
from recx.parts.dataset.files import expand_home, file_in, require_folder
from recx.parts.dataset.synthetic_agents import make_traces
from recx.parts.dataset.tool_pool import ToolPool, refuse_made_up
from recx.parts.dataset.trees import Traces, interactions_of

POOL, GRAPHS, READY = "tool_pool.json", "tool_calling_graphs.json", "node_candidates.json"


@dataclass(frozen=True)
@checked("dataset")
class Agents:
    """Nodes of calling graphs, each with the graphs of tools that may answer it.

    A user is a node, its items are its candidate graphs, and one of these is right.

    Attributes:
        path: a folder with ``node_candidates.json`` (and optionally ``graph_selection_results.json``), or with
            ``tool_pool.json`` and ``tool_calling_graphs.json``, each plain or .gz. None: traces are generated.
        n_candidates: number of wrong graphs for every node of a calling graph, made by perturbing the right one.
        traces: number of traces to generate.
        seed: seed of the generated traces and wrong graphs, and of the numbering of the graphs.
        reliability: key of a tool in ``tool_pool.json`` that says how reliable it is, from 0 to 1; it is then
            ``phi_hist``. None: it is not read.
    """

    nouns: ClassVar = Nouns("task", "tasks", "graph", "graphs")
    reads: ClassVar = (POOL, GRAPHS, READY, FOUND)
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    n_candidates: PositiveInt = 20
    traces: Annotated[int, Ge(10)] = 600
    seed: Seed = 0
    reliability: str | None = None

    def load(self) -> Interactions:
        """Return the nodes with their right graphs as events of weight 1 and all their graphs as slates, no times.

        users.table: ``text`` (the node's task), ``request`` (the task of its trace's root; "" for the root itself),
        ``trace``, ``node``. items.table: ``text`` (tools below the root, size); items.graphs; items.names.

        Raises:
            InputError: files are missing or cannot be used, or no node has a right graph.
        """
        events = interactions_of(self._traces(), self.seed)
        return made_up(events) if self.path is None else events

    def _traces(self) -> Traces:
        if self.path is None:
            refuse_made_up(self.reliability)
            pool, traces = make_traces(self.traces, self.seed)
            return queries_of(traces, pool, self.n_candidates, self.seed)
        folder = require_folder(expand_home(self.path))
        known, graphs, ready = (file_in(folder, name) for name in (POOL, GRAPHS, READY))
        if known is None and self.reliability is not None:
            raise InputError(
                f"dataset.reliability={self.reliability}: {folder} has no {POOL}, whose tools would say it"
            )
        if ready is not None:
            return read_candidates(folder, ready, None if known is None else ToolPool.read(known, self.reliability))
        if known is None or graphs is None:
            raise InputError(f"dataset.path={self.path}: it must be a folder with {READY}, or with {POOL} and {GRAPHS}")
        pool, notes = ToolPool.read(known, self.reliability), Counter[str]()
        made = queries_of(read_calling_graphs(graphs, pool, notes), pool, self.n_candidates, self.seed)
        return Traces(pool, made.queries, {**pool.notes, **notes, **made.notes})
