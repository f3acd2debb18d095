"""Several retrievers as one: their lists are merged, with the score and rank of each source as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from recx.core.bounds import NonNegativeFloat, check
from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary, summary_of
from recx.core.per_user import for_users
from recx.core.precision import Reals, floats_of
from recx.core.progress import track
from recx.core.protocols import FittedRetriever, Retriever, retrieves_slates
from recx.core.ragged import blocks, indptr_of, max_of_groups
from recx.core.similar import FindsSimilar, Similar
from recx.core.stored_lists import concat
from recx.core.system.threads import side_by_side
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.allowed import retrieved
from recx.parts.shared.heap import push, sort_heap

BLOCK = 20_000  # requests asked for at once, which bounds the memory for the sources' lists
PIECE = 2_500  # of these, requests merged by one thread


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
        if len(borders) == 1 and len(requests) <= PIECE:
            return self._merge(history, requests, k)[0]
        merged = (self._merge(history, requests[a:b], k) for a, b in track(borders, "blocks of requests merged"))
        return concat(part for parts in merged for part in parts)

    def for_users(self, history: Interactions) -> FittedUnion:
        return replace(self, sources={name: for_users(source, history) for name, source in self.sources.items()})

    def similar(self, item: int, k: int) -> Similar:
        """Return what the first source says that knows items near this one."""
        found = Similar(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
        for name, source in self.sources.items():
            if isinstance(source, FindsSimilar) and not len(found.item):
                found = replace(source.similar(item, k), by=name)
        return found

    @property
    def summary(self) -> FitSummary:
        """The curves of the sources, each named ``<source>/<figure>``."""
        curves = {
            f"{name}/{figure.rpartition('/')[2]}": values
            for name, source in self.sources.items()
            for figure, values in summary_of(source).curves.items()
        }
        return FitSummary(curves=curves)

    def _merge(self, history: Interactions, block: Requests, k: int) -> list[RankedLists]:
        """Return the merged lists of a block of requests, piece after piece."""
        lists = {
            name: retrieved(source, history, block, k, f"the source {name}") for name, source in self.sources.items()
        }

        def merged(piece: tuple[int, int]) -> RankedLists:
            some = slice(*piece)
            return self._merged(block[some], {name: found[some] for name, found in lists.items()}, history.n_items, k)

        parts = side_by_side(merged, list(blocks(len(block), PIECE)) or [(0, 0)])
        notes = {f"{name}_{note}": count for name, found in lists.items() for note, count in found.notes.items()}
        return [replace(parts[0], notes=notes), *parts[1:]]  # once, since counts of requests add up

    def _merged(self, piece: Requests, lists: Mapping[str, RankedLists], n_items: int, k: int) -> RankedLists:
        """Return the merged lists of a piece of requests."""
        sources, rank = list(lists.values()), {name: found.rank for name, found in lists.items()}
        starts = indptr_of(np.array([len(found) for found in sources]))
        borders = np.stack([found.indptr + start for found, start in zip(sources, starts, strict=False)])
        together = np.diff(borders).sum(axis=0)
        kept = int(np.minimum(together, k).sum())
        indptr = np.zeros(len(together) + 1, dtype=np.int64)
        item, score = np.empty(kept, dtype=np.int32), np.empty(kept, dtype=np.float64)
        row = np.empty((len(sources), kept), dtype=np.int64)
        _merge_rows(
            np.concatenate([found.item.astype(np.int32, copy=False) for found in sources]),
            np.concatenate([self._worth(name, found, rank[name]) for name, found in lists.items()]),
            borders,
            k,
            np.full(n_items, -1, dtype=np.int32),
            int(together.max(initial=0)),
            indptr,
            item,
            score,
            row,
        )
        n = int(indptr[-1])
        exact = self.settings.method == "score"  # else float32, in the order of the exact sums
        score = score[:n].astype(np.float64 if exact else np.float32, copy=False)
        return RankedLists(piece.user, indptr, item[:n], score, _columns(lists, rank, row[:, :n]))

    def _worth(self, name: str, found: RankedLists, rank: Longs) -> Doubles:
        weight = self.settings.weights.get(name, 1.0)
        if self.settings.method == "reciprocal_rank":
            # Sums of multiples of 2^-48 are exact: the same ranks from other sources give an equal sum.
            return np.asarray(np.rint(2.0**48 * weight / (self.settings.smoothing + rank)) / 2.0**48)
        largest = np.repeat(max_of_groups(np.abs(found.score), found.indptr), found.lengths)
        return np.asarray(weight * (found.score / np.maximum(largest, 1e-12, dtype=np.float64)))


def _columns(lists: Mapping[str, RankedLists], rank: Mapping[str, Longs], row: Longs) -> dict[str, Reals]:
    """Return the score and rank in every source of the items at its rows [n_sources, n], NaN where the row is -1."""
    columns: dict[str, Reals] = {}
    for (name, found), rows in zip(lists.items(), row, strict=True):
        score = floats_of(found.score, f"scores of {name}")
        for kind, values in (("score", score), ("rank", rank[name].astype(np.float32))):
            with_nan = np.empty(len(values) + 1, dtype=values.dtype)
            with_nan[:-1], with_nan[-1] = values, np.nan
            columns[f"{name}_{kind}"] = with_nan[rows]
    return columns


@compiled("place", "indptr", "item", "score", "row")
def _merge_rows(
    found: Ints,
    worth: Doubles,
    borders: Longs,
    k: int,
    place: Ints,
    longest: int,
    indptr: Longs,
    item: Ints,
    score: Doubles,
    row: Longs,
) -> None:
    """Add up what every item is worth in each request's lists, and write the ``k`` best.

    Args:
        found: The items of all sources' lists, source after source [n].
        worth: What each of them is worth [n].
        borders: Borders of every source's lists in these [n_sources, n_lists + 1].
        k: Length of a merged list at most.
        place: -1 for every item of the catalogue, and again at the end [n_items].
        longest: The most rows of one request, all sources together.
        indptr: Takes the borders of the merged lists [n_lists + 1].
        item: Takes the items.
        score: Takes the sums, added in the order of the sources.
        row: Takes the row of each item among those of every source, -1 where it is not [n_sources, ...].
    """
    n_sources = borders.shape[0]
    shown, total = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.float64)
    shown_at = np.empty((longest, n_sources), dtype=np.int64)
    written = 0
    for request in range(borders.shape[1] - 1):
        size = 0
        for source in range(n_sources):
            for r in range(borders[source, request], borders[source, request + 1]):
                number = found[r]
                at = place[number]
                if at < 0:
                    at = place[number] = size
                    shown[at], total[at] = number, 0.0
                    shown_at[at, :] = -1
                    size += 1
                total[at] += worth[r]
                shown_at[at, source] = r - borders[source, 0]
        best_score, best_item, n_best = score[written:], item[written:], 0
        for at in range(size):
            n_best = push(best_score, best_item, n_best, k, total[at], shown[at])
        sort_heap(best_score, best_item, n_best)
        for x in range(n_best):
            at = place[best_item[x]]
            for source in range(n_sources):
                row[source, written + x] = shown_at[at, source]
        for at in range(size):
            place[shown[at]] = -1
        written += n_best
        indptr[request + 1] = written
