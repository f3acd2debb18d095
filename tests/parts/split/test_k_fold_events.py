from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.split.k_fold_events import KFoldEvents
from recx.testing import tiny_world


def test_k_runs_make_each_event_a_target_once() -> None:
    world = tiny_world(seed=2)
    world = replace(world, weight=np.arange(1, len(world) + 1, dtype=np.float32))  # which number the events
    found, without_history = [], 0
    for part in range(4):
        fold, least = (KFoldEvents(k=4, part=part, min_history=n).split(world, "test") for n in (0, 1))
        target, known = fold.fold.target, fold.fold.history
        assert target is not None
        assert least.fold.target is not None
        found += target.weight.tolist()
        assert set(known.weight) == set(world.weight) - set(target.weight)
        lonely = (known.lengths == 0) & (target.lengths > 0)
        assert least.notes["users_left_out_too_little_history"] == lonely.sum()
        without_history += int(lonely.sum())
        assert least.fold.target.weight.tolist() == target.weight[~lonely[target.user]].tolist()
    assert sorted(found) == world.weight.tolist()
    assert without_history > 0


def test_requests_follow_all_history_and_older_targets_are_counted(drawn: Callable[..., Interactions]) -> None:
    world = drawn([[(item, 10 * item) for item in range(8)], [(item, 10 * item + 5) for item in range(8)]])
    split = KFoldEvents(k=4).split(world, "test")
    fold = split.fold
    assert fold.target is not None
    assert fold.requests.time is not None
    assert set(fold.requests.time) == {max(fold.history.time) + 1}
    last = [fold.history.time[stop - 1] for stop in fold.history.indptr[1:]]
    older = sum(time < last[user] for user, time in zip(fold.target.user, fold.target.time, strict=True))
    assert split.notes["targets_older_than_history"] == older > 0


def test_the_part_must_exist() -> None:
    with pytest.raises(InputError, match=r"split.part=2: the 2 parts of split.k=2 are numbered from 0 to 1"):
        KFoldEvents(k=2, part=2)
