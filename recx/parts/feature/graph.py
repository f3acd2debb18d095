"""How well an agent system, a graph of tools, fits what is asked and what worked before.

The root of a graph stands for whoever asks; what is said of a graph's tools is said of the nodes below the root. A
right graph of the past is an event of the history. Nothing here looks at what a graph is called or where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveFloat, checked
from recx.core.protocols import Encoder
from recx.core.ragged import indptr_of, sum_of_groups
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.graph_history import graphs_of, leasts, means, past_graphs
from recx.parts.feature.rows import of_rows
from recx.parts.shared.texts import asked, encoded, products_of_pairs, texts_of


@dataclass(frozen=True)
class TextSimilarity:
    """Cosine of the task and the graph's text (tools below the root, size), mapped to [0, 1].

    encoder: makes vectors of texts.
    """

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        tasks, items = asked(requests, history, self.encoder), encoded(history, self.encoder).items
        mapped: Floats = (1 + products_of_pairs(tasks, candidates.list_of_row, items, candidates.item)) / np.float32(2)
        return mapped


@dataclass(frozen=True)
class ToolUsage:
    """Mean over the graph's tools of 0.5 + 0.5 x the tool's share of all uses in the history; 0.5 if unknown."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        graphs, past = graphs_of(history), past_graphs(history)
        below = np.flatnonzero(graphs.below_root)
        share = np.append(past.share, 0)[graphs.tool[below]]
        reliable: Floats = np.float32(0.5) + np.float32(0.5) * means(
            share, indptr_of(np.maximum(0, graphs.sizes - 1)), 0.0
        )
        return reliable[candidates.item]


@dataclass(frozen=True)
class SizeFit:
    """The graph's size n against the task's length: 0.2 + 0.8 f.

    f is 1 / (1 + ln(1 + n)) for a task of fewer than 5 words, min(1, ln(1 + n) / 5) for a longer one.
    """

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        texts = texts_of(history.users, "users")[candidates.user]
        short = of_rows(np.array([len(text.split()) < 5 for text in texts], dtype=bool), candidates)
        log_size = np.log1p(graphs_of(history).sizes[candidates.item])
        fit = np.where(short, 1 / (1 + log_size), np.minimum(1, log_size / 5))
        return (0.2 + 0.8 * fit).astype(np.float32)


@dataclass(frozen=True)
class CoOccurrence:
    """Mean over the graph's edges of log(1 + how often the two tools followed each other in the history's graphs).

    0 for a graph without edges.
    """

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        count = np.log1p(past_graphs(history).edge_count)
        return means(count, graphs_of(history).edge_indptr, 0.0)[candidates.item]


@dataclass(frozen=True)
@checked("feature")
class Transition:
    """Mean, or least, over the graph's edges of log P(second tool | first tool), counted in the history's graphs.

    strength: so many uses are added to those of the first tool, shared out as all uses are. A graph without edges has
    the log of the chance of a tool that was never used.
    """

    strength: PositiveFloat = 5.0
    least: bool = False

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        past = past_graphs(history)
        chance = np.log(past.edge_chance(self.strength))
        nothing = -float(np.log(past.pairs[1].sum() + len(past.graphs.tools) + 1))
        of_graphs = leasts if self.least else means
        return of_graphs(chance, graphs_of(history).edge_indptr, nothing)[candidates.item]


@dataclass(frozen=True)
class Attached:
    """Share of the nodes below the root that something leads to; 1 where there are none."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        graphs = graphs_of(history)
        led_to = np.zeros(len(graphs.tool), dtype=bool)
        led_to[np.repeat(graphs.node_indptr[:-1], np.diff(graphs.edge_indptr)) + graphs.edge[:, 1]] = True
        n = sum_of_groups((led_to & graphs.below_root).astype(np.float32), graphs.node_indptr)
        share = np.where(graphs.sizes > 1, n / np.maximum(1, graphs.sizes - 1), 1)
        return share[candidates.item].astype(np.float32)


@dataclass(frozen=True)
class StructureFit:
    """0.6 min(1, edges / nodes) + 0.4 min(1, |n - m| / (2 max(m, 1))), m the mean size n of the list's other graphs.

    Alone in its list a graph has 0.5 for the second part.
    """

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        graphs = graphs_of(history)
        size = graphs.sizes[candidates.item].astype(np.float64)
        edges = np.diff(graphs.edge_indptr)[candidates.item]
        others = of_rows(candidates.lengths, candidates) - 1
        mean = (of_rows(sum_of_groups(size, candidates.indptr), candidates) - size) / np.maximum(others, 1)
        apart = np.where(others > 0, np.minimum(1, np.abs(size - mean) / (2 * np.maximum(mean, 1))), 0.5)
        return (0.6 * np.minimum(1, edges / np.maximum(size, 1)) + 0.4 * apart).astype(np.float32)
