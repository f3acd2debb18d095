"""The split keeps its contract and holds out the latest events."""

import pandas as pd
from recx_template.split import LatestShare

from recx.plugin import Interactions
from recx.testing import check_option, check_splitter


def test_the_contract() -> None:
    check_splitter(LatestShare(share=0.2))
    check_option("split/template")


def test_a_fifth_of_ten_events_are_the_last_two() -> None:
    frame = pd.DataFrame({"user": ["u", "v"] * 5, "item": range(10), "time": range(10)})
    events = Interactions.from_frame(frame)
    expected = {"test": ([8, 9], [6, 7]), "valid": ([6, 7], [4, 5])}
    for fold, (now, before) in expected.items():
        split = LatestShare(share=0.2).split(events, fold)
        assert split.past is not None
        assert sorted(split.fold.target.item) == now
        assert sorted(split.past.target.item) == before
        assert sorted(split.fold.history.item) == list(range(now[0]))
