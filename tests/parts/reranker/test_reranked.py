"""A ranker with a re-ranker after it: what it passes on, and whole runs of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.errors import InputError
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.retrieval import Score
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.parts.reranker.mmr import MMR
from recx.parts.reranker.popularity import Popularity
from recx.parts.reranker.reranked import Reranked, TrainedThenReranked, reranked
from recx.testing import tiny_world
from recx.testing.tiny_dataset import last_out, some_candidates

LINEAR = Linear({"score": Score()}, max_users=7, seed=3)
NEWS = ("+experiment=news", "dataset.readers=90", "dataset.articles=60", "n_candidates=10", "tracker=console")


def test_without_a_reranker_the_ranker_is_itself() -> None:
    assert reranked(LINEAR, None) is LINEAR


def test_it_is_trained_if_the_ranker_is() -> None:
    assert isinstance(reranked(LINEAR, Popularity()), TrainedThenReranked)
    assert isinstance(reranked(Identity(), Popularity()), Reranked)


def test_what_the_ranker_declares_and_reports_is_passed_on() -> None:
    part = TrainedThenReranked(LINEAR, Popularity())
    assert part.sample == (7, 3)
    assert part.features == LINEAR.features
    assert part.without_diagnostics().ranker == LINEAR.without_diagnostics()
    past = last_out(last_out(tiny_world()).history)
    fitted = part.fit(some_candidates(past), past)
    assert fitted.summary.weights.keys() == {"score"}
    assert not part.gives_probabilities
    assert not fitted.gives_probabilities


def test_the_lists_say_where_the_ranker_had_each_item() -> None:
    now = last_out(tiny_world())
    candidates = some_candidates(now)
    lists = Reranked(Identity(), Popularity(1.0)).rank(candidates, now.history, now.requests)
    assert not np.array_equal(lists.item, candidates.item)
    for start, stop in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
        place = lists.columns["ranker_rank"][start:stop].astype(int) - 1
        assert lists.item[start:stop].tolist() == candidates.item[start:stop][place].tolist()
        assert lists.columns["ranker_score"][start:stop].tolist() == candidates.score[start:stop][place].tolist()


def test_what_a_reranker_lacks_is_said_before_the_ranker_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linear, "fit", lambda *_: pytest.fail("trained"))
    past = last_out(tiny_world(embeddings=False))
    with pytest.raises(InputError, match="have no embeddings"):
        TrainedThenReranked(LINEAR, MMR(Tfidf())).fit(some_candidates(past), past)


def test_a_run_reranks_and_keeps_what_the_ranker_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = recx.run([*NEWS])
    other = recx.run([*NEWS, "reranker=mmr", "reranker.relevance=0.3", "hydra.run.dir=run"])
    assert other.hits is not None
    assert other.hits["fit_ranker"] == 1
    assert not np.array_equal(other.recommendations.item, plain.recommendations.item)
    assert other.weights == plain.weights
    assert other.metrics["retrieval/recall_at_10"] == plain.metrics["retrieval/recall_at_10"]
    frame = recx.results.load("run").recommendations
    assert {"ranker_rank", "ranker_score"} <= set(frame.columns)
    again = recx.run([*NEWS, "reranker=mmr", "reranker.relevance=0.3", "cache=off"])
    np.testing.assert_array_equal(again.recommendations.item, other.recommendations.item)
    model = recx.load_model("run")
    user = frame["user"].iloc[0]
    assert len(model.recommend([user], k=3)) == 3
