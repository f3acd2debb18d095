"""The table of a run's lists: every pair once, with the ranks of both stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.experiment import list_files
from recx.experiment.list_files import ListTable, in_order_of_retriever, most_kept

N_ITEMS = 7


def data_of(users: list[Any], items: list[Any]) -> Interactions:
    kinds = [np.dtype(object) if isinstance(ids[0], str) else np.dtype(np.int64) for ids in (users, items)]
    return Interactions(
        indptr=np.zeros(len(users) + 1, np.int64),
        item=np.zeros(0, np.int32),
        time=None,
        weight=np.zeros(0, np.float32),
        users=Entities(np.array(users, dtype=kinds[0])),
        items=Entities(np.array(items, dtype=kinds[1])),
    )


@st.composite
def tables(draw: st.DrawFn) -> ListTable:
    """Draw lists and the same pairs in another order; a column of the retriever, and one that the ranker adds."""
    found = draw(st.lists(st.lists(st.integers(0, N_ITEMS - 1), unique=True, max_size=5), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    names = [f"u{number}" for number in range(9)], [f"i{number}" for number in range(N_ITEMS)]
    ids = names if draw(st.booleans()) else ([*range(10**12, 10**12 + 9)], [*range(-3, N_ITEMS - 3)])
    n_rows, floats = sum(map(len, found)), draw(st.sampled_from([np.float32, np.float64]))
    before = RankedLists(
        user=np.sort(rng.permutation(9)[: len(found)]).astype(np.int32),
        indptr=indptr_of(np.array([len(one) for one in found])),
        item=np.array([item for one in found for item in one], np.int32),
        score=np.concatenate([np.zeros(0), *(np.sort(rng.random(len(one)))[::-1] for one in found)]).astype(floats),
        columns={"knn_rank": np.where(rng.random(n_rows) < 0.5, np.nan, rng.random(n_rows)).astype(np.float32)},
    )
    after = before.reorder(rng.integers(0, 3, n_rows).astype(np.float32))
    chosen = draw(st.sampled_from([after.columns, {}, {"knn_rank": after.columns["knn_rank"], "own": after.score}]))
    after = RankedLists(after.user, after.indptr, after.item, after.score, chosen)
    return ListTable(after, before, data_of(*ids))


def by_hand(table: ListTable) -> list[dict[str, Any]]:
    """Return the rows of the table, one user after the other."""
    rows, users, items = [], table.interactions.users.ids, table.interactions.items.ids
    for place in range(table.candidates.n_lists):
        after, before = table.recommendations[place : place + 1], table.candidates[place : place + 1]
        for rank, item in enumerate(after.item.tolist()):
            there = before.item.tolist().index(item)
            columns = {name: column[there] for name, column in before.columns.items()}
            columns |= {name: column[rank] for name, column in after.columns.items()}
            row = {"user": users[after.user[0]], "rank": rank + 1, "item": items[item], "score": after.score[rank]}
            rows.append({**row, "retriever_rank": there + 1, "retriever_score": before.score[there], **columns})
    return rows


@given(table=tables(), rows_a_block=st.sampled_from([1, 3, 100]), most=st.sampled_from([None, 1, 3]))
def test_the_file_has_a_row_for_each_pair(
    tmp_path_factory: pytest.TempPathFactory, table: ListTable, rows_a_block: int, most: int | None
) -> None:
    path = tmp_path_factory.mktemp("lists") / "lists.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(list_files, "ROWS_A_BLOCK", rows_a_block)
        table.write(path, most)
        frame = table.frame()
    expected = pd.DataFrame(by_hand(table), columns=frame.columns)
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert {str(frame[name].dtype) for name in ("rank", "retriever_rank")} == {"int32"}
    read = pd.read_parquet(path)
    pd.testing.assert_frame_equal(read, frame if most is None else frame[frame["rank"] <= most].reset_index(drop=True))
    said = (pq.read_metadata(path).metadata or {}).get(list_files.CUT)
    assert said == (str(most).encode() if most is not None and len(read) < len(frame) else None)
    assert not list(path.parent.glob(".*"))


@given(table=tables())
def test_the_retrievers_lists_come_back(table: ListTable) -> None:
    again, before = table.frame("candidates"), table.candidates
    assert again.equals(in_order_of_retriever(table.frame()))
    assert again["user"].tolist() == table.interactions.users.ids[before.user[before.list_of_row]].tolist()
    assert again["rank"].tolist() == before.rank.tolist()
    assert again["item"].tolist() == table.interactions.items.ids[before.item].tolist()
    np.testing.assert_array_equal(again["score"], before.score)
    np.testing.assert_array_equal(again["knn_rank"], before.columns["knn_rank"])


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    none = RankedLists(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    ListTable(none, none, data_of(["a"], ["x"])).write(tmp_path / "none.parquet", 3)
    frame = pd.read_parquet(tmp_path / "none.parquet")
    assert list(frame.columns) == ["user", "rank", "item", "score", "retriever_rank", "retriever_score"]
    assert len(frame) == 0


@pytest.mark.parametrize(
    ("lists", "most"),
    [("all", None), ("off", 0), (False, 0), ("top:1", 1), ("top:20", 20), ("top:999999999", 999999999)],
)
def test_how_much_is_kept(lists: object, most: int | None) -> None:
    assert most_kept(lists) == most


@pytest.mark.parametrize("lists", ["top", "top:0", "top:-1", "top:2.5", "top: 3", "Top:3", "", None, True, 20, ["all"]])
def test_anything_else_is_one_sentence(lists: object) -> None:
    with pytest.raises(InputError, match=r"^lists=.*: it must be all, off or top:N, such as top:20$"):
        most_kept(lists)
