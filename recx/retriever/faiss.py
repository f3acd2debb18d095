"""Nearest items to the user by embedding, found by a FAISS index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recx.clicks import last_clicks
from recx.errors import InputError
from recx.protocols import Seen
from recx.ragged import blocks, indptr_of
from recx.select import CELLS, OfItems, Shelf, best, top_of_table
from recx.types import Bools, Floats, Interactions, Longs, RankedLists, Requests
from recx.vectors import item_vectors


@dataclass(frozen=True)
class Faiss:
    """The user is the recency-weighted mean of the vectors of the last clicks; items come by cosine.

    index: a ``faiss.index_factory`` string, such as ``Flat`` (exact), ``HNSW32`` or ``IVF64,Flat``.
    nprobe, ef_search: how much of an IVF or HNSW index a search visits.
    last, recency: how many last clicks make the user, and how much each older one counts of the next.
    factors, distance: size of the vectors learnt from co-clicks at most ``distance`` places apart, for items that have
    no embedding.
    """

    index: str = "Flat"
    nprobe: int = 16
    ef_search: int = 128
    last: int = 10
    recency: float = 0.7
    factors: int = 64
    distance: int = 5
    seed: int = 0
    seen: Seen = "drop"

    def __post_init__(self) -> None:
        for key in ("nprobe", "ef_search", "last", "factors", "distance"):
            if getattr(self, key) < 1:
                raise InputError(f"retriever.{key}={getattr(self, key)}: it must be 1 or more")
        if not 0 < self.recency <= 1:
            raise InputError(f"retriever.recency={self.recency}: it must lie above 0 and be at most 1")

    def fit(self, history: Interactions) -> FittedFaiss:
        """Build the index over all items that have a vector.

        Raises:
            InputError: FAISS does not know the index string, or cannot train it on so few items.
        """
        import faiss

        vectors = item_vectors(history, self.factors, self.distance, self.seed)
        listed = np.flatnonzero(np.abs(vectors.vector).sum(axis=1) > 0)
        stored = np.ascontiguousarray(vectors.vector[listed])
        try:
            index = faiss.index_factory(stored.shape[1], self.index, faiss.METRIC_INNER_PRODUCT)
            cells = faiss.try_extract_index_ivf(index)
            if cells is not None:
                cells.cp.min_points_per_centroid = 1  # fewer than 39 items a cell are no reason to write to stderr
            index.train(stored)
            index.add(stored)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise InputError(
                f"retriever.index={self.index!r} does not work on {len(listed)} item vectors: {reason}"
            ) from error
        notes: dict[str, float] = {
            "items_with_learnt_vector": int(vectors.learnt.sum()),
            "items_without_vector": history.n_items - len(listed),
        }
        return FittedFaiss(self, vectors.vector, listed, index, notes)


@dataclass(frozen=True, eq=False)
class FittedFaiss:
    """vector: float32 [n_items, d]. listed: the items in the index, in its order [n_listed]."""

    settings: Faiss
    vector: Floats
    listed: Longs
    index: Any
    notes: dict[str, float]

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the nearest items that may be shown; a user none of whose clicks has a vector gets an empty list."""
        query = self._users(history, requests)
        unknown = np.abs(query).sum(axis=1) == 0
        if self.settings.index == "Flat":
            lists = self._of_all(query, unknown, history, requests, k)
        else:
            lists = self._of_neighbours(query, Shelf(history, self.settings.seen), requests, k)
        return replace(lists, notes={**self.notes, "requests_without_vector": int(unknown.sum())})

    def _of_all(self, query: Floats, unknown: Bools, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Compare with every item, as a flat index does, but in one go with what may be shown at the request.

        Most items of a news site are not yet published at most requests: of a flat index one would ask for ever more
        neighbours until enough of them may be shown, at several times the cost.
        """
        stored = np.ascontiguousarray(self.vector[self.listed].T)

        def score(block: Requests) -> OfItems:
            rows = np.searchsorted(requests.user, block.user)
            near: Floats = query[rows] @ stored
            near[unknown[rows]] = -np.inf
            return OfItems(near, self.listed)

        return best(score, history, requests, k, self.settings.seen)

    def _of_neighbours(self, query: Floats, shelf: Shelf, requests: Requests, k: int) -> RankedLists:
        found = [
            self._search(query[start:stop], shelf, requests[start:stop], k)
            for start, stop in blocks(len(requests), max(1, CELLS // max(1, len(self.vector))))
        ]
        return RankedLists(
            user=requests.user,
            indptr=indptr_of(np.concatenate([part[0] for part in found] or [np.zeros(0, np.int64)])),
            item=np.concatenate([part[1] for part in found] or [np.zeros(0, np.int32)]),
            score=np.concatenate([part[2] for part in found] or [np.zeros(0, np.float32)]),
        )

    def _search(self, query: Floats, shelf: Shelf, block: Requests, k: int) -> tuple[Longs, Any, Floats]:
        """Ask for more and more neighbours until every user has ``k`` that may be shown, or all were asked for.

        Return (lengths, items, scores).
        """
        hidden = shelf.hidden(block)
        wide = min(len(self.listed), 2 * k)
        score = np.full((len(block), wide), -np.inf, dtype=np.float32)
        item = np.zeros((len(block), wide), dtype=np.int32)
        open_lines = np.flatnonzero(np.abs(query).sum(axis=1) > 0)
        fetch = wide
        while len(open_lines) and fetch:
            near, at = self._neighbours(query[open_lines], fetch)
            items = self.listed[at]
            near[(at < 0) | hidden[open_lines[:, None], items]] = -np.inf
            enough = (near > -np.inf).sum(axis=1) >= min(k, wide)
            done = enough if fetch < len(self.listed) else np.ones(len(open_lines), dtype=bool)
            score[open_lines[done]], item[open_lines[done]] = _shown_first(near[done], items[done], wide)
            open_lines = open_lines[~done]
            fetch = min(len(self.listed), 4 * fetch)
        counts, column, value = top_of_table(score, k)
        return counts, item[np.repeat(np.arange(len(block)), counts), column], value

    def _neighbours(self, query: Floats, fetch: int) -> tuple[Floats, Longs]:
        import faiss

        parameters = faiss.ParameterSpace()
        if "IVF" in self.settings.index:
            parameters.set_index_parameter(self.index, "nprobe", self.settings.nprobe)
        if "HNSW" in self.settings.index:
            parameters.set_index_parameter(self.index, "efSearch", max(self.settings.ef_search, fetch))
        near, at = self.index.search(query, fetch)
        return near, at

    def _users(self, history: Interactions, block: Requests) -> Floats:
        query = last_clicks(history, block, self.settings.last, self.settings.recency) @ self.vector
        query /= np.maximum(np.linalg.norm(query, axis=1, keepdims=True), 1e-12)
        return np.ascontiguousarray(query, dtype=np.float32)


def _shown_first(near: Floats, items: Longs, wide: int) -> tuple[Floats, Longs]:
    """Return the nearest ``wide`` columns that may be shown (not -inf) by item number, so that ties go by it."""
    shown = np.argsort(near == -np.inf, axis=1, kind="stable")[:, :wide]
    by_item = np.argsort(np.take_along_axis(items, shown, axis=1), axis=1, kind="stable")
    order = np.take_along_axis(shown, by_item, axis=1)
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(items, order, axis=1)
