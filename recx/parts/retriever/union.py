"""Several retrievers as one: their lists are merged, and each one's score and rank go along for the ranker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from recx.core.bounds import NonNegativeFloat, check
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.progress import track
from recx.core.protocols import FittedRetriever, Retriever, Saveable
from recx.core.ragged import blocks, distinct, max_of_groups
from recx.core.types import Floats, Interactions, Longs, RankedLists, Requests

BLOCK = 20_000  # requests merged at once, so that the sources' lists of all users never lie in memory together


@dataclass(frozen=True)
class Union:
    """Merges the lists of ``sources`` (name -> retriever).

    method: ``reciprocal_rank`` adds up weight / (smoothing + rank) (Cormack, Clarke and Buettcher 2009);
        ``score`` adds up weight * score / largest score of that source's list.
    weights: name -> weight of a source; 1 for a source that is not named.
    The merged lists carry the columns ``<source>_score`` and ``<source>_rank``, NaN where a source lacks the item.
    """

    sources: Mapping[str, Retriever]
    method: Literal["reciprocal_rank", "score"] = "reciprocal_rank"
    smoothing: NonNegativeFloat = 60.0
    weights: Mapping[str, NonNegativeFloat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self, "retriever")
        if not self.sources:
            raise InputError("retriever.sources is empty: name at least one retriever")
        unknown = set(self.weights) - set(self.sources)
        if unknown:
            known = ", ".join(self.sources)
            raise InputError(f"retriever.weights names {sorted(unknown)}, which is no source: choose from {known}")

    def fit(self, history: Interactions) -> FittedUnion:
        """Fit every source."""
        return FittedUnion(self, {name: source.fit(history) for name, source in self.sources.items()})


@dataclass(frozen=True, eq=False)
class FittedUnion:
    """sources: name -> fitted retriever."""

    settings: Union
    sources: Mapping[str, FittedRetriever]

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the ``k`` best of what the sources retrieved, ``k`` asked of each."""
        borders = list(blocks(len(requests), BLOCK))
        found = [
            self._merge(history, requests[start:stop], k) for start, stop in track(borders, "blocks of requests merged")
        ]
        return RankedLists.concat(found or [self._merge(history, requests, k)])

    @property
    def summary(self) -> FitSummary:
        """The curves of the sources, each named ``<source>/<figure>``."""
        curves = {
            f"{name}/{figure.rpartition('/')[2]}": values
            for name, source in self.sources.items()
            for figure, values in summary_of(source).curves.items()
        }
        return FitSummary(curves=curves)

    def save(self, folder: Path) -> None:
        """Write each source that is worth keeping into a folder of its name."""
        for name, source in self.sources.items():
            if isinstance(source, Saveable):
                source.save(folder / name)

    def _merge(self, history: Interactions, block: Requests, k: int) -> RankedLists:
        lists = {name: source.retrieve(history, block, k) for name, source in self.sources.items()}
        keys = {name: found.list_of_row * history.n_items + found.item for name, found in lists.items()}
        pairs = distinct(np.concatenate(list(keys.values())))
        score = np.zeros(len(pairs), dtype=np.float64)
        columns: dict[str, Floats] = {}
        for name, found in lists.items():
            at = np.searchsorted(pairs, keys[name])
            score[at] += self.settings.weights.get(name, 1.0) * self._worth(found)
            for kind, values in (("score", found.score), ("rank", found.rank)):
                columns[f"{name}_{kind}"] = np.full(len(pairs), np.nan, dtype=np.float32)
                columns[f"{name}_{kind}"][at] = values
        indptr: Longs = np.searchsorted(pairs, np.arange(len(block) + 1) * history.n_items)
        merged = RankedLists(
            user=block.user,
            indptr=indptr,
            item=(pairs % max(1, history.n_items)).astype(np.int32),
            score=score.astype(np.float32),
            columns=columns,
            notes={f"{name}_{note}": count for name, found in lists.items() for note, count in found.notes.items()},
        )
        return merged.reorder(score).top(k)

    def _worth(self, found: RankedLists) -> Floats:
        if self.settings.method == "reciprocal_rank":
            return np.asarray(1 / (self.settings.smoothing + found.rank), dtype=np.float32)
        largest = np.repeat(max_of_groups(np.abs(found.score), found.indptr), found.lengths)
        return np.asarray(found.score / np.maximum(largest, 1e-12), dtype=np.float32)
