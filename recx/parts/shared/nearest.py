"""The items nearest to a vector by cosine similarity, by exhaustive comparison or from a FAISS index.

An index is asked for more items than a list holds, since some may not be shown. A request that comes short is asked
again, for more, and after that compared with every item: no list is short because of the index.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from recx.core.ann_recall import FOUND, NEAREST, SAMPLED, SHORT
from recx.core.errors import InputError
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks, check_numbers, position_of_rows
from recx.core.similar import Similar
from recx.core.types import Bools, Floats, Interactions, Longs, RankedLists, Requests, Vectors
from recx.parts.shared.faiss_index import FaissIndex
from recx.parts.shared.top_k import Eligibility, OfItems, best_of_lists, lists_of, top_k

CELLS = 4_000_000  # proposals of an index at once, 20 bytes each
ONE_BY_ONE = 6  # requests up to which a product each takes less than one of all, for which BLAS copies the vectors
WIDER = 4
"""How many times as many items as the first time a request is asked for that came short."""
ROUNDING = 1e-6
"""Scores that differ by less may be those of equal items."""


@dataclass(frozen=True)
class Search:
    """How the nearest items are searched.

    Attributes:
        index: A ``faiss.index_factory`` string; ``Flat`` compares with every item.
        nprobe: Number of cells that a search of an IVF index visits.
        ef_search: Size of the candidate queue of a search of an HNSW index.
        ef_construction: Size of that queue while the index is built.
        fetch: Number of items that an index is asked for, for each item of a list.
        recall_sample: Number of users, drawn among all, whose lists are compared with exact ones.
        seed: Seed of that draw.
    """

    index: str = "Flat"
    nprobe: int = 16
    ef_search: int = 128
    ef_construction: int = 100
    fetch: int = 2
    recall_sample: int = 1000
    seed: int = 0

    @classmethod
    def of(cls, settings: object) -> Search:
        """Return what the settings of a retriever say under these names."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})


def neighbours(vectors: Vectors, search: Search) -> Neighbours:
    """Return a search over item vectors.

    Args:
        vectors: Vectors of all items [n_items, d], of length 1; an item whose vector is 0 is never found.
        search: How they are searched.

    Raises:
        InputError: FAISS does not know the index string or cannot train the index on so few items, or the vectors are
            sparse, which only ``Flat`` accepts.
    """
    listed = np.flatnonzero(has_vector(vectors))
    stored = vectors if len(listed) == vectors.shape[0] else vectors[listed]
    if search.index == "Flat":
        return Neighbours(stored, listed, None, search)
    if not isinstance(stored, np.ndarray):
        raise InputError(
            f"retriever.index={search.index!r} needs short, dense vectors, and the encoder makes long, sparse ones: "
            "choose encoder=lsa or retriever.index=Flat"
        )
    index = FaissIndex.of(stored, search.index, search.nprobe, search.ef_search, search.ef_construction)
    return Neighbours(index.stored, listed, index, search)


