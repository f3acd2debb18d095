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
    check,
    top_k,
)


@dataclass(frozen=True)
class Newest:
    """Retriever: the newest items first. seen: drop or keep what the user has had."""

    seen: Seen = "drop"

    def fit(self, history: Interactions) -> Newest:
        return self  # nothing to learn; else return another object, the fitted retriever

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        since = Eligibility(history, self.seen).since  # when each item was created or first clicked
        newness = np.arange(history.n_items) if since is None else np.argsort(np.argsort(since, kind="stable"))

        def score(block: Requests) -> Floats:
            return np.tile(newness.astype(np.float32), (len(block), 1))  # [requests of the block, items]

        return top_k(score, history, requests, k, self.seen)  # leaves out what is seen or not yet published


@dataclass(frozen=True)
class Freshness:
    """Feature: 1 for an item of this moment, 1/2 after ``half_life_hours``; 0 where the data has no times."""

    half_life_hours: PositiveFloat = 24.0

    def __post_init__(self) -> None:
        check(self, "feature")  # each setting against its annotation

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        since = Eligibility(history, "keep").since
        if since is None or requests.time is None:
            return np.zeros(len(candidates), dtype=np.float32)
        age = np.maximum(0, requests.time[candidates.list_of_row] - since[candidates.item]) / HOUR
        fresh: Floats = np.exp2(-age / self.half_life_hours).astype(np.float32)
        return fresh


@dataclass(frozen=True)
class Blend:
    """Ranker that needs no training: ``weight`` times freshness, the rest the retriever's reciprocal rank."""

    weight: Unit = 0.5

    def __post_init__(self) -> None:
        check(self, "ranker")

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        fresh = Freshness()(candidates, history, requests)
        return candidates.reorder(self.weight * fresh + (1 - self.weight) / candidates.rank)


@dataclass(frozen=True)
class CappedRecall:
    """Metric: targets shown in the first k / min(k, targets), so that 1 can be reached whatever k is."""

    k: PositiveInt = 10

    def __post_init__(self) -> None:
        check(self, "metric")

    @property
    def name(self) -> str:
        return f"template_capped_recall_at_{self.k}"

    def __call__(self, judged: JudgedLists) -> Doubles:
        return judged.shown(self.k) / np.minimum(self.k, judged.n_targets)
