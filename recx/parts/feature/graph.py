"""How well an agent system, a graph of tools, fits the task and what worked before.

The root of a graph represents the user; the tools of a graph are those of the nodes below the root. The correct graphs
of the past are the events of the history. No feature depends on the name or the position of a graph.

Known: the task, the graphs of its list, and to those that count the past all of the history, which is why they refuse
data with times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveFloat, checked
from recx.core.protocols import Encoder, FittedFeature
from recx.core.ragged import indptr_of, sum_of_groups
from recx.core.types import Doubles, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.feature.fitted import FittedWith, PerItem
from recx.parts.feature.graph_history import graphs_of, means, minima, past_graphs
from recx.parts.feature.reliability import Source, given
from recx.parts.feature.rows import of_rows
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.products import products_of_pairs
from recx.parts.shared.texts import Encoded, UserTexts, encoded, query_vectors


@dataclass(frozen=True)
class TextSimilarity:
    """Cosine of the task and the graph's text (tools below the root, size), mapped to [0, 1].

    Attributes:
        encoder: Encodes texts as vectors.
    """

    encoder: Encoder

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, encoded(history, self.encoder))

    def values(self, texts: Encoded, candidates: RankedLists, requests: Requests) -> Floats:
        tasks = query_vectors(requests, texts)
        return (1 + products_of_pairs(tasks, candidates.list_of_row, texts.items, candidates.item)) / np.float32(2)


@dataclass(frozen=True)
@checked("feature")
class ToolUsage:
    """How the tools of a graph did before: the mean of their usage, or of their reliability where the data gives it.

    The usage of a tool is 0.5 + 0.5 * its share of all uses in the history, 0.5 if the pool lacks it. The reliability
    is what the data says of it, from 0 to 1; the mean of all tools for one of which it says nothing. A graph without
    tools has 0.5, or the mean of all tools.

    Attributes:
        source: ``usage``, ``reliability``, or ``auto``: the reliability if the data gives it, otherwise the usage.
    """

    source: Source = "auto"

    def fit(self, history: Interactions) -> FittedFeature:
        graphs = graphs_of(history)
        reliability = given(self.source, graphs.reliability)
        below, indptr = np.flatnonzero(graphs.below_root), indptr_of(np.maximum(0, graphs.sizes - 1))
        if reliability is not None:
            unknown = float(reliability.mean())
            return PerItem(means(np.append(reliability, unknown)[graphs.tool[below]], indptr, unknown))
        share = np.append(past_graphs(history).share, 0)[graphs.tool[below]]
        return PerItem(np.float32(0.5) + np.float32(0.5) * means(share, indptr, 0.0))


@dataclass(frozen=True)
class SizeFit:
    """The size n of the graph relative to the length of the task: 0.2 + 0.8 f.

    f is 1 / (1 + ln(1 + n)) for a task of fewer than 5 words, min(1, ln(1 + n) / 5) for a longer one. A character of a
    script without spaces counts as a word.
    """

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, (UserTexts.in_(history), np.log1p(graphs_of(history).sizes)))

    def values(self, known: tuple[UserTexts, Doubles], candidates: RankedLists, requests: Requests) -> Floats:
        words, tasks = Analyzer(ngrams=1, split_names=False), known[0].of(candidates.user)
        short = of_rows(np.array([len(words(task)) < 5 for task in tasks], dtype=bool), candidates)
        log_size = known[1][candidates.item]
        fit = np.where(short, 1 / (1 + log_size), np.minimum(1, log_size / 5))
        return (0.2 + 0.8 * fit).astype(np.float32)


@dataclass(frozen=True)
class CoOccurrence:
    """Mean over the graph's edges of log(1 + count of the edge in the graphs of the history); 0 without edges."""

    def fit(self, history: Interactions) -> FittedFeature:
        count = np.log1p(past_graphs(history).edge_count)
        return PerItem(means(count, graphs_of(history).edge_indptr, 0.0))


@dataclass(frozen=True)
@checked("feature")
class Transition:
    """Mean or minimum over the graph's edges of log P(second tool | first tool), from the graphs of the history.

    A graph without edges has the log probability of a tool that was never used.

    Attributes:
        strength: Weight of the prior, the distribution of all second tools, in edges.
        least: Whether to take the minimum instead of the mean.
    """

    strength: PositiveFloat = 5.0
    least: bool = False

    def fit(self, history: Interactions) -> FittedFeature:
        past = past_graphs(history)
        chance = np.log(past.edge_chance(self.strength))
        nothing = -float(np.log(past.pairs[1].sum() + len(past.graphs.tools) + 1))
        return PerItem((minima if self.least else means)(chance, graphs_of(history).edge_indptr, nothing))


@dataclass(frozen=True)
class Attached:
    """Share of the nodes below the root that have an incoming edge; 1 if there are no such nodes."""

    def fit(self, history: Interactions) -> FittedFeature:
        graphs = graphs_of(history)
        reached = np.zeros(len(graphs.tool), dtype=bool)
        reached[np.repeat(graphs.node_indptr[:-1], np.diff(graphs.edge_indptr)) + graphs.edge[:, 1]] = True
        n = sum_of_groups((reached & graphs.below_root).astype(np.float32), graphs.node_indptr)
        share = np.where(graphs.sizes > 1, n / np.maximum(1, graphs.sizes - 1), 1)
        return PerItem(share.astype(np.float32))


@dataclass(frozen=True)
class StructureFit:
    """0.6 min(1, edges / n) + 0.4 min(1, |n - m| / (2 max(m, 1))), m the mean size n of the list's other graphs.

    For a graph alone in its list, the second term is 0.4 * 0.5.
    """

    def fit(self, history: Interactions) -> FittedFeature:
        graphs = graphs_of(history)
        return FittedWith(self, (graphs.sizes.astype(np.float64), np.diff(graphs.edge_indptr)))

    def values(self, known: tuple[Doubles, Longs], candidates: RankedLists, requests: Requests) -> Floats:
        size, edges = (of_graph[candidates.item] for of_graph in known)
        others = of_rows(candidates.lengths, candidates) - 1
        mean = (of_rows(sum_of_groups(size, candidates.indptr), candidates) - size) / np.maximum(others, 1)
        apart = np.where(others > 0, np.minimum(1, np.abs(size - mean) / (2 * np.maximum(mean, 1))), 0.5)
        return (0.6 * np.minimum(1, edges / np.maximum(size, 1)) + 0.4 * apart).astype(np.float32)
