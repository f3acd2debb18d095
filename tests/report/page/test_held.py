"""What became of users, and the curves, by numbers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from recx.entities import Entities
from recx.judged import Judged
from recx.ragged import indptr_of
from recx.report.page.held import Held, curves, cut_of, first_rank, ndcg
from recx.truth import Truth
from recx.types import Interactions, RankedLists

N_ITEMS = 9


def judged(shown: list[list[int]], targets: list[dict[int, float]]) -> Judged:
    """Return lists, one a user, held against targets with grades."""
    pairs = [(user, item, grade) for user, of_user in enumerate(targets) for item, grade in of_user.items()]
    users, items = Entities(np.arange(len(targets))), Entities(np.arange(N_ITEMS))
    none = np.zeros(0, np.int32)
    history = Interactions(np.zeros(len(targets) + 1, np.int64), none, None, np.zeros(0, np.float32), users, items)
    user, item, grade = (np.array(column) for column in zip(*pairs, strict=True))
    truth = Truth.of_pairs(user.astype(np.int32), item.astype(np.int32), grade.astype(np.float32), history, 1.0)
    lengths = np.array([len(one) for one in shown])
    flat = np.concatenate([np.array(one, np.int32) for one in shown])
    return truth.judge(RankedLists(np.arange(len(shown), dtype=np.int32), indptr_of(lengths), flat, -flat.astype("f4")))


def held(before: list[list[int]], after: list[list[int]], k: int) -> Held:
    targets = [{0: 1.0} for _ in before]
    result = cast(Any, SimpleNamespace())
    return Held(result, cast(Any, None), judged(before, targets), judged(after, targets), k)


def test_every_user_is_of_one_kind() -> None:
    before = [[0, 1, 2], [1, 2, 0], [0, 1, 2], [1, 2, 0], [1, 2, 3]]
    after = [[0, 2, 1], [0, 1, 2], [1, 2, 0], [2, 1, 0], [3, 2, 1]]
    one = held(before, after, k=1)
    assert one.kind.tolist() == [0, 1, 2, 3, 4]
    assert one.retrieved.tolist() == [1, 3, 1, 3, 0]
    assert one.rank.tolist() == [1, 1, 3, 3, 0]
    assert one.lift.tolist() == [0, 1, -1, 0, 0]


def test_the_first_rank_is_of_a_relevant_target() -> None:
    assert first_rank(judged([[3, 4, 5]], [{3: 0.5, 5: 1.0}])).tolist() == [3]


def test_ndcg_goes_by_gain_and_an_ideal_cut_alike() -> None:
    lists = judged([[1, 2, 3]], [{2: 1.0, 3: 2.0, 5: 1.0}])
    shown = 1 / np.log2(3) + 2 / np.log2(4)
    best = 2 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert ndcg(lists, 3) == pytest.approx([shown / best])
    assert ndcg(lists, 1) == pytest.approx([0])


def test_curves_are_means_over_users_at_every_cut() -> None:
    lists = judged([[1, 2, 3], [4, 5, 6]], [{2: 1.0, 3: 2.0, 7: 1.0}, {4: 1.0}])
    cuts = np.array([1, 2, 3])
    found = curves(lists, cuts)
    assert found["recall"] == pytest.approx([1 / 2, (1 / 3 + 1) / 2, (2 / 3 + 1) / 2])
    assert found["ndcg"] == pytest.approx([ndcg(lists, int(k)).mean() for k in cuts])
    thinned = curves(lists, np.array([1, 3]))
    assert thinned["ndcg"] == pytest.approx([found["ndcg"][0], found["ndcg"][2]])


@pytest.mark.parametrize(
    ("objective", "means", "k"),
    [
        ("end_to_end/ndcg_at_7", {}, 7),
        ("end_to_end/top_3_accuracy", {}, 3),
        ("end_to_end/mrr", {"end_to_end/hit_at_5": 0.1, "end_to_end/hit_at_20": 0.1}, 5),
        ("", {"end_to_end/hit_at_20": 0.1, "retrieval/hit_at_2": 0.1}, 10),
    ],
)
def test_the_page_goes_by_the_cut_of_the_objective(objective: str, means: dict[str, float], k: int) -> None:
    assert cut_of(objective, means) == k
