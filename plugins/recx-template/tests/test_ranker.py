"""The ranker keeps its contract and weighs freshness against the retriever's order."""

import numpy as np
import pandas as pd
from recx_template.ranker import Blend

from recx.plugin import HOUR, Interactions, RankedLists, Requests
from recx.testing import check_option, check_ranker


def test_the_contract() -> None:
    check_ranker(Blend())
    check_option("ranker/template")


def test_a_new_item_passes_an_old_one() -> None:
    history = Interactions.from_frame(pd.DataFrame({"user": [0, 0], "item": ["a", "b"], "time": [0, 24 * HOUR]}))
    requests = Requests(np.array([0], dtype=np.int32), np.array([24 * HOUR]))
    item = np.array([0, 1], dtype=np.int32)
    lists = RankedLists(requests.user, np.array([0, 2]), item, np.zeros(2, dtype=np.float32))
    ranked = Blend(weight=0.8).rank(lists, history, requests)
    assert history.items.ids[ranked.item].tolist() == ["b", "a"]
    assert np.allclose(ranked.score, [0.8 * 1 + 0.2 / 2, 0.8 / 2 + 0.2 * 1])
