"""What all splits share: a history that is put together on demand, and the draw of those who are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.types import Interactions, RankedLists, Split
from recx.evaluation.ground_truth import GroundTruth
from recx.parts.split.by_query import ByQuery
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.leave_last import LeaveLast

SPLITS: dict[str, Callable[..., Any]] = {
    "leave_last": LeaveLast,
    "by_time": lambda **settings: ByTime(window="20ms", **settings),
    "by_user": lambda **settings: ByUser(share=0.4, given=1, **settings),
    "by_query": lambda **settings: ByQuery(share=0.4, **settings),
}


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Return 30 users with events every 7 ms."""
    return drawn([[(at % 9, 7 * at + user) for at in range(10)] for user in range(30)])


def asked(split: Split) -> list[int]:
    return split.fold.requests.user.tolist()


def content(data: Interactions) -> list[Any]:
    assert data.time is not None
    return [data.indptr.tolist(), data.item.tolist(), data.time.tolist(), data.weight.tolist()]


@pytest.mark.parametrize("fold", ["test", "valid"])
@pytest.mark.parametrize("name", SPLITS)
def test_at_most_so_many_users_are_evaluated_and_nothing_else_changes(
    world: Interactions, name: str, fold: FoldName
) -> None:
    whole, some = (SPLITS[name](max_users=most).split(world, fold) for most in (None, 5))
    assert len(asked(some)) == 5 < len(asked(whole))
    assert asked(some) == sorted(set(asked(some)) & set(asked(whole)))
    assert content(some.fold.history) == content(whole.fold.history)
    for user, time in zip(asked(some), some.fold.requests.time, strict=True):
        assert time == whole.fold.requests.time[asked(whole).index(user)]
    expected = [[] if user not in asked(some) else targets for user, targets in enumerate(targets_of(whole))]
    assert targets_of(some) == expected
    assert some.past is not None
    assert whole.past is not None
    assert some.past.requests.user.tolist() == whole.past.requests.user.tolist()
    left_out = {note: count for note, count in whole.notes.items() if note.startswith("users_")}
    assert {note: some.notes[note] for note in left_out} == left_out
    assert some.notes["users_not_drawn"] == len(asked(whole)) - 5
    assert "users_not_drawn" not in whole.notes


def targets_of(split: Split) -> list[list[int]]:
    target = split.fold.target
    assert target is not None
    return [target.item[start:stop].tolist() for start, stop in zip(target.indptr[:-1], target.indptr[1:], strict=True)]


def test_the_draw_stays_when_more_are_drawn_and_in_another_fold(world: Interactions) -> None:
    by_number = [asked(LeaveLast(max_users=most).split(world, "test")) for most in (3, 8, 20, 100)]
    assert all(set(few) < set(more) for few, more in pairwise(by_number))
    assert by_number[-1] == list(range(30))
    assert asked(LeaveLast(max_users=8).split(world, "valid")) == by_number[1]
    # Whoever asks in neither fold is passed over: the others stay.
    without = replace(world, to_predict=np.array(by_number[1][:1], dtype=np.int32))
    assert set(asked(LeaveLast(max_users=8).split(without, "test"))) > set(by_number[1][1:])


def test_the_seed_draws_and_the_targets_tell(world: Interactions) -> None:
    def digest(**settings: Any) -> str:
        return GroundTruth.of(LeaveLast(**settings).split(world, "test").fold).digest()

    draws = {tuple(asked(LeaveLast(max_users=5, seed=seed).split(world, "test"))) for seed in range(6)}
    assert len(draws) > 1
    assert digest(max_users=5, seed=0) == digest(max_users=5, seed=0)
    assert len({digest(), digest(max_users=5), digest(max_users=6), digest(max_users=5, seed=1)}) == 4


@pytest.mark.parametrize("split", [LeaveLast, ByTime])
def test_where_nobody_is_drawn_the_seed_is_no_setting(split: Callable[..., Any]) -> None:
    assert split(seed=1) == split(seed=2)
    assert split(seed=1, max_users=5) != split(seed=2, max_users=5)


def test_a_prediction_is_for_all(world: Interactions) -> None:
    split = LeaveLast(max_users=5).split(world, "predict")
    assert asked(split) == list(range(30))
    assert "users_not_drawn" not in split.notes


@pytest.mark.parametrize("name", SPLITS)
def test_nobody_cannot_be_evaluated(name: str) -> None:
    with pytest.raises(InputError, match=r"split\.max_users="):
        SPLITS[name](max_users=0)


def test_the_history_of_the_past_is_put_together_when_it_is_used(
    world: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, keep = [], Interactions.keep
    monkeypatch.setattr(Interactions, "keep", lambda *args: kept.append(1) or keep(*args))
    past = LeaveLast().split(world, "test").past
    assert past is not None
    before = len(kept)
    assert replace(past, target=None).history is past.history is past.history
    assert len(kept) == before + 1
    assert past.history.lengths.tolist() == [8] * 30
    with pytest.raises(AttributeError):
        past.histroy  # type: ignore[attr-defined]  # noqa: B018


def test_a_list_of_the_data_is_for_the_last_question_of_its_user(drawn: Callable[..., Interactions]) -> None:
    events = [[(1, 10), (2, 20), (3, 30)], [(5, 12), (6, 21)], [(7, 13), (8, 22)]]
    lists = RankedLists(
        np.array([0, 1], dtype=np.int32), np.array([0, 2, 3]), np.array([3, 4, 6], np.int32), np.zeros(3, np.float32)
    )
    world = drawn(events)
    offered = replace(world, slates=lists)
    before, after = LeaveLast().split(world, "test"), LeaveLast().split(offered, "test")
    assert before.past is not None
    assert after.past is None  # whoever asked before asks again, with the list for the answer of then
    assert after.notes["past_requests_with_a_later_list"] == len(before.past.requests)
    windows = ByTime("9ms", min_history=0).split(offered, "test")  # users 0 and 2 asked in [22, 31), all before
    assert windows.fold.requests.user.tolist() == [0, 2]
    assert windows.past is not None
    assert windows.past.requests.user.tolist() == [1]
    assert windows.past.target is not None
    assert windows.past.target.lengths.tolist() == [0, 1, 0]
    predicted = LeaveLast().split(offered, "predict")
    assert predicted.past is not None
    assert len(predicted.past.requests) == 3


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("fold", ["test", "valid", "predict"])
def test_an_event_of_weight_0_asks_and_is_never_history(world: Interactions, name: str, fold: FoldName) -> None:
    """It says that its user asked and chose nothing: every feature that counts events would take it for a choice."""
    plain = SPLITS[name]().split(world, fold)
    weight = world.weight.copy()
    weight[::4] = 0
    split = SPLITS[name]().split(replace(world, weight=weight), fold)
    for one, same in ((split.fold, plain.fold), (split.past, plain.past)):
        assert one is not None
        assert same is not None
        assert (one.history.weight > 0).all()
        assert one.history.weight.tolist() == same.history.weight[np.isin(same.history.weight, weight)].tolist()
        assert one.requests.user.tolist() == same.requests.user.tolist()
        if one.target is not None and same.target is not None:
            assert one.target.item.tolist() == same.target.item.tolist()
            assert set(one.target.weight) <= {0, *same.target.weight}
