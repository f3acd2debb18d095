from __future__ import annotations

import math

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.jobs.benchmark.figures import balance, grades_as_text, grades_of, seconds_of


def test_the_balance_by_hand() -> None:
    assert balance(0.6, 2.0, 1.5) == pytest.approx(0.2)
    assert math.isnan(balance(0.6, float("nan"), 1.0))
    assert math.isnan(balance(0.6, 0.0, 1.0))


def test_stages_that_were_measured_take_what_their_calls_took() -> None:
    chain = {"load": 1.0, "fit_ranker": 0.0, "retrieve": 5.0, "rank": 9.0, "total": 16.0}
    measured = {"fit_s": 2.0, "ns": np.array([1_000_000_000, 500_000_000])}
    expected = {"load": 1.0, "fit_ranker": 2.0, "retrieve": 5.0, "total": 16.0, "rank": 1.5}
    assert seconds_of(chain, measured, {}) == expected
    assert seconds_of(chain, measured, {"ns": np.array([250_000_000])}) == {**expected, "retrieve": 0.25}
    assert "rank" not in seconds_of(chain, {"fit_s": 2.0}, {})


def test_grades_are_counted_over_the_documents_offered_and_told_grades_as_text() -> None:
    items = Entities(np.arange(6))
    users = Entities(np.arange(2))
    empty = Interactions(
        np.zeros(3, dtype=np.int64), np.zeros(0, np.int32), None, np.zeros(0, np.float32), users, items
    )
    target = Interactions(
        indptr_of(np.array([2, 2])),
        np.array([0, 3, 1, 5], np.int32),
        None,
        np.array([3, 1, 2, 1], np.float32),
        users,
        items,
    )
    candidates = RankedLists(
        user=np.array([0, 1], np.int32),
        indptr=np.array([0, 3, 5]),
        item=np.array([4, 3, 0, 1, 2], np.int32),  # user 1's document 5 was not offered
        score=np.zeros(5, np.float32),
    )
    fold = Fold(empty, target, Requests(np.array([0, 1], np.int32)))
    assert grades_of(candidates, fold) == {"0": 2, "1": 1, "2": 1, "3": 1}
    counts = {"3": 1, "0": 5, "1": 4, "2": 3, "4": 2, "0.5": 6}
    assert list(grades_as_text(counts).items()) == [
        ("0 not relevant", 5),
        ("0.5", 6),
        ("1 weakly relevant", 4),
        ("2 relevant", 3),
        ("3 highly relevant", 1),
        ("4", 2),
    ]
    assert grades_as_text({"0": 7, "1": 2}) == {"0 not relevant": 7, "1 relevant": 2}  # a click is not a weak one
