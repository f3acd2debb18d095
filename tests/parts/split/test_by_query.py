from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.by_query import ByQuery

PARTS = np.array(["train", "test", "valid", "train", "test"], dtype=object)
EVENTS = [[(1, 0), (2, 0)], [(3, 0)], [(4, 0)], [(5, 0)], []]


def test_the_parts_of_the_data_are_the_folds(drawn: Callable[..., Interactions], shown: Callable) -> None:
    split = ByQuery().split(drawn(EVENTS, times=False, columns={"part": PARTS}), "test")
    history, target, asked, time = shown(split.fold)
    assert asked == [1]  # query 4 has no answer
    assert target == [[], [3], [], [], []]
    assert history == [[1, 2], [], [4], [5], []]
    assert time is None
    assert split.past is not None
    before, learnt, asked, _ = shown(split.past)
    assert asked == [0, 2, 3]  # all parts before, not only the one a step back
    assert learnt == [[1, 2], [], [4], [5], []]
    assert before == [[]] * 5


def test_the_valid_fold_never_sees_the_test_part(drawn: Callable[..., Interactions], shown: Callable) -> None:
    split = ByQuery().split(drawn(EVENTS, times=False, columns={"part": PARTS}), "valid")
    history, target, *_ = shown(split.fold)
    assert target == [[], [], [4], [], []]
    assert history == [[1, 2], [], [], [5], []]
    assert split.past is not None
    assert shown(split.past)[1] == [[1, 2], [], [], [5], []]


def test_where_data_has_no_parts_the_seed_deals(drawn: Callable[..., Interactions]) -> None:
    world = drawn([[(user, 0)] for user in range(10)], times=False)
    asked = {fold: set(ByQuery().split(world, fold).fold.requests.user.tolist()) for fold in ("test", "valid")}
    assert [len(users) for users in asked.values()] == [2, 2]
    assert not asked["test"] & asked["valid"]
    past = ByQuery().split(world, "test").past
    assert past is not None
    assert set(past.requests.user.tolist()) == set(range(10)) - asked["test"]
    drawings = {tuple(ByQuery(seed=seed).split(world, "test").fold.requests.user.tolist()) for seed in range(8)}
    assert len(drawings) > 1


def test_what_a_query_had_before_its_last_moment_is_known(drawn: Callable[..., Interactions], shown: Callable) -> None:
    parts = np.array(["train", "test"], dtype=object)
    world = drawn([[(1, 5), (2, 5), (3, 9), (4, 9)], [(5, 5), (6, 7)]], columns={"part": parts})
    split = ByQuery().split(world, "test")
    assert shown(split.fold) == ([[1, 2, 3, 4], [5]], [[], [6]], [1], [7])
    assert split.past is not None
    assert shown(split.past) == ([[1, 2], []], [[3, 4], []], [0], [9])


def test_queries_to_predict_are_asked_only_then(drawn: Callable[..., Interactions], shown: Callable) -> None:
    world = drawn(EVENTS, times=False, columns={"part": PARTS}, to_predict=[1, 4])
    with pytest.raises(InputError, match="fold=test: no query of this part has an answer"):
        ByQuery().split(world, "test")
    split = ByQuery().split(world, "predict")
    assert split.fold.requests.user.tolist() == [1, 4]
    assert split.past is not None
    assert shown(split.past)[2] == [0, 2, 3]


def test_no_past_if_none_is_wanted(drawn: Callable[..., Interactions]) -> None:
    assert ByQuery(past="none").split(drawn(EVENTS, times=False, columns={"part": PARTS}), "test").past is None


def test_a_part_that_is_not_there_is_reported(drawn: Callable[..., Interactions]) -> None:
    two = np.array(["train", "test"], dtype=object)
    with pytest.raises(InputError, match="fold=valid: the data has no part valid: choose one of test, train"):
        ByQuery().split(drawn(EVENTS[:2], columns={"part": two}), "valid")
    with pytest.raises(InputError, match="a part 'dev'"):
        ByQuery().split(drawn(EVENTS[:2], columns={"part": np.array(["train", "dev"], dtype=object)}), "test")


@pytest.mark.parametrize("share", [0, 1, -0.5])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"split\.share="):
        ByQuery(share=share)
