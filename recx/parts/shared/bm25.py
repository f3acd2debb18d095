"""BM25: a score of how well the words of a document match those of a query, normalised by the document's length.

Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the idf of Lucene, which is never negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.memo import once_per_input
from recx.core.types import Floats, Interactions, RankedLists, Vectors
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.products import products_of_lists
from recx.parts.shared.texts import UserTexts, WordCounter, texts_of, word_counter


@dataclass(frozen=True, eq=False)
class Bm25Weights:
    """The weights of the items' words.

    Attributes:
        counter: Counts the words of the items.
        weights: The weight of each word of each item, CSR [n_items, n_words].
        users: The users' texts.
    """

    counter: WordCounter
    weights: Vectors
    users: UserTexts

    def scores(self, candidates: RankedLists) -> Floats:
        """Return the BM25 score of each row's item for the text of its user [n_rows]; 0 without a common word."""
        texts = self.counter.counts(self.users.of(candidates.user))
        return products_of_lists(candidates, texts, self.weights)


@once_per_input
def bm25_weights(history: Interactions, k1: float, b: float, analyzer: Analyzer) -> Bm25Weights:
    """Return the weights of the words of a history's items.

    Args:
        history: The events, with the texts of users and items.
        k1: Term frequency saturation: how long repetitions of a word keep adding to the score.
        b: Length normalisation, from 0 (none) to 1 (full).
        analyzer: Finds the words of a text.

    Raises:
        InputError: The users or the items have no texts.
    """
    users, items = UserTexts.in_(history), texts_of(history.items, "items")
    counter = word_counter(items, analyzer)
    return Bm25Weights(counter, _weighted(counter.counts(items), k1, b), users)


def _weighted(counts: Any, k1: float, b: float) -> Any:
    n, n_words = counts.shape
    if not n_words:
        return counts
    length = np.asarray(counts.sum(axis=1)).ravel()
    n_with = np.bincount(counts.indices, minlength=n_words)
    idf = np.log1p((n - n_with + 0.5) / (n_with + 0.5))
    saturation = k1 * (1 - b + b * length / length.mean())
    weight = (
        idf[counts.indices] * counts.data * (k1 + 1) / (counts.data + np.repeat(saturation, np.diff(counts.indptr)))
    )
    return sparse.csr_array((weight.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
