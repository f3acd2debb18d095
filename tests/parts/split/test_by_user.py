from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.by_user import ByUser

EVENTS = [[(user, 10), (user, 20), (user, 30)] for user in range(10)]


def asked_of(splitter: ByUser, world: Interactions) -> dict[str, list[int]]:
    return {fold: splitter.split(world, fold).fold.requests.user.tolist() for fold in ("test", "valid")}


def test_steps_are_shares_of_the_users(drawn: Callable[..., Interactions]) -> None:
    asked = asked_of(ByUser(share=0.3), drawn(EVENTS))
    assert [len(asked["test"]), len(asked["valid"])] == [3, 3]
    assert not set(asked["test"]) & set(asked["valid"])


def test_the_seed_deals(drawn: Callable[..., Interactions]) -> None:
    world = drawn(EVENTS)
    assert asked_of(ByUser(seed=1), world) == asked_of(ByUser(seed=1), world)
    assert len({tuple(asked_of(ByUser(seed=seed), world)["test"]) for seed in range(8)}) > 1


def test_history_is_everybody_elses_events_and_what_is_given(
    drawn: Callable[..., Interactions], shown: Callable
) -> None:
    split = ByUser(share=0.2, given=1).split(drawn(EVENTS), "test")
    history, target, asked, time = shown(split.fold)
    assert [len(events) for events in history] == [1 if user in asked else 3 for user in range(10)]
    assert [len(events) for events in target] == [2 if user in asked else 0 for user in range(10)]
    assert time == [20, 20]
    assert split.past is not None
    earlier, _, asked_before, _ = shown(split.past)
    # Those who are asked for in the fold are not known to the past fold, not even what is given of them.
    assert [len(events) for events in earlier] == [
        0 if user in asked else 1 if user in asked_before else 3 for user in range(10)
    ]


def test_requesters_with_nothing_given_ask_after_everybody_elses_events(
    drawn: Callable[..., Interactions], shown: Callable
) -> None:
    fold = ByUser(request_time="last_event").split(drawn(EVENTS), "test").fold
    assert shown(fold)[3] == [31, 31]


def test_the_first_step_may_find_nobody_behind_it(drawn: Callable[..., Interactions], shown: Callable) -> None:
    split = ByUser(share=0.5, request_time="last_event").split(drawn(EVENTS), "test")
    assert split.past is not None
    assert len(split.past.history) == 0
    assert shown(split.past)[3] == [1] * 5


def test_those_with_too_few_events_are_counted(drawn: Callable[..., Interactions]) -> None:
    world = drawn([*EVENTS[:5], *[[(1, 10)]] * 5])
    split = ByUser(share=0.99, given=1).split(world, "test")
    assert len(split.fold.requests) == 5
    assert split.notes["users_left_out_too_few_events"] == 5


def test_groups_are_dealt_together(drawn: Callable[..., Interactions]) -> None:
    group = np.array(["b", "a", "b", "a", "c", "c", "d", "d", "e", "e"])
    world = drawn(EVENTS, columns={"trace": group})
    for seed in range(5):
        asked = ByUser(share=0.2, group="trace", seed=seed).split(world, "test").fold.requests.user
        assert len(np.unique(group[asked])) == 1
        assert len(asked) == 2


def test_users_to_predict_are_known_in_every_step(drawn: Callable[..., Interactions], shown: Callable) -> None:
    splitter = ByUser(share=0.2)
    first = splitter.split(drawn(EVENTS), "test").fold.requests.user.tolist()
    history, _, asked, _ = shown(splitter.split(drawn(EVENTS, to_predict=first[:1]), "test").fold)
    assert asked == first[1:]
    assert len(history[first[0]]) == 3


def test_an_unknown_group_names_the_columns_that_there_are(drawn: Callable[..., Interactions]) -> None:
    world = drawn(EVENTS, columns={"trace": np.arange(10)})
    with pytest.raises(InputError, match=r"split.group='track' .* it has trace"):
        ByUser(group="track").split(world, "test")


@pytest.mark.parametrize(("key", "value"), [("share", 0), ("share", 1), ("given", -1), ("request_time", "now")])
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"split.{key}="):
        ByUser(**{key: value})
