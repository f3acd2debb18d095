"""The competition file: every user in the requested order, always k different items."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.report.writers.submission import Submission

CLICKS = [5, 1, 9, 0, 9, 2]  # of items 0 to 5: the most clicked are 2, 4, 0, 5, 1, 3


def outcome(
    lists: list[list[int]], to_predict: list[int] | None = None, users: list[int] | None = None, fold: str = "predict"
) -> Any:
    """Return the parts of a result that a submission needs: lists of items for users 0, 1, 2 ... (or those given)."""
    asked = np.array(users if users is not None else range(len(lists)), np.int32)
    items = np.repeat(np.arange(len(CLICKS)), CLICKS).astype(np.int32)
    n_users = 10
    history = Interactions(
        indptr=indptr_of(np.array([len(items), *[0] * (n_users - 1)])),
        item=items,
        time=None,
        weight=np.ones(len(items), np.float32),
        users=Entities(np.array([f"u{number}" for number in range(n_users)], object)),
        items=Entities(np.arange(len(CLICKS)) * 100),
        to_predict=None if to_predict is None else np.array(to_predict, np.int32),
    )
    flat = np.array([item for shown in lists for item in shown], np.int32)
    ranked = RankedLists(
        asked, indptr_of(np.array([len(shown) for shown in lists])), flat, -np.arange(len(flat), dtype=np.float32)
    )
    split = SimpleNamespace(fold=SimpleNamespace(history=history))
    experiment = SimpleNamespace(fold=fold)
    return SimpleNamespace(experiment=experiment, interactions=history, recommendations=ranked, split=split)


def rows(path: Path) -> list[list[Any]]:
    return pd.read_csv(path).to_numpy().tolist()


def test_rows_follow_the_order_of_to_predict(tmp_path: Path) -> None:
    result = outcome([[0, 1, 2], [3, 4, 5], [5, 4, 3]], to_predict=[2, 0, 1])
    path = Submission(k=2, user="reader", item="a").write(result, tmp_path)
    assert path.name == "submission.csv"
    assert path.read_text().splitlines()[0] == "reader,a1,a2"
    assert rows(path) == [["u2", 500, 400], ["u0", 0, 100], ["u1", 300, 400]]


def test_a_judged_fold_has_other_users_than_to_predict(tmp_path: Path) -> None:
    path = Submission(k=1).write(outcome([[3], [4]], to_predict=[9], fold="test"), tmp_path)
    assert rows(path) == [["u0", 300], ["u1", 400]]


def test_without_to_predict_rows_follow_the_requests(tmp_path: Path) -> None:
    path = Submission(k=1).write(outcome([[3], [4]], users=[4, 7]), tmp_path)
    assert rows(path) == [["u4", 300], ["u7", 400]]


def test_short_lists_are_filled_with_the_most_clicked(tmp_path: Path) -> None:
    result = outcome([[3], [], [4, 0]], to_predict=[0, 1, 2, 9])
    path = Submission(k=4).write(result, tmp_path)
    assert rows(path) == [
        ["u0", 300, 200, 400, 0],
        ["u1", 200, 400, 0, 500],
        ["u2", 400, 0, 200, 500],
        ["u9", 200, 400, 0, 500],  # no list at all
    ]


@given(
    st.lists(st.lists(st.sampled_from(range(6)), unique=True, max_size=6), min_size=1, max_size=9), st.integers(1, 6)
)
def test_always_k_different_items_that_start_as_the_list_does(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[int]], k: int
) -> None:
    path = Submission(k=k).write(outcome(lists), tmp_path_factory.mktemp("out"))
    written = rows(path)
    assert len(written) == len(lists)
    for shown, (_, *items) in zip(lists, written, strict=True):
        assert len(set(items)) == k
        assert items[: len(shown)] == [100 * item for item in shown[:k]]


def test_a_small_catalogue_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"report\.k=7: .* only 6: choose report\.k=6"):
        Submission(k=7).write(outcome([[0]]), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("k", [0, -1, True, 2.5])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(InputError, match=r"report\.k"):
        Submission(k=k)
