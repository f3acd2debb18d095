"""Features of the item's text and the user's.

Known: the texts of the user and of the items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import NonNegativeFloat, PositiveInt, Unit, checked
from recx.core.protocols import FittedFeature
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.feature.fitted import FittedWith, PerItem
from recx.parts.feature.rows import share_of_largest
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.bm25 import Bm25Weights, bm25_weights
from recx.parts.shared.texts import texts_of


@dataclass(frozen=True)
@checked("feature")
class Bm25:
    """BM25 divided by the largest of the list, comparable across queries of any length; 0 if all are 0.

    Robertson, Zaragoza: The probabilistic relevance framework, 2009, with the idf of Lucene.

    Attributes:
        k1: Term frequency saturation: how long repetitions of a word keep adding to the score.
        b: Length normalisation, from 0 (none) to 1 (full).
        ngrams: Of scripts without spaces, up to how many characters in a row make a word.
        split_names: Whether the parts of names in CamelCase and snake_case are words, beside the whole name.
    """

    k1: NonNegativeFloat = 1.2
    b: Unit = 0.75
    ngrams: PositiveInt = 2
    split_names: bool = True

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, bm25_weights(history, self.k1, self.b, Analyzer(self.ngrams, self.split_names)))

    def values(self, weights: Bm25Weights, candidates: RankedLists, requests: Requests) -> Floats:
        return share_of_largest(weights.scores(candidates), candidates)


@dataclass(frozen=True)
class Length:
    """log(1 + number of characters of the item's text)."""

    def fit(self, history: Interactions) -> FittedFeature:
        texts = texts_of(history.items, "items")
        return PerItem(np.log1p(np.fromiter(map(len, texts), dtype=np.float32, count=len(texts))))
