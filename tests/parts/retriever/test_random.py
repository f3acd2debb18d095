from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recx.core.types import Interactions, Requests
from recx.parts.retriever.random import Random


def test_every_item_comes_as_often_as_any_other(drawn: Callable[..., Interactions]) -> None:
    world = drawn([[(0, 0)]] * 3000, 20, times=False)
    lists = Random(seen="keep").fit(world).retrieve(world, Requests(np.arange(3000, dtype=np.int32)), 5)
    shares = np.bincount(lists.item, minlength=20) / 3000
    assert np.abs(shares - 0.25).max() < 0.04  # five deviations of a share of 1/4 of 3000
    assert (lists.lengths == 5).all()


def test_the_seed_and_the_user_change_the_list(drawn: Callable[..., Interactions], shown: Callable) -> None:
    world = drawn([[(0, 0)]] * 2, 50, times=False)
    asked = Requests(np.array([0, 1], dtype=np.int32))
    one, other = (shown(Random(seed=seed).retrieve(world, asked, 9)) for seed in (0, 1))
    assert len({tuple(items) for items in [*one, *other]}) == 4
