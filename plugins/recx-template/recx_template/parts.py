"""A retriever, a ranker, a feature and a metric: keep what you need, delete the rest with its option file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import (
    HOUR,
    Doubles,
    Eligibility,
    Floats,
    Interactions,
    JudgedLists,
    PositiveFloat,
    PositiveInt,
    RankedLists,
    Requests,
    Seen,
    Unit,
    checked,
    top_k,
)


@dataclass(frozen=True)
class Newest:
    """Retriever: the newest items first.

    Attributes:
        seen: ``drop`` or ``keep`` what the user has clicked.
    """

    seen: Seen = "drop"

    def fit(self, history: Interactions) -> Newest:
        return self  # nothing to learn; otherwise return another object, the fitted retriever

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        since = Eligibility(history, self.seen).since  # when each item was created or first clicked
        newness = np.arange(history.n_items) if since is None else np.argsort(np.argsort(since, kind="stable"))

        def score(block: Requests) -> Floats:
            return np.tile(newness.astype(np.float32), (len(block), 1))  # [requests of the block, items]

        return top_k(score, history, requests, k, self.seen)  # leaves out seen and not yet published items


@dataclass(frozen=True)
@checked("feature")  # checks each setting against its annotation
class Freshness:
    """Feature: 1 for a new item, 1/2 after ``half_life_hours``; 0 if the data has no times.

    Attributes:
        half_life_hours: The age in hours at which the value is 1/2.
    """

    half_life_hours: PositiveFloat = 24.0

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        since = Eligibility(history, "keep").since
        if since is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        age = np.maximum(0, requests.time[candidates.list_of_row] - since[candidates.item]) / HOUR
        fresh: Floats = np.exp2(-age / self.half_life_hours).astype(np.float32)
        return fresh


@dataclass(frozen=True)
@checked("ranker")
class Blend:
    """Ranker without training: a weighted mean of freshness and the retriever's reciprocal rank.

    Attributes:
        weight: The weight of freshness.
    """

    weight: Unit = 0.5

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        fresh = Freshness()(candidates, history, requests)
        return candidates.reorder(self.weight * fresh + (1 - self.weight) / candidates.rank)


@dataclass(frozen=True)
@checked("metric")
class CappedRecall:
    """Metric: targets among the first k / min(k, targets), so that 1 can be reached for any k.

    Attributes:
        k: The cut.
    """

    k: PositiveInt = 10

    @property
    def name(self) -> str:
        return f"template_capped_recall_at_{self.k}"

    def __call__(self, judged: JudgedLists) -> Doubles:
        return judged.shown(self.k) / np.minimum(self.k, judged.n_targets)
