"""The retriever's own order, unchanged: what any ranker must beat."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.types import Interactions, RankedLists, Requests


@dataclass(frozen=True)
class Identity:
    """Needs no training, so it has no ``fit``."""

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates as they are."""
        return candidates
