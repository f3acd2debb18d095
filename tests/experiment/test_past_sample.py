"""Only as many users of the past fold get candidates as the ranker can learn from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recx.core.types import Split
from recx.evaluation.evaluator import Evaluator
from recx.experiment.caching import cached
from recx.experiment.experiment import Experiment
from recx.experiment.past_sample import drawn
from recx.parts.dataset.news import News
from recx.parts.feature.popularity import Clicks
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.split.leave_last import LeaveLast
from recx.storage.cache.store import Cache


@pytest.fixture(scope="module")
def split() -> Split:
    return LeaveLast().split(News(readers=120, articles=50).load(), "test")


def linear(max_users: int, seed: int = 0) -> Linear:
    return Linear({"clicks": Clicks()}, max_users=max_users, seed=seed)


def test_three_times_as_many_users_as_the_ranker_learns_from_keep_their_requests(split: Split) -> None:
    fewer = drawn(split, linear(10))
    past, users = fewer.past, fewer.past.requests.user
    assert len(split.past.requests) > 30
    assert len(users) == 30
    assert (np.diff(users) > 0).all()
    at = np.searchsorted(split.past.requests.user, users)
    assert past.requests.time.tolist() == split.past.requests.time[at].tolist()
    assert past.history is split.past.history  # what the others clicked stays known
    assert fewer.fold is split.fold
    assert past.target.user.tolist() == users.tolist()
    assert past.target.item.tolist() == split.past.target.item[np.isin(split.past.target.user, users)].tolist()
    assert fewer.notes == {**split.notes, "past_requests_drawn": 30}


def test_the_draw_follows_the_ranker_s_seed(split: Split) -> None:
    one, same, other = (drawn(split, linear(10, seed)).past.requests.user.tolist() for seed in (0, 0, 1))
    assert one == same != other


def test_nobody_is_left_out_where_the_ranker_may_need_all(split: Split) -> None:
    n = len(split.past.requests)
    assert drawn(split, linear(-(-n // 3))) is split
    assert drawn(split, linear(n // 3 - 1)) is not split
    assert drawn(split, Identity()) is split
    without = replace(split, past=None)
    assert drawn(without, linear(1)) is without


def test_a_run_with_the_cache_draws_the_same(tmp_path: Path) -> None:
    evaluator = Evaluator(["recall_at_5"], ["ndcg_at_3"], ["ndcg_at_3"])
    data = News(readers=120, articles=50)
    chain = Experiment(data, LeaveLast(), ItemKNN(), linear(20), evaluator, n_candidates=20)
    plain, kept = chain.run(), cached(chain, Cache(tmp_path)).run()
    assert plain.notes["past_requests_drawn"] == kept.notes["past_requests_drawn"] == 60
    assert plain.notes["ranker_users_fitted_on"] <= 20
    assert plain.weights == kept.weights
    assert len(plain.split.past.requests) == len(kept.split.past.requests) == 60
