"""EB-NeRD's files: impressions, what they showed, clicks, and the history of their readers."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recx.core.errors import InputError
from recx.parts.dataset.ebnerd import Ebnerd
from recx.parts.dataset.recognised_files import known_as

MAY = [datetime(2023, 5, day) for day in range(1, 31)]


def write(folder: Path, *, test: bool = False) -> Path:
    """Write three impressions of two readers; the second shows an article without a click on it."""
    log = {
        "impression_id": pa.array([30, 10, 20], pa.uint32()),
        "user_id": pa.array([7, 8, 7], pa.uint32()),
        "impression_time": pa.array([MAY[20], MAY[21], MAY[22]], pa.timestamp("us")),
        "article_ids_inview": pa.array([[3, 1, 2], [2, 4], [4, 5]], pa.list_(pa.int32())),
        "article_ids_clicked": pa.array([[1], [], [5, 9]], pa.list_(pa.int32())),
    }
    if test:
        del log["article_ids_clicked"]
    past = {
        "user_id": pa.array([7], pa.uint32()),
        "impression_time_fixed": pa.array([[MAY[1], MAY[0]]], pa.list_(pa.timestamp("us"))),
        "article_id_fixed": pa.array([[2, 3]], pa.list_(pa.int32())),
    }
    about = {
        "article_id": pa.array([1, 6], pa.int32()),
        "title": ["One", "Six"],
        "subtitle": ["first", None],
        "category": pa.array([140, 118], pa.int16()),
        "published_time": pa.array([MAY[0], MAY[2]], pa.timestamp("us")),
    }
    (folder / "train").mkdir()
    pq.write_table(pa.table(log), folder / "train" / "behaviors.parquet")
    pq.write_table(pa.table(past), folder / "train" / "history.parquet")
    pq.write_table(pa.table(about), folder / "articles.parquet")
    return folder / "train"


def test_impressions_have_a_history_with_times_then_their_clicks(tmp_path: Path) -> None:
    events = Ebnerd(str(write(tmp_path))).load()
    assert events.users.ids.tolist() == [30, 10, 20]
    assert events.users.table["reader"].tolist() == [0, 1, 0]
    assert events.items.ids.tolist() == [1, 2, 3, 4, 5, 6, 9]
    assert events.indptr.tolist() == [0, 3, 3, 6]
    assert events.items.ids[events.item].tolist() == [3, 2, 1, 3, 2, 5]
    assert events.time is not None
    day = 86_400_000
    assert ((events.time - events.time[0]) // day).tolist() == [0, 1, 20, 0, 1, 22]
    assert events.slates is not None
    assert events.slates.lengths.tolist() == [3, 2, 2]
    assert events.to_predict is None
    assert events.items.table["text"].tolist() == ["One first", "", "", "", "", "Six", ""]
    assert events.items.table["category"].tolist() == [1, -1, -1, -1, -1, 0, -1]
    wanted = {"impressions_without_click": 1, "impressions_without_history": 0, "clicks_not_shown": 1}
    assert {name: events.notes[name] for name in wanted} == wanted


def test_a_history_counts_once_for_each_impression_of_its_reader(tmp_path: Path) -> None:
    events = Ebnerd(str(write(tmp_path))).load()
    assert dict(zip(events.items.ids.tolist(), events.clicks.tolist(), strict=True)) == {
        **{1: 1, 2: 2, 3: 2},  # 2 and 3 are of the history, 1 and 5 clicks of impressions
        **{4: 0, 5: 1, 6: 0, 9: 0},
    }


def test_without_clicks_all_are_to_predict(tmp_path: Path) -> None:
    events = Ebnerd(str(write(tmp_path, test=True))).load()
    assert events.to_predict is not None
    assert events.to_predict.tolist() == [0, 1, 2]
    assert events.items.ids[events.item].tolist() == [3, 2, 3, 2]
    assert events.notes["impressions_without_history"] == 1


def test_the_folder_is_recognised(tmp_path: Path) -> None:
    known = known_as(write(tmp_path))
    assert known is not None
    assert known.name == "ebnerd"


def test_a_file_without_its_columns_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    pq.write_table(pa.table({"user_id": [1]}), folder / "history.parquet")
    with pytest.raises(InputError, match=r"history.parquet: column 'article_id_fixed' is missing"):
        Ebnerd(str(folder)).load()


def test_impressions_without_a_click_may_be_kept_and_ask_without_an_answer(tmp_path: Path) -> None:
    events = Ebnerd(str(write(tmp_path)), without_click="keep").load()
    assert events.indptr.tolist() == [0, 3, 4, 7]
    assert events.items.ids[events.item].tolist() == [3, 2, 1, 2, 3, 2, 5]
    assert events.weight.tolist() == [1, 1, 1, 0, 1, 1, 1]
    wanted = {"impressions_without_click": 1, "impressions_kept_without_click": 1, "clicks_not_shown": 1}
    assert {name: events.notes[name] for name in wanted} == wanted
    assert events.notes["impressions_without_history"] == 1  # that of the reader without a history
