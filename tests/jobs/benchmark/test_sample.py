from __future__ import annotations

import numpy as np

from recx.core.types import Split
from recx.jobs.benchmark.sample import sampled
from recx.parts.dataset.synthetic_judged import SyntheticJudged
from recx.parts.split.by_query import ByQuery


def split() -> Split:
    return ByQuery().split(SyntheticJudged(queries=50, features=4).load(), "test")


def test_a_sample_keeps_its_queries_answers_and_says_of_how_many() -> None:
    whole = split()
    some = sampled(whole, {"queries": 4, "seed": 0})
    assert len(some.fold.requests) == 4
    assert (np.diff(some.fold.requests.user) > 0).all()
    assert some.fold.target is not None
    assert whole.fold.target is not None
    assert set(some.fold.target.user.tolist()) == set(some.fold.requests.user.tolist())
    chosen = np.isin(whole.fold.target.user, some.fold.requests.user)
    assert some.fold.target.item.tolist() == whole.fold.target.item[chosen].tolist()
    assert (some.notes["queries_sampled"], some.notes["queries_in_all"]) == (4, 10)
    assert some.past is whole.past


def test_the_seed_chooses_and_what_is_enough_is_left_alone() -> None:
    whole = split()
    drawn = [sampled(whole, {"queries": 4, "seed": seed}).fold.requests.user.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sampled(whole, {"queries": 500, "seed": 0}).fold is whole.fold
    assert sampled(whole, None).notes["queries_sampled"] == 10
