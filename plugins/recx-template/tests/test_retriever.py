"""The retriever keeps its contract and finds the newest items."""

import numpy as np
import pandas as pd
from recx_template.retriever import Newest

from recx.plugin import Interactions, Requests
from recx.testing import check_option, check_retriever


def test_the_contract() -> None:
    check_retriever(Newest())
    check_option("retriever/template")


def test_the_newest_unseen_items_come_first() -> None:
    frame = pd.DataFrame({"user": [0, 0, 0, 1], "item": ["b", "a", "c", "c"], "time": [1, 2, 3, 4]})
    history, requests = Interactions.from_frame(frame), Requests(np.array([1], dtype=np.int32), np.array([5]))
    lists = Newest().fit(history).retrieve(history, requests, 2)
    assert history.items.ids[lists.item].tolist() == ["a", "b"]  # c is newer, but user 1 has seen it