def has_vector(vectors: Vectors) -> Bools:
    """Return which of the vectors [n, d], dense or sparse, are not 0 [n]."""
    if isinstance(vectors, np.ndarray) and vectors.size:
        return np.asarray((vectors.max(axis=1) > 0) | (vectors.min(axis=1) < 0))
    return np.asarray(abs(vectors).sum(axis=1)).ravel() > 0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A search over item vectors.

    Attributes:
        stored: Vectors of the items that have one [n_listed, d].
        listed: Numbers of those items, increasing [n_listed].
        index: Index over ``stored``; None: every item is compared.
        search: How they are searched.
    """

    stored: Vectors
    listed: Longs
    index: FaissIndex | None
    search: Search

    def check_read(self) -> None:
        check_numbers(self.listed, np.iinfo(np.int32).max)
        if len(self.listed) != self.stored.shape[0] or (np.diff(self.listed) <= 0).any():
            raise ValueError("other items than those with a vector")

    def lists(self, query: Vectors, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Return the ``k`` nearest eligible items per request; a request whose vector [n_lists, d] is 0 gets none."""
        if len(self.listed) and self.listed[-1] >= history.n_items:
            raise InputError(
                f"vectors of items that this history of {history.n_items} items does not have: use its own"
            )
        if self.index is None:
            lists = self._exhaustive(query, history, requests, k, seen)
        else:
            dense = np.ascontiguousarray(query, dtype=np.float32)
            lists = self._searched(dense, history, requests, k, seen)
            sample = self._sample(history.n_users, requests)
            exact = self._exhaustive(dense[sample], history, requests[sample], k, seen)
            lists = replace(lists, notes={**lists.notes, **_compared(lists.take(sample), exact)})
        notes = {
            "items_without_vector": history.n_items - len(self.listed),
            "requests_without_vector": int((~has_vector(query)).sum()),
        }
        return replace(lists, notes={**lists.notes, **notes})

    def similar(self, item: int, k: int) -> Similar:
        """Return the items whose vectors are nearest to that of an item, compared with every one; none without one."""
        own = np.flatnonzero(self.listed == item)
        if not len(own):
            return Similar(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
        near = self.stored @ self.stored[own].T
        score = np.asarray(near if isinstance(near, np.ndarray) else near.toarray()).ravel()
        others = self.listed != item
        return Similar.best(self.listed[others], score[others], k)

    def _exhaustive(self, query: Vectors, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Compare with every item, together with the items' eligibility at the request.

        On a news site most items are not yet published at most requests: a flat index would have to be queried for more
        and more neighbours until enough of them are eligible, at several times the cost.
        """
        across = self.stored.T if isinstance(self.stored, np.ndarray) else self.stored.T.tocsr()
        unknown = ~has_vector(query)

        def score(block: Requests) -> OfItems:
            rows = np.searchsorted(requests.user, block.user)
            if 0 < len(rows) <= ONE_BY_ONE and isinstance(across, np.ndarray):
                near = np.concatenate([query[[row]] @ across for row in rows])
            else:
                found = query[rows] @ across
                near = found if isinstance(found, np.ndarray) else found.toarray()
            near[unknown[rows]] = -np.inf
            return OfItems(near, self.listed)

        return top_k(score, history, requests, k, seen)

    def _searched(self, query: Floats, history: Interactions, requests: Requests, k: int, seen: Seen) -> RankedLists:
        """Ask the index, ask for more where fewer than ``k`` items are eligible, and compare the rest with every item.

        How many items are asked for depends on ``k`` alone, so that no request changes what is found for another.
        """
        assert self.index is not None
        eligibility, n_listed = Eligibility(history, seen), len(self.listed)
        k = min(k, n_listed)
        item, score = np.empty((len(requests), k), np.int32), np.empty((len(requests), k), np.float32)
        length, short = np.zeros(len(requests), dtype=np.int64), np.flatnonzero(has_vector(query))
        for wider in (1, WIDER):
            n = self.search.fetch * k * wider
            if not 0 < n < n_listed:
                break
            for start, stop in track(list(blocks(len(short), max(1, CELLS // n))), "blocks of requests"):
                asked = short[start:stop]
                row, near = self.index.propose(query[asked], n, wider)
                rules, borders = eligibility.rules(requests[asked]), np.arange(len(asked) + 1) * n
                found = best_of_lists(near.ravel(), borders, self.listed[row].ravel(), history.n_items, rules, k)
                length[asked], item[asked], score[asked] = found
            short = short[length[short] < k]
        exact = self._exhaustive(query[short], history, requests[short], k, seen)
        place = np.repeat(short, exact.lengths), position_of_rows(exact.indptr)
        length[short], item[place], score[place] = exact.lengths, exact.item, exact.score
        notes = {SHORT: len(short)}
        return replace(lists_of(requests.user, length, item, score), notes=notes)

    def _sample(self, n_users: int, requests: Requests) -> Longs:
        """Return the rows of the requests whose lists are compared with exact ones.

        Which users these are does not depend on the other requests, so that the counts of blocks of requests add up.
        """
        size = min(self.search.recall_sample, n_users)
        drawn = np.random.default_rng(self.search.seed).choice(n_users, size, replace=False, shuffle=False)
        return np.flatnonzero(np.isin(requests.user, drawn))


def _compared(lists: RankedLists, exact: RankedLists) -> dict[str, float]:
    """Count the items that are as near as the last of the exact list, of the same request, and those of the latter."""
    filled = exact.lengths > 0
    last = np.full(exact.n_lists, np.inf)
    last[filled] = exact.score[exact.indptr[1:][filled] - 1]
    near = lists.score >= np.repeat(last, lists.lengths) - ROUNDING
    return {SAMPLED: exact.n_lists, NEAREST: len(exact), FOUND: int(near.sum())}
