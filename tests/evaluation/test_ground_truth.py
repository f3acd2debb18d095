"""Lists held against targets: whose lists are judged, which targets count, what is counted."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation import matching
from recx.evaluation.ground_truth import GroundTruth, among_retrieved


def interactions(*rows):
    """Events (user, item, weight) of six users and 100 items."""
    columns = dict(zip(["user", "item", "weight"], zip(*rows, strict=True), strict=False)) if rows else {}
    frame = pd.DataFrame(columns or {"user": [], "item": [], "weight": []}).astype({"user": int, "item": int})
    frame = frame.sort_values("user", kind="stable")
    known = {"users": Entities(np.arange(6)), "items": Entities(np.arange(100))}
    events = Interactions.from_frame(frame[["user", "item"]], **known)  # which would leave out those of weight 0
    return replace(events, weight=frame["weight"].to_numpy(dtype=np.float32))


def fold(target, history=()):
    events = interactions(*target)
    return Fold(interactions(*history), events, Requests(np.unique(events.user)))


def lists(shown, columns=False):
    item = np.array([i for items in shown.values() for i in items], dtype=np.int32)
    return RankedLists(
        user=np.array(list(shown), dtype=np.int32),
        indptr=indptr_of(np.array([len(items) for items in shown.values()], dtype=np.int64)),
        item=item,
        score=-np.arange(len(item), dtype=np.float32),
        columns={"score": np.ones(len(item), dtype=np.float32)} if columns else {},
    )


def as_dict(judged):
    """User -> (items shown, their gains, ideal)."""
    return {
        int(user): (
            judged.lists.item[judged.lists.indptr[n] : judged.lists.indptr[n + 1]].tolist(),
            judged.gain[judged.lists.indptr[n] : judged.lists.indptr[n + 1]].tolist(),
            judged.ideal[judged.ideal_indptr[n] : judged.ideal_indptr[n + 1]].tolist(),
        )
        for n, user in enumerate(judged.lists.user)
    }


def test_one_list_for_every_user_with_a_target():
    """User 1 has no list, user 2 an empty one, user 4 no target."""
    answers = fold([(0, 7, 1), (0, 3, 2), (1, 7, 1), (2, 7, 1), (5, 7, 1)])
    judged = GroundTruth.of(answers).judge(lists({0: [3, 9, 7], 2: [], 4: [7], 5: [9, 8, 7]}, columns=True))
    assert as_dict(judged) == {
        0: ([3, 9, 7], [2, 0, 1], [2, 1]),
        1: ([], [], [1]),
        2: ([], [], [1]),
        5: ([9, 8, 7], [0, 0, 1], [1]),
    }
    assert judged.lists.columns == {}
    assert judged.hit_rank.tolist() == [1, 3, 3]
    assert judged.hit_user.tolist() == [0, 0, 3]


def test_lists_may_come_in_any_order_of_users():
    answers = fold([(0, 7, 1), (3, 8, 1)])
    assert as_dict(GroundTruth.of(answers).judge(lists({3: [8, 1], 0: [2, 7]}))) == {
        0: ([2, 7], [0, 1], [1]),
        3: ([8, 1], [1, 0], [1]),
    }


def test_the_same_item_is_a_target_of_its_own_user_alone():
    """User numbers equal to item numbers, and the same items in neighbouring lists, must not be mixed up."""
    judged = GroundTruth.of(fold([(0, 1, 1), (1, 0, 1)])).judge(lists({0: [0, 1], 1: [0, 1]}))
    assert as_dict(judged) == {0: ([0, 1], [0, 1], [1]), 1: ([0, 1], [1, 0], [1])}


def test_targets_that_stand_twice_or_have_no_gain_are_counted():
    """Pair (0, 7) occurs three times, once of weight 3; negative weights and those below the threshold are counted."""
    answers = fold([(0, 7, 1), (0, 7, 3), (0, 7, 2), (0, 8, -1), (0, 9, 0.5), (1, 9, 0.5), (2, 5, 0)])
    judging = GroundTruth.of(answers)
    assert as_dict(judging.judge(lists({0: [9, 8, 7], 1: [9]}))) == {0: ([9, 8, 7], [0.5, 0, 3], [3, 0.5])}
    assert judging.notes == {
        "targets_duplicated": 2,
        "targets_negative": 1,
        "targets_below_rel_threshold": 4,
        "targets_seen_in_history": 0,
    }
    assert judging.judge(lists({0: []})).n_targets.tolist() == [1]


def test_targets_seen_in_the_users_own_history_are_counted_once():
    history = [(0, 7, 1), (0, 7, 1), (1, 8, 1), (2, 9, 1)]
    assert GroundTruth.of(fold([(0, 7, 1), (1, 7, 1), (2, 9, 1)], history)).notes["targets_seen_in_history"] == 2


def test_the_ranking_line_is_about_the_targets_among_the_candidates():
    answers = GroundTruth.of(fold([(0, 7, 1), (0, 3, 2), (1, 7, 1), (2, 7, 0.5), (2, 8, 1)]))
    candidates = answers.judge(lists({0: [9, 7], 1: [9], 2: [7, 9]}))
    recommended = answers.judge(lists({0: [7, 9], 1: [9], 2: [9, 7]}))
    # User 1 has no target there; user 2 has only one that is not relevant.
    assert as_dict(among_retrieved(recommended, candidates)) == {0: ([7, 9], [1, 0], [1])}


def test_lists_are_judged_once_and_forgotten_with_them():
    answers, shown = fold([(0, 7, 1)]), lists({0: [3, 7]})
    judged = GroundTruth.of(answers).judge(shown)
    assert GroundTruth.of(answers, rel_threshold=1).judge(shown) is judged
    assert GroundTruth.of(answers, 0.5).judge(shown) is not judged
    assert GroundTruth.of(answers).judge(lists({0: [3, 7]})) is not judged
    gone = weakref.ref(judged)
    del judged
    gc.collect()
    assert gone() is not None
    del shown
    gc.collect()
    assert gone() is None
    gone = weakref.ref(GroundTruth.of(answers))
    del answers
    gc.collect()
    assert gone() is None


def test_no_common_user_is_an_error():
    with pytest.raises(InputError, match="none of the 1 users with a target has a list"):
        GroundTruth.of(fold([(0, 7, 1)])).judge(lists({3: [7]}))


def test_no_relevant_target_is_an_error():
    with pytest.raises(InputError, match=r"^rel_threshold=4: none of the 2 targets .* lower it"):
        GroundTruth.of(fold([(0, 7, 1), (1, 7, 3)]), rel_threshold=4)


def test_a_weight_that_is_no_number_is_an_error():
    with pytest.raises(InputError, match="a target of user 1 has the weight nan"):
        GroundTruth.of(fold([(0, 7, 1.0), (1, 7, float("nan"))]))


def test_predicting_has_nothing_to_judge():
    answers = fold([(0, 7, 1)])
    with pytest.raises(InputError, match="the fold has no targets"):
        GroundTruth.of(Fold(answers.history, None, answers.requests))


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
@pytest.mark.parametrize("many", [0, 12, 48])
def test_blocks_do_not_show(monkeypatch, rows_at_once, many):
    """A thousand rows in blocks of any size, users searched or compared, against a loop over sets."""
    monkeypatch.setattr(matching, "MANY", many)
    rng = np.random.default_rng(0)
    shown = {user: rng.permutation(100)[: rng.integers(0, 100)].tolist() for user in range(6)}
    pairs = {(int(u), int(i)) for u, i in zip(rng.integers(0, 6, 80), rng.integers(0, 100, 80), strict=True)}
    monkeypatch.setattr(matching, "ROWS_AT_ONCE", rows_at_once)
    judged = GroundTruth.of(fold([(u, i, 1) for u, i in pairs])).judge(lists(shown))
    expected = [float((user, item) in pairs) for user in range(6) for item in shown[user]]
    assert judged.gain.tolist() == expected
