"""A program's answer is checked row by row: what is wrong is refused, what may not be shown is dropped and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recx.core.entities import ClassLists, Entities
from recx.core.errors import InputError, RecxError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.program_files import (
    Rows,
    lists_of_rows,
    read_rows,
    scores_of_rows,
    write_candidates,
    write_history,
)
from recx.parts.shared.top_k import Eligibility
from recx.testing import tiny_world
from recx.testing.tiny_dataset import everyone_asks, last_out, some_candidates

KEY = "retriever.command"


def answered(folder: Path, **columns: Any) -> Rows:
    pq.write_table(pa.table(columns), folder / "lists.parquet")
    return read_rows(folder, KEY)


def small(times: bool = True) -> tuple[Interactions, Requests]:
    """Two users, three items, of which the second was first clicked at 20."""
    time = np.array([10, 20, 10], dtype=np.int64) if times else None
    weight = np.ones(3, dtype=np.float32)
    events = np.array([0, 2, 3]), np.array([0, 1, 2], dtype=np.int32), time, weight
    history = Interactions(*events, Entities(np.array(["a", "b"])), Entities(np.arange(3)))
    return history, Requests(np.arange(2, dtype=np.int32), np.array([15, 25], dtype=np.int64) if times else None)


def test_lists_are_sorted_by_score_then_number_and_cut(tmp_path: Path) -> None:
    history, requests = small(times=False)
    rows = answered(tmp_path, user=[1, 0, 0, 0], item=[1, 2, 1, 0], score=[1, 5, 5, 7], other=[0, 0, 0, 0])
    lists = lists_of_rows(rows, history, requests, 2, Eligibility(history, "keep"), KEY)
    assert (lists.indptr.tolist(), lists.item.tolist(), lists.score.tolist()) == ([0, 2, 3], [0, 1, 1], [7, 5, 1])
    assert lists.notes == {"external_requests_short": 1}


def test_what_may_not_be_shown_is_dropped_and_counted(tmp_path: Path) -> None:
    history, requests = small()  # user 0 asks at 15 and has 0 and 1, user 1 asks at 25 and has 2
    rows = answered(tmp_path, user=[0, 0, 0, 1, 1, 1], item=[0, 1, 2] * 2, score=[3.0, 2, 1] * 2)
    lists = lists_of_rows(rows, history, requests, 3, Eligibility(history, "drop"), KEY)
    assert (lists.indptr.tolist(), lists.item.tolist()) == ([0, 1, 3], [2, 0, 1])
    assert lists.notes == {
        "external_values_not_there_yet": 1,
        "external_values_seen": 2,
        "external_requests_short": 2,
    }
    few = Requests(requests.user, requests.time, np.array([True, False, True]))
    lists = lists_of_rows(rows, history, few, 1, Eligibility(history, "keep"), KEY)
    assert (lists.indptr.tolist(), lists.item.tolist()) == ([0, 1, 2], [0, 0])
    assert lists.notes == {"external_values_not_there_yet": 1, "external_values_not_allowed": 1}


def test_everything_of_a_world_is_dropped_that_is_not_eligible(tmp_path: Path) -> None:
    history, requests = everyone_asks(tiny_world())
    user, item = np.repeat(requests.user, history.n_items), np.tile(np.arange(history.n_items), len(requests))
    rows = answered(tmp_path, user=user, item=item, score=np.zeros(len(item)))
    lists = lists_of_rows(rows, history, requests, history.n_items, Eligibility(history, "drop"), KEY)
    np.testing.assert_array_equal(lists.lengths, (~Eligibility(history, "drop").hidden(requests)).sum(axis=1))


WRONG: dict[str, dict[str, Any]] = {
    "row 1: user 99 is not in requests.parquet: correct": {"user": [99], "item": [0], "score": [1.0]},
    "row 2: item 20 is none of the 20 rows of items.parquet (and 1 more rows are like it)": {
        "user": [0, 1, 1],
        "item": [0, 20, -1],
        "score": [1.0, 1, 1],
    },
    "row 3: user 0 has item 3 twice": {"user": [0, 1, 0], "item": [3, 3, 3], "score": [1.0, 1, 1]},
    "row 2: the score is nan, as 0 others": {"user": [0, 1], "item": [3, 3], "score": [1, np.nan]},
    "row 1: the score is -inf, as 1 others": {"user": [0, 1], "item": [3, 3], "score": [-np.inf, np.nan]},
    "column user: it must hold whole numbers, and has double": {"user": [0.0], "item": [3], "score": [1.0]},
    "column item: it must hold whole numbers, and has string": {"user": [0], "item": ["3"], "score": [1.0]},
    "column user: it must hold whole numbers, and has 1 without": {"user": [0, None], "item": [3, 3], "score": [1, 1]},
    "column score: it must hold numbers, and has string": {"user": [0], "item": [3], "score": ["x"]},
    "lists.parquet has no column 'score': let the program": {"user": [0], "item": [3]},
}


@pytest.mark.parametrize(("message", "columns"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_answer_is_refused_with_its_row(message: str, columns: dict[str, Any], tmp_path: Path) -> None:
    history, requests = everyone_asks(tiny_world())
    with pytest.raises(RecxError) as caught:
        lists_of_rows(answered(tmp_path, **columns), history, requests, 5, Eligibility(history, "keep"), KEY)
    assert message in str(caught.value)
    assert str(caught.value).startswith(KEY)


def test_no_answer_or_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecxError, match=r"the program must write lists.parquet \(there is none\)"):
        read_rows(tmp_path, KEY)
    (tmp_path / "lists.parquet").write_text("user,item,score\n")
    with pytest.raises(RecxError, match=r"the program must write lists.parquet \(.*\): correct it"):
        read_rows(tmp_path, KEY)


def test_scores_of_candidates_are_found_in_any_order(tmp_path: Path) -> None:
    lists = RankedLists(
        np.array([0, 1], np.int32), np.array([0, 2, 3]), np.array([2, 0, 1], np.int32), np.zeros(3, np.float32)
    )
    requests = Requests(lists.user)
    rows = answered(tmp_path, user=[1, 0, 0], item=[1, 0, 2], score=[10, 20, 30])
    assert scores_of_rows(rows, lists, requests, 3, KEY).tolist() == [30, 20, 10]
    rows = answered(tmp_path, user=[1, 0], item=[1, 0], score=[10, 20])
    with pytest.raises(RecxError, match="lacks 1 of the 3 candidates, such as item 2 of user 0: let the program"):
        scores_of_rows(rows, lists, requests, 3, KEY)
    rows = answered(tmp_path, user=[1, 0, 0, 0], item=[1, 0, 2, 1], score=[10, 20, 30, 40])
    with pytest.raises(RecxError, match="row 4: item 1 is no candidate of user 0"):
        scores_of_rows(rows, lists, requests, 3, KEY)


def test_texts_classes_and_vectors_are_written_and_a_taken_name_is_refused(tmp_path: Path) -> None:
    history, _ = small()
    table = {"title": np.array(["x", "", "ü"], dtype=object), "kind": np.array([0, -1, 1], dtype=np.int32)}
    genres = ClassLists(indptr_of(np.array([2, 0, 1])), np.array([0, 1, 1], dtype=np.int32))
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    items = Entities(np.array(["p", "q", "r"]), table, vectors, lists={"genres": genres})
    events = (history.indptr, history.item, history.time, history.weight, history.users)
    write_history(tmp_path, Interactions(*events, items))
    found = pq.read_table(tmp_path / "items.parquet").to_pydict()
    assert found == {
        "id": ["p", "q", "r"],
        "title": ["x", "", "ü"],
        "kind": [0, -1, 1],
        "genres": [[0, 1], [], [1]],
        "embedding": [[0, 1], [2, 3], [4, 5]],
        "since": [10, 20, 10],
    }
    with pytest.raises(InputError, match="the items have a column 'since', which an external program"):
        write_history(tmp_path, Interactions(*events, Entities(np.arange(3), {"since": np.zeros(3)})))


def test_candidates_come_with_their_columns(tmp_path: Path) -> None:
    candidates = some_candidates(last_out(tiny_world()))
    write_candidates(tmp_path, candidates)
    table = pq.read_table(tmp_path / "candidates.parquet")
    assert table.column_names == ["first_score", "first_rank", "user", "item", "rank", "score"]
    np.testing.assert_array_equal(table["first_rank"].to_numpy(), candidates.columns["first_rank"])
    np.testing.assert_array_equal(table["user"].to_numpy(), candidates.user[candidates.list_of_row])
