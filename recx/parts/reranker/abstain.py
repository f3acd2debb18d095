"""More or less willing to abstain: what the best item must be above the one that stands for no answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.abstaining import abstains
from recx.core.bounds import checked
from recx.core.errors import InputError
from recx.core.types import Interactions, RankedLists, Requests


@dataclass(frozen=True)
@checked("reranker")
class Abstain:
    """Adds ``confidence`` to the score of the item that stands for no answer, so that surer answers alone stay first.

    The confidence of an answer is its score less that of this item, as the curve ``risk_coverage`` has it.

    Attributes:
        confidence: That an answer must have; below 0, unsure answers are given too.
    """

    confidence: float = 0.0

    def for_users(self, history: Interactions) -> Abstain:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates with that item at its place.

        Raises:
            InputError: The data has no item that stands for no answer.
        """
        nothing = abstains(history.items)
        if not nothing.any():
            raise InputError(
                "reranker=abstain moves the item that stands for no answer, and the data has none: set "
                "dataset.abstain=NAME, or leave reranker out"
            )
        score = candidates.score.astype(np.float64)
        score[nothing[candidates.item]] += self.confidence
        return candidates.reorder(score)
