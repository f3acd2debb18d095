"""The items nearest to a vector by cosine: compared with every item, or found by a FAISS index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recx.core.bounds import PositiveInt, checked
from recx.core.errors import InputError
from recx.core.ragged import blocks, indptr_of
from recx.core.types import Bools, Floats, Longs, RankedLists, Requests, Vectors
from recx.parts.shared.top_k import CELLS, Eligibility, OfItems, top_k, top_of_table

EXACT = "Flat"  # the index that compares with every item


@dataclass(frozen=True)
@checked("retriever")
class Search:
    """index: a ``faiss.index_factory`` string. nprobe, ef_search: how much of an IVF or HNSW index a search visits."""

    index: str = EXACT
    nprobe: PositiveInt = 16
    ef_search: PositiveInt = 128

    def over(self, vectors: Vectors) -> Neighbours:
        """Return what finds the nearest of the vectors [n_items, d], of length 1, or 0 for what is never found.

        Raises:
            InputError: FAISS does not know the index string, or cannot train it on so few items, or the vectors are
                sparse, which no index but ``Flat`` takes.
        """
        listed = np.flatnonzero(has_vector(vectors))
        stored = vectors[listed]
        if self.index == EXACT:
            return Neighbours(self, stored, listed, None)
        if not isinstance(stored, np.ndarray):
            raise InputError(
                f"retriever.index={self.index!r} needs short, dense vectors, and the encoder makes long, sparse ones: "
                "choose encoder=lsa or retriever.index=Flat"
            )
        return Neighbours(self, stored, listed, self._built(np.ascontiguousarray(stored)))

    def _built(self, stored: Floats) -> Any:
        import faiss

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
                f"retriever.index={self.index!r} does not work on {len(stored)} item vectors: {reason}"
            ) from error
        return index


def has_vector(vectors: Vectors) -> Bools:
    """Return which of the vectors [n, d], dense or sparse, are not 0 [n]."""
    found: Bools = np.asarray(abs(vectors).sum(axis=1)).ravel() > 0
    return found


@dataclass(frozen=True, eq=False)
class Neighbours:
    """stored: the vectors of the items that have one [n_listed, d]. listed: those items' numbers, rising [n_listed].

    index: of FAISS over them, in that order; None: every item is compared.
    """

    settings: Search
    stored: Vectors
    listed: Longs
    index: Any

    def lists(self, query: Vectors, shelf: Eligibility, requests: Requests, k: int) -> RankedLists:
        """Return the ``k`` nearest items that may be shown; a request whose vector [n_lists, d] is 0 gets none."""
        if self.index is None:
            return self._of_all(query, shelf, requests, k)
        return self._of_neighbours(np.ascontiguousarray(query, dtype=np.float32), shelf, requests, k)

    def _of_all(self, query: Vectors, shelf: Eligibility, requests: Requests, k: int) -> RankedLists:
        """Compare with every item, as a flat index does, but in one go with what may be shown at the request.

        Most items of a news site are not yet published at most requests: of a flat index one would ask for ever more
        neighbours until enough of them may be shown, at several times the cost.
        """
        across = np.ascontiguousarray(self.stored.T) if isinstance(self.stored, np.ndarray) else self.stored.T.tocsr()
        unknown = ~has_vector(query)

        def score(block: Requests) -> OfItems:
            rows = np.searchsorted(requests.user, block.user)
            found = query[rows] @ across
            near: Floats = found if isinstance(found, np.ndarray) else found.toarray()
            near[unknown[rows]] = -np.inf
            return OfItems(near, self.listed)

        return top_k(score, shelf.history, requests, k, shelf.seen)

    def _of_neighbours(self, query: Floats, shelf: Eligibility, requests: Requests, k: int) -> RankedLists:
        found = [
            self._search(query[start:stop], shelf, requests[start:stop], k)
            for start, stop in blocks(len(requests), max(1, CELLS // max(1, shelf.history.n_items)))
        ]
        return RankedLists.concat(found)

    def _search(self, query: Floats, shelf: Eligibility, block: Requests, k: int) -> RankedLists:
        """Ask for more and more neighbours until every user has ``k`` that may be shown, or all were asked for."""
        hidden = shelf.hidden(block)
        wide = min(len(self.listed), 2 * k)
        score = np.full((len(block), wide), -np.inf, dtype=np.float32)
        item = np.zeros((len(block), wide), dtype=np.int32)
        open_lines = np.flatnonzero(has_vector(query))
        fetch = wide
        while len(open_lines) and fetch:
            near, at = self._nearest(query[open_lines], fetch)
            items = self.listed[at]
            near[(at < 0) | hidden[open_lines[:, None], items]] = -np.inf
            enough = (near > -np.inf).sum(axis=1) >= min(k, wide)
            done = enough if fetch < len(self.listed) else np.ones(len(open_lines), dtype=bool)
            score[open_lines[done]], item[open_lines[done]] = _shown_first(near[done], items[done], wide)
            open_lines = open_lines[~done]
            fetch = min(len(self.listed), 4 * fetch)
        counts, column, value = top_of_table(score, k)
        return RankedLists(block.user, indptr_of(counts), item[np.repeat(np.arange(len(block)), counts), column], value)

    def _nearest(self, query: Floats, fetch: int) -> tuple[Floats, Longs]:
        import faiss

        parameters = faiss.ParameterSpace()
        if "IVF" in self.settings.index:
            parameters.set_index_parameter(self.index, "nprobe", self.settings.nprobe)
        if "HNSW" in self.settings.index:
            parameters.set_index_parameter(self.index, "efSearch", max(self.settings.ef_search, fetch))
        near, at = self.index.search(query, fetch)
        return near, at


def _shown_first(near: Floats, items: Longs, wide: int) -> tuple[Floats, Longs]:
    """Return the nearest ``wide`` columns that may be shown (not -inf) by item number, so that ties go by it."""
    shown = np.argsort(near == -np.inf, axis=1, kind="stable")[:, :wide]
    by_item = np.argsort(np.take_along_axis(items, shown, axis=1), axis=1, kind="stable")
    order = np.take_along_axis(shown, by_item, axis=1)
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(items, order, axis=1)
