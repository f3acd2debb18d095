"""The items nearest to a vector by cosine similarity, by exhaustive comparison or from a FAISS index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks
from recx.core.types import Bools, Floats, Interactions, Longs, RankedLists, Requests, Vectors
from recx.parts.shared.top_k import CELLS, Eligibility, OfItems, best_of_lists, lists_of, top_k


def neighbours(vectors: Vectors, index: str = "Flat", nprobe: int = 16, ef_search: int = 128) -> Neighbours:
    """Return a search over item vectors.

    Args:
        vectors: Vectors of all items [n_items, d], of length 1; an item whose vector is 0 is never found.
        index: A ``faiss.index_factory`` string; ``Flat`` compares with every item.
        nprobe: Number of cells that a search of an IVF index visits.
        ef_search: Size of the candidate queue of a search of an HNSW index.

    Raises:
        InputError: FAISS does not know the index string or cannot train the index on so few items, or the vectors are
            sparse, which only ``Flat`` accepts.
    """
    listed = np.flatnonzero(has_vector(vectors))
    stored = vectors[listed]
    if index != "Flat" and not isinstance(stored, np.ndarray):
        raise InputError(
            f"retriever.index={index!r} needs short, dense vectors, and the encoder makes long, sparse ones: "
            "choose encoder=lsa or retriever.index=Flat"
        )
    built = None if index == "Flat" else _built(np.ascontiguousarray(stored), index, nprobe)
    return Neighbours(stored, listed, built, ef_search if "HNSW" in index else None)


def _built(stored: Floats, name: str, nprobe: int) -> Any:
    import faiss

    try:
        index = faiss.index_factory(stored.shape[1], name, faiss.METRIC_INNER_PRODUCT)
        cells = faiss.try_extract_index_ivf(index)
        if cells is not None:
            cells.cp.min_points_per_centroid = 1  # no warning on stderr about fewer than 39 items per cell
            cells.nprobe = nprobe
        index.train(stored)
        index.add(stored)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"retriever.index={name!r} does not work on {len(stored)} item vectors: {reason}") from error
    return index


def has_vector(vectors: Vectors) -> Bools:
    """Return which of the vectors [n, d], dense or sparse, are not 0 [n]."""
    return np.asarray(abs(vectors).sum(axis=1)).ravel() > 0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A search over item vectors.

    Attributes:
        stored: Vectors of the items that have one [n_listed, d].
        listed: Numbers of those items, increasing [n_listed].
        index: FAISS index over ``stored``; None: every item is compared.
        ef_search: Size of the candidate queue of an HNSW index, else None.
    """

    stored: Vectors
    listed: Longs
    index: Any
    ef_search: int | None

    def lists(self, query: Vectors, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Return the ``k`` nearest eligible items per request; a request whose vector [n_lists, d] is 0 gets none."""
        if self.index is None:
            lists = self._exhaustive(query, history, requests, k, seen)
        else:
            dense = np.ascontiguousarray(query, dtype=np.float32)
            lists = self._search(dense, history, requests, k, seen)
        notes = {
            "items_without_vector": history.n_items - len(self.listed),
            "requests_without_vector": int((~has_vector(query)).sum()),
        }
        return replace(lists, notes=notes)

    def _exhaustive(self, query: Vectors, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Compare with every item, together with the items' eligibility at the request.

        On a news site most items are not yet published at most requests: a flat index would have to be queried for more
        and more neighbours until enough of them are eligible, at several times the cost.
        """
        across = np.ascontiguousarray(self.stored.T) if isinstance(self.stored, np.ndarray) else self.stored.T.tocsr()
        unknown = ~has_vector(query)

        def score(block: Requests) -> OfItems:
            rows = np.searchsorted(requests.user, block.user)
            found = query[rows] @ across
            near = found if isinstance(found, np.ndarray) else found.toarray()
            near[unknown[rows]] = -np.inf
            return OfItems(near, self.listed)

        return top_k(score, history, requests, k, seen)

    def _search(self, query: Floats, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Query for more and more neighbours until every list has ``k`` eligible items, or the index is exhausted."""
        eligibility, n_listed = Eligibility(history, seen), len(self.listed)
        k, fetch = min(k, n_listed), min(2 * k, n_listed)
        item, score = np.empty((len(requests), k), np.int32), np.empty((len(requests), k), np.float32)
        length, pending = np.zeros(len(requests), dtype=np.int64), np.flatnonzero(has_vector(query))
        while len(pending) and fetch:
            for start, stop in track(list(blocks(len(pending), max(1, CELLS // fetch))), "blocks of requests"):
                asked = pending[start:stop]
                near, at = self._nearest(query[asked], fetch)
                near[at < 0] = -np.inf
                rules, borders = eligibility.rules(requests[asked]), np.arange(len(asked) + 1) * fetch
                found = best_of_lists(near.ravel(), borders, self.listed[at].ravel(), history.n_items, rules, k)
                length[asked], item[asked], score[asked] = found
            pending = pending[length[pending] < k] if fetch < n_listed else pending[:0]
            fetch = min(4 * fetch, n_listed)
        return lists_of(requests.user, length, item, score)

    def _nearest(self, query: Floats, fetch: int) -> tuple[Floats, Longs]:
        import faiss

        if self.ef_search is not None:
            faiss.ParameterSpace().set_index_parameter(self.index, "efSearch", max(self.ef_search, fetch))
        near, at = self.index.search(query, fetch)
        return near, at
