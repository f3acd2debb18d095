"""Several retrievers as one: their lists are merged, with the score and rank of each source as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from recx.core.bounds import NonNegativeFloat, check
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.precision import Reals, floats_of
from recx.core.progress import track
from recx.core.protocols import FittedRetriever, Retriever, Saveable, retrieves_slates
from recx.core.ragged import blocks, distinct, max_of_groups
from recx.core.types import Doubles, Interactions, RankedLists, Requests

BLOCK = 20_000  # requests merged at once, which bounds the memory for the sources' lists


@dataclass(frozen=True)
class Union:
    """Merges the lists of several retrievers.

    The merged lists have the columns ``<source>_score`` and ``<source>_rank``, NaN if a source lacks the item.

    Attributes:
        sources: Name -> retriever.
        method: ``reciprocal_rank`` sums weight / (smoothing + rank) (Cormack, Clarke and Buettcher 2009);
            ``score`` sums weight * score / largest score of the source's list.
        smoothing: Number added to the ranks by ``reciprocal_rank``.
        weights: Name -> weight of a source; 1 for a source without an entry.
    """

    sources: Mapping[str, Retriever]
    method: Literal["reciprocal_rank", "score"] = "reciprocal_rank"
    smoothing: NonNegativeFloat = 60.0
    weights: Mapping[str, NonNegativeFloat] = field(default_factory=dict)
    gives_probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self, "retriever")
        if not self.sources:
            raise InputError("retriever.sources is empty: name at least one retriever")
        if unknown := set(self.weights) - set(self.sources):
            known = ", ".join(self.sources)
            raise InputError(f"retriever.weights names {sorted(unknown)}, which is not a source: choose from {known}")

    @property
    def retrieves_slates(self) -> bool:
        """Whether all sources retrieve the lists that the data itself offers."""
        return all(retrieves_slates(source) for source in self.sources.values())

    def fit(self, history: Interactions) -> FittedUnion:
        """Fit every source."""
        return FittedUnion(self, {name: source.fit(history) for name, source in self.sources.items()})


@dataclass(frozen=True, eq=False)
class FittedUnion:
    """The fitted retrievers.

    Attributes:
        settings: The settings of the fit.
        sources: Name -> fitted retriever.
    """

    settings: Union
    sources: Mapping[str, FittedRetriever]

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the ``k`` best of the items of all sources, each of which retrieves ``k``."""
        borders = list(blocks(len(requests), BLOCK)) or [(0, 0)]
        merged = (self._merge(history, requests[a:b], k) for a, b in track(borders, "blocks of requests merged"))
        return RankedLists.concat(list(merged))

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
        """Save each source that can be saved into a folder of its name."""
        for name, source in self.sources.items():
            if isinstance(source, Saveable):
                source.save(folder / name)

    def _merge(self, history: Interactions, block: Requests, k: int) -> RankedLists:
        lists = {name: source.retrieve(history, block, k) for name, source in self.sources.items()}
        keys = {name: found.list_of_row * history.n_items + found.item for name, found in lists.items()}
        pairs = distinct(np.concatenate(list(keys.values())))
        score = np.zeros(len(pairs), dtype=np.float64)
        columns: dict[str, Reals] = {}
        for name, found in lists.items():
            at = np.searchsorted(pairs, keys[name])
            score[at] += self._worth(found, self.settings.weights.get(name, 1.0))
            score_there = floats_of(found.score, f"scores of {name}")
            for kind, values in (("score", score_there), ("rank", found.rank.astype(np.float32))):
                columns[f"{name}_{kind}"] = np.full(len(pairs), np.nan, dtype=values.dtype)
                columns[f"{name}_{kind}"][at] = values
        merged = RankedLists(
            user=block.user,
            indptr=np.searchsorted(pairs, np.arange(len(block) + 1) * history.n_items),
            item=(pairs % max(1, history.n_items)).astype(np.int32),
            score=score,
            columns=columns,
            notes={f"{name}_{note}": count for name, found in lists.items() for note, count in found.notes.items()},
        )
        best = merged.reorder(score).top(k)
        if self.settings.method == "score":
            return best
        return replace(best, score=best.score.astype(np.float32))  # in the order of the exact sums

    def _worth(self, found: RankedLists, weight: float) -> Doubles:
        if self.settings.method == "reciprocal_rank":
            # Sums of multiples of 2^-48 are exact: the same ranks from other sources give an equal sum.
            return np.asarray(np.rint(2.0**48 * weight / (self.settings.smoothing + found.rank)) / 2.0**48)
        largest = np.repeat(max_of_groups(np.abs(found.score), found.indptr), found.lengths)
        return np.asarray(weight * (found.score / np.maximum(largest, 1e-12, dtype=np.float64)))
