"""The metric keeps its contract and is 1 only if no target is missing."""

import numpy as np
import pandas as pd
from recx_template.metric import AllShown

from recx.plugin import Fold, GroundTruth, Interactions, RankedLists, Requests
from recx.testing import check_metric


def test_the_contract() -> None:
    check_metric(AllShown(k=3))


def test_one_of_three_targets_among_the_first_two() -> None:
    target = Interactions.from_frame(pd.DataFrame({"user": [0, 0, 0, 1], "item": ["a", "b", "c", "d"]}))
    requests = Requests(np.arange(2, dtype=np.int32))
    item = np.array([0, 3, 3], dtype=np.int32)  # a and d for the first user, d for the second
    lists = RankedLists(requests.user, np.array([0, 2, 3]), item, np.zeros(3, dtype=np.float32))
    fold = Fold(target.keep(np.zeros(4, dtype=bool)), target, requests)
    judged = GroundTruth.of(fold).judge(lists)
    assert AllShown(k=2)(judged).tolist() == [0.0, 1.0]
