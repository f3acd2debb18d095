"""The parts keep the contract of their kind, compute what they say, and run together."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cafe.feature import HourMatch
from cafe.retriever import Follows

import recx
from recx.plugin import HOUR, Interactions, RankedLists, Requests
from recx.testing import check_feature, check_retriever

CONF = Path(__file__).parents[1] / "conf"


def history_of(events: list[tuple[int, str, int]]) -> Interactions:
    return Interactions.from_frame(pd.DataFrame(events, columns=["user", "item", "time"]))


def test_the_contracts() -> None:
    check_feature(HourMatch())
    check_retriever(Follows())


def test_two_of_three_events_were_within_an_hour_of_this_time_of_the_day() -> None:
    history = history_of([(0, "soup", 12 * HOUR), (0, "soup", 37 * HOUR), (0, "soup", 44 * HOUR)])  # 12, 13, 20 h
    requests = Requests(np.array([0], dtype=np.int32), np.array([60 * HOUR]))  # 12 h
    lists = RankedLists(requests.user, np.array([0, 1]), np.array([0], dtype=np.int32), np.array([0], dtype=np.float32))
    for hours, share in {0: 1 / 3, 1: 2 / 3, 8: 1, 99: 1}.items():
        assert np.allclose(HourMatch(hours).fit(history)(lists, requests), share)


def test_what_followed_more_often_comes_first() -> None:
    chosen = [(0, "abc"), (1, "ac"), (2, "ac"), (3, "a")]  # after a: b once, c twice
    history = history_of([(user, item, 10 * user + n) for user, items in chosen for n, item in enumerate(items)])
    requests = Requests(np.array([3], dtype=np.int32), np.array([100]))
    lists = Follows(popularity=0).fit(history).retrieve(history, requests, 2)
    assert history.items.ids[lists.item].tolist() == ["c", "b"]
    assert lists.score.tolist() == [2, 1]


def test_the_experiment_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where its outputs go
    result = recx.run(["+experiment=mine", "tracker=console"], config_dir=CONF)
    assert 0 < result.metrics["end_to_end/hit_at_5"] <= 1
