from __future__ import annotations

from dataclasses import replace

import numpy as np

from recx.core.entities import Entities
from recx.core.types import RankedLists, Requests
from recx.parts.feature.abstain import IsAbstain
from recx.testing import check_feature, tiny_world


def test_it_is_1_for_the_item_that_stands_for_no_answer() -> None:
    world = tiny_world()
    check_feature(IsAbstain(), world)
    history = world
    column = np.zeros(history.n_items, dtype=np.float32)
    column[2] = 1
    flagged = replace(history, items=replace(history.items, table={**history.items.table, "is_abstain": column}))
    lists = RankedLists(
        np.array([0], np.int32), np.array([0, 3]), np.array([1, 2, 0], np.int32), np.zeros(3, np.float32)
    )
    requests = Requests(lists.user)
    assert IsAbstain().fit(flagged)(lists, requests).tolist() == [0, 1, 0]
    assert IsAbstain().fit(replace(history, items=Entities(history.items.ids)))(lists, requests).tolist() == [0, 0, 0]
