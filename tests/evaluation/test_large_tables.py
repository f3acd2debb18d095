"""Large Parquet files give what frames of their rows give, whatever the blocks; what is odd is read whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation import large_tables

METRICS = ["ndcg_at_3", "recall", "mrr", "auc", "coverage_at_2", "serendipity_at_2", "gini", "accuracy"]
APART = 2**40 + 3
ROW = st.tuples(st.integers(0, 5), st.integers(0, 8), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
TARGET = st.tuples(st.integers(0, 6), st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0, 3.0]))


@pytest.fixture(autouse=True)
def _read_by_three_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_tables, "ROWS", 3)


def written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_parquet(path, index=False, row_group_size=4)
    return path


def same(one: Evaluation, other: Evaluation) -> None:
    assert one.users.tolist() == other.users.tolist()
    assert one.users.dtype == other.users.dtype
    for name, values in one.values.items():
        assert np.array_equal(values, other.values[name], equal_nan=True), name
    assert one.scalars == other.scalars
    assert one.notes == other.notes
    assert one.protocol == other.protocol


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(ROW, min_size=3, max_size=30, unique_by=lambda row: row[:2]),
    truth=st.lists(TARGET, min_size=3, max_size=20),
    apart=st.sampled_from([1, APART, -APART]),
    kinds=st.tuples(st.sampled_from(["int64", "int32", "uint32", "int16"]), st.sampled_from(["float64", "float32"])),
    graded=st.booleans(),
    grouped=st.booleans(),
)
def test_a_large_file_gives_what_a_frame_gives(
    tmp_path: Path, rows: Any, truth: Any, apart: int, kinds: tuple[str, str], graded: bool, grouped: bool
) -> None:
    """Rows grouped or in any order, ties, ids close together or far apart and negative, types that are narrower."""
    rows = sorted(rows, key=lambda row: row[0]) if grouped else rows
    lists = pd.DataFrame(rows, columns=["user", "item", "score"]).astype({"score": kinds[1]})
    targets = pd.DataFrame(truth, columns=["user", "item", "grade"])
    if apart == 1:
        lists = lists.astype({"user": kinds[0], "item": kinds[0]})
    else:
        lists[["user", "item"]] *= apart
        targets[["user", "item"]] *= apart
    targets = targets if graded else targets[["user", "item"]]
    events = pd.DataFrame({"user": [0, apart], "item": [0, 2 * apart]})

    def outcome(*tables: Any) -> Evaluation | str:
        try:
            return recx.evaluate(*tables, METRICS, history=events, name="of either")
        except InputError as error:
            return str(error)

    files = written(lists, tmp_path / "lists.parquet"), written(targets, tmp_path / "truth.parquet")
    of_files, of_frames = outcome(*files), outcome(lists, targets)
    if isinstance(of_files, Evaluation) and isinstance(of_frames, Evaluation):
        same(of_files, of_frames)
    else:
        assert of_files == of_frames


LISTS = pd.DataFrame({"user": [4, 4, 7, 7], "item": [1, 2, 1, 3], "score": [0.9, 0.8, 0.7, 0.6]})


def test_the_usual_file_is_read_in_blocks(tmp_path: Path) -> None:
    lists = large_tables.lists_of(written(LISTS[["score", "item", "user"]], tmp_path / "lists.parquet"), "auto")
    assert lists is not None
    assert lists.users.tolist() == [4, 7]
    assert lists.items[lists.item].tolist() == [1, 2, 1, 3]
    assert lists.value.tolist() == [0.9, 0.8, 0.7, 0.6]
    shuffled = LISTS.iloc[[2, 0, 3, 1]]
    lists = large_tables.lists_of(written(shuffled, tmp_path / "lists.parquet"), "score")
    assert lists is not None
    assert lists.users.tolist() == [7, 4]
    assert lists.items[lists.item].tolist() == [1, 3, 1, 2]


@pytest.mark.parametrize(
    ("change", "order"),
    [
        ({}, "given"),
        ({}, "rank"),
        ({"rank": [1, 2, 1, 2]}, "auto"),
        ({"position": [1, 2, 1, 2]}, "auto"),
        ({"user": ["a", "a", "b", "b"]}, "auto"),
        ({"item": [1.0, 2.0, 1.0, 3.0]}, "auto"),
        ({"item": np.array([1, 2, 1, 3], dtype=np.uint64)}, "auto"),
        ({"score": [3, 2, 2, 1]}, "auto"),
        ({"score": None}, "score"),
    ],
)
def test_what_says_more_than_ids_and_scores_is_read_whole(tmp_path: Path, change: dict[str, Any], order: Any) -> None:
    frame = LISTS.assign(**change)
    frame = frame[[name for name in frame if not (name in change and change[name] is None)]]
    assert large_tables.lists_of(written(frame, tmp_path / "lists.parquet"), order) is None


def test_a_rank_beside_a_score_that_alone_counts_is_left_unread(tmp_path: Path) -> None:
    path = written(LISTS.assign(rank=[1, 2, 1, 2]), tmp_path / "lists.parquet")
    assert large_tables.lists_of(path, "score") is not None


def test_truth_whose_grades_could_be_elsewhere_is_read_whole(tmp_path: Path) -> None:
    frame = LISTS[["user", "item"]]
    assert large_tables.truth_of(written(frame, tmp_path / "truth.parquet")) is not None
    assert large_tables.truth_of(written(frame.assign(grade=1.5), tmp_path / "truth.parquet")) is not None
    for name in ("rating", "clicked", "relevance"):
        assert large_tables.truth_of(written(frame.assign(**{name: 1.5}), tmp_path / "truth.parquet")) is None


def test_small_files_and_files_of_another_kind_are_read_whole(tmp_path: Path) -> None:
    for name, content in {"a.csv": b"user,item,score\n1,2,3\n", "b.parquet": b"PAR1 damaged", "c": b""}.items():
        (tmp_path / name).write_bytes(content)
        assert large_tables.lists_of(tmp_path / name, "auto") is None
    assert large_tables.lists_of(tmp_path / "nowhere", "auto") is None
    assert large_tables.lists_of(written(LISTS[:2], tmp_path / "small.parquet"), "auto") is None


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_number_that_is_missing_or_infinite_is_named_with_its_row(tmp_path: Path, shuffled: bool) -> None:
    order = [2, 0, 3, 1, 4] if shuffled else [0, 1, 2, 3, 4]
    users, scores = [4, 4, 7, 7, 7], [0.9, 0.8, 0.7, float("inf"), 0.5]
    frame = pd.DataFrame({"user": users, "item": range(5), "score": scores}).iloc[order]
    path = written(frame, tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=rf"the score of user 7 in row {order.index(3) + 1} is inf: every score must"):
        large_tables.lists_of(path, "auto")


def test_a_missing_id_is_named_with_its_row(tmp_path: Path) -> None:
    table = pa.table({"user": [4, 4, 4, None], "item": [1, 2, 3, 4], "score": [0.4, 0.3, 0.2, 0.1]})
    pq.write_table(table, tmp_path / "lists.parquet")
    with pytest.raises(InputError, match="column 'user', row 4: the value is missing: fill it in or remove the row"):
        large_tables.lists_of(tmp_path / "lists.parquet", "auto")
