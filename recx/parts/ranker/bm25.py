"""Documents ranked by BM25, the baseline of rankers of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recx.core.bounds import NonNegativeFloat, PositiveInt, Unit, checked
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.bm25 import bm25_weights


@dataclass(frozen=True)
@checked("ranker")
class Bm25:
    """Ranks by BM25, without training (see ``recx.parts.shared.bm25``).

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
    gives_probabilities: ClassVar[bool] = False

    def for_users(self, history: Interactions) -> Bm25:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by decreasing BM25 score of the item's text for the user's.

        Raises:
            InputError: The users or the items have no texts.
        """
        weights = bm25_weights(history, self.k1, self.b, Analyzer(self.ngrams, self.split_names))
        return candidates.reorder(weights.scores(candidates))
