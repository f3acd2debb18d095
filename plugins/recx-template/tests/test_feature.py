"""The feature keeps its contract and halves with the age."""

import numpy as np
import pandas as pd
from recx_template.feature import Freshness

from recx.plugin import HOUR, Interactions, RankedLists, Requests, indptr_of
from recx.testing import check_feature


def test_the_contract() -> None:
    check_feature(Freshness())


def test_an_item_of_one_half_life_is_half_as_fresh() -> None:
    users = np.arange(3, dtype=np.int32)
    history = Interactions.from_frame(pd.DataFrame({"user": users, "item": ["a", "b", "b"], "time": [0, 5, 9]}))
    lists = RankedLists(users, indptr_of(np.ones(3)), np.zeros(3, np.int32), np.zeros(3, np.float32))  # item a for each
    requests = Requests(users, np.array([0, 24, 48]) * HOUR)
    assert np.allclose(Freshness().fit(history)(lists, requests), [1, 0.5, 0.25])
