"""Every built-in ranker keeps the promises of ``recx.testing``."""

from __future__ import annotations

import pytest

from recx.core.protocols import FittedRanker, Ranker
from recx.parts.feature.coclick import CoClicks
from recx.parts.feature.content import Age, CategoryShare, ContentSimilarity, Words
from recx.parts.feature.popularity import Clicks
from recx.parts.feature.retrieval import Rank, Score
from recx.parts.ranker.blend import Blend
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.testing import check_ranker, tiny_world

FEATURES = {
    "score": Score(),
    "rank": Rank(source="first"),
    "clicks": Clicks(window="1h"),
    "co_clicks": CoClicks(),
    "content": ContentSimilarity(),
    "age": Age(),
    "words": Words(),
    "category_share": CategoryShare(),
}
RANKERS: dict[str, Ranker | FittedRanker] = {
    "identity": Identity(),
    "linear, lbfgs": Linear(FEATURES),
    "linear, gd": Linear(FEATURES, optimizer="gd", epochs=20),
    "linear, sgd": Linear(FEATURES, optimizer="sgd", epochs=3, max_users=10),
    "linear, missed targets added": Linear(FEATURES, missed="add"),
    "linear, weights from 0 up": Linear(FEATURES, non_negative=True),
    "linear, softmax": Linear(FEATURES, probabilities="softmax"),
    "linear, platt": Linear(FEATURES, probabilities="platt"),
    "linear, logistic": Linear(FEATURES, loss="logistic"),
    "linear, logistic of a sample": Linear(FEATURES, loss="logistic", negative_share=0.5, class_weight="balanced"),
    "linear, logistic, sgd": Linear(FEATURES, loss="logistic", optimizer="sgd", epochs=3, non_negative=True),
    "blend": Blend({"a": Linear(FEATURES), "b": Linear(FEATURES, loss="logistic"), "c": Identity()}, {"c": 0.5}),
    "blend, not trained": Blend({"a": Identity(), "b": Identity()}),
    "linear, logistic, platt": Linear(FEATURES, loss="logistic", probabilities="platt"),
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS.keys())
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
def test_a_ranker_keeps_its_promises(ranker: Ranker | FittedRanker, times: bool) -> None:
    check_ranker(ranker, tiny_world(times=times))
