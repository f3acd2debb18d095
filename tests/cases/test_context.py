"""What is known of a user from their events is unknown where the event is the one to predict.

Fault 15, and variants of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.types import Array, Bools, Interactions
from recx.experiment.experiment import Result
from recx.parts.dataset.news import News
from recx.parts.dataset.news_files import write_news
from recx.parts.dataset.synthetic import make_news
from recx.parts.split.by_query import ByQuery
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.leave_last import LeaveLast

DAY = 86_400_000
QUIET = ["+experiment=news", "tracker=console", "cache=off", "ranker.resamples=0"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of clicks, all readers of which may be held out."""
    folder = tmp_path_factory.mktemp("site")
    write_news(replace(make_news(120, 60, 4, 0), test=None), folder)
    return folder


def run(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(folder)
    return recx.run([*QUIET, f"dataset.path={folder}", *words])


@pytest.mark.parametrize(
    "words", [["split=by_time", "split.min_history=0"], ["split=by_user"], ["split=by_user", "split.given=1"]]
)
def test_the_region_of_targets_alone_changes_no_list(
    words: list[str], site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run(site, words, monkeypatch)
    log = pd.read_csv(site / "train_click_log.csv")
    fold = before.split.fold
    assert fold.target is not None
    asked = fold.history.users.ids[fold.requests.user]
    cold = fold.history.lengths[fold.requests.user] == 0
    assert cold.any() or "split.given=1" in words
    targets = pd.MultiIndex.from_arrays([fold.history.users.ids[fold.target.user], fold.target.time])
    hit = log.user_id.isin(asked) & pd.MultiIndex.from_frame(log[["user_id", "click_timestamp"]]).isin(targets)
    log.loc[hit, "click_region"] = np.random.default_rng(0).integers(0, 50, hit.sum())
    for file in site.iterdir():
        if file.name.endswith(".csv"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    log.to_csv(tmp_path / "train_click_log.csv", index=False)
    after = run(tmp_path, words, monkeypatch)
    assert np.array_equal(before.candidates.item, after.candidates.item)
    assert np.array_equal(before.recommendations.item, after.recommendations.item)
    assert np.array_equal(before.recommendations.score, after.recommendations.score)


@pytest.mark.parametrize(
    "splitter",
    [LeaveLast(), LeaveLast(n=2), ByTime(), ByTime(min_history=0), ByUser(), ByUser(given=2), ByQuery()],
)
def test_context_is_known_of_those_alone_whose_first_event_is(splitter: Any) -> None:
    data = replace(News(readers=200, articles=60).load(), to_predict=None)
    split = splitter.split(data, "test")
    for fold in filter(None, (split.fold, split.past)):
        known = fold.history.lengths > 0
        for name, column in fold.history.users.table.items():
            assert (column[~known] == -1).all(), name
            assert np.array_equal(column[known], data.users.table[name][known]), name


def kept(rows: list[int], **table: Array) -> Entities:
    """Return the users of a history of these of five events: two of user 0, three of user 2; user 1 has none."""
    users = Entities(np.arange(3), table, context=tuple(name for name in table if name != "own"))
    events = Interactions(
        np.array([0, 2, 2, 5]), np.zeros(5, np.int32), None, np.ones(5, np.float32), users, Entities(np.arange(1))
    )
    mask: Bools = np.isin(np.arange(5), rows)
    return events.keep(mask).users


def test_every_kind_of_column_has_its_unknown_value() -> None:
    columns = {
        "code": np.array([3, 4, 5], np.int32),
        "number": np.array([0.5, 1.5, 2.5], np.float32),
        "text": np.array(["a", "b", "c"], dtype=object),
        "moment": np.array([7, 8, 9], np.int64),
        "own": np.array([1, 2, 3], np.int32),
    }
    users = kept([1, 2, 4], **columns)  # the first of user 0 is not there, that of user 2 is
    assert users.table["code"].tolist() == [-1, 4, 5]
    assert np.isnan(users.table["number"][0])
    assert users.table["text"].tolist() == ["", "b", "c"]
    assert users.table["moment"].tolist() == [UNKNOWN_TIME, 8, 9]
    assert users.table["own"] is columns["own"]
    assert columns["code"].tolist() == [3, 4, 5]
    assert kept([0, 2], **columns).table["code"].tolist() == [3, 4, 5]
    assert kept([], **columns).table["code"].tolist() == [-1, 4, -1]


def test_context_that_was_lost_does_not_come_back() -> None:
    users = Entities(np.arange(1), {"code": np.array([3], np.int32)}, context=("code",))
    events = Interactions(
        np.array([0, 3]), np.zeros(3, np.int32), None, np.ones(3, np.float32), users, Entities(np.arange(1))
    )
    later = events.keep(np.array([False, True, True]))
    assert later.keep(np.array([True, False])).users.table["code"].tolist() == [-1]
