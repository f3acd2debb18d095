"""The order of the retriever, unchanged: the baseline of all rankers."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.types import Interactions, RankedLists, Requests


@dataclass(frozen=True)
class Identity:
    """Keeps the order of the candidates, without training."""

    def for_users(self, history: Interactions) -> Identity:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates unchanged."""
        return candidates
