"""BM25: a score of how well the words of a document match those of a query, normalised by the document's length.

Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the idf of Lucene, which is never negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from recx.core.memo import once_per_input
from recx.core.types import Floats, Interactions, RankedLists
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.texts import products_of_lists, texts_of, word_counter


def bm25(candidates: RankedLists, history: Interactions, k1: float, b: float, analyzer: Analyzer) -> Floats:
    """Return the BM25 score of each row's item for the text of its user.

    Args:
        candidates: The lists to score.
        history: The events, with the texts of users and items.
        k1: Term frequency saturation: how long repetitions of a word keep adding to the score.
        b: Length normalisation, from 0 (none) to 1 (full).
        analyzer: Finds the words of a text.

    Returns:
        The scores [n_rows]; 0 where user and item have no word in common.

    Raises:
        InputError: The users or the items have no texts.
    """
    texts = texts_of(history.users, "users", candidates.user)
    counter, weights = _words(history, k1, b, analyzer)
    if counter is None:
        return np.zeros(len(candidates), dtype=np.float32)
    return products_of_lists(candidates, sparse.csr_array(counter.transform(texts)), weights)


@once_per_input
def _words(history: Interactions, k1: float, b: float, analyzer: Analyzer) -> tuple[Any | None, Any]:
    """Return the word counter and the items' weights [n_items, n_words]; (None, None) if no item has a word."""
    items = texts_of(history.items, "items")
    counter = word_counter(items, analyzer)
    return counter, None if counter is None else _weighted(sparse.csr_array(counter.transform(items)), k1, b)


def _weighted(counts: Any, k1: float, b: float) -> Any:
    n, n_words = counts.shape
    length = np.asarray(counts.sum(axis=1)).ravel()
    n_with = np.bincount(counts.indices, minlength=n_words)
    idf = np.log1p((n - n_with + 0.5) / (n_with + 0.5))
    saturation = k1 * (1 - b + b * length / length.mean())
    weight = (
        idf[counts.indices] * counts.data * (k1 + 1) / (counts.data + np.repeat(saturation, np.diff(counts.indptr)))
    )
    return sparse.csr_array((weight.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
