"""Binary preference by hand, by its definition on random judgements, and where nothing was judged not relevant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError

JUDGED = pd.DataFrame(
    {"user": ["q"] * 6, "item": ["a", "b", "c", "x", "y", "z"], "grade": [1, 2, 1, 0, 0, 0]},
)


def value(shown: list[str], judged: pd.DataFrame = JUDGED, **settings: float) -> float:
    lists = pd.DataFrame({"user": "q", "item": shown, "rank": np.arange(len(shown)) + 1})
    return recx.evaluate(lists, judged, ["bpref"], **settings).means["bpref"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (["a", "b", "c", "x", "y", "z"], 1.0),
        (["x", "y", "z", "a", "b", "c"], 0.0),
        (["a", "x", "b", "y", "c"], (1 + 2 / 3 + 1 / 3) / 3),
        (["u", "a", "v", "w", "x", "b"], (1 + 2 / 3) / 3),  # what was not judged plays no part
        (["x", "u"], 0.0),
    ],
)
def test_values_by_hand(shown: list[str], expected: float) -> None:
    assert value(shown) == pytest.approx(expected)


def test_the_smaller_of_both_numbers_bounds_it() -> None:
    # Three targets and one item judged not relevant: what is below it gains nothing, min(1, 3) / min(1, 3) = 1.
    assert value(["a", "x", "b", "c"], JUDGED[:4]) == pytest.approx(1 / 3)
    # Two targets and three items that are not: above c are two of them, min(2, 2) / min(3, 2) = 1.
    assert value(["a", "x", "y", "c"], JUDGED[JUDGED.item != "b"]) == pytest.approx(1 / 2)


def test_grades_below_the_threshold_were_judged_not_relevant_and_negative_ones_not_judged() -> None:
    graded = JUDGED.assign(grade=[1, 2, 1, 0, -1, -1])
    assert value(["a", "y", "b", "z"], graded) == pytest.approx(2 / 3)
    # From 2 on, b is relevant; a and c are not, and x.
    assert value(["a", "b"], JUDGED, rel_threshold=2) == 0.0
    assert value(["b", "a"], JUDGED, rel_threshold=2) == 1.0
    assert value(["a", "b", "c"], JUDGED[:3], rel_threshold=2) == 0.0


def test_an_item_that_is_listed_again_counts_once() -> None:
    lists = pd.DataFrame({"user": "q", "item": ["x", "x", "a"], "rank": [1, 2, 3]})
    found = recx.evaluate(lists, JUDGED, ["bpref"], on_duplicates="first")
    assert found.means["bpref"] == pytest.approx((1 - 1 / 3) / 3)


def test_users_for_whom_nothing_was_judged_not_relevant_are_counted() -> None:
    judged = pd.concat([JUDGED, pd.DataFrame({"user": ["r", "r"], "item": ["a", "b"], "grade": [1, 1]})])
    lists = pd.DataFrame({"user": ["q", "r"], "item": ["a", "a"], "rank": 1})
    found = recx.evaluate(lists, judged, ["bpref"])
    assert found.per_user["bpref"].tolist() == pytest.approx([1 / 3, 1 / 2])
    assert found.notes["bpref_nothing_judged_irrelevant"] == 1


def test_judgements_of_relevant_items_alone_are_refused() -> None:
    with pytest.raises(InputError, match=r"no grade here is below rel_threshold=1: .* with grade 0 .* use map, ndcg"):
        value(["a"], JUDGED[:3])
    with pytest.raises(InputError, match="takes no cut"):
        recx.metric("bpref", k=10)


@pytest.mark.parametrize("rel_threshold", [1.0, 2.0])
def test_random_judgements_by_the_definition(rel_threshold: float) -> None:
    rng = np.random.default_rng(4)
    rows = [(u, i, int(rng.integers(-1, 4))) for u in range(40) for i in range(20) if rng.random() < 0.5]
    shown = [(u, int(i), r + 1) for u in range(40) for r, i in enumerate(rng.permutation(25)[: rng.integers(25)])]
    judged, lists = (
        pd.DataFrame(rows, columns=["user", "item", "grade"]),
        pd.DataFrame(shown, columns=["user", "item", "rank"]),
    )
    found = recx.evaluate(lists, judged, ["bpref"], rel_threshold=rel_threshold)
    grades = {(u, i): grade for u, i, grade in rows}
    for user, got in zip(found.users, found.per_user["bpref"], strict=True):
        own = [grade for (u, _), grade in grades.items() if u == user]
        relevant = sum(grade >= rel_threshold for grade in own)
        rejected = sum(0 <= grade < rel_threshold for grade in own)
        total, above = 0.0, 0
        for _, item, _ in [row for row in shown if row[0] == user]:
            grade = grades.get((user, item), -1)
            if grade >= rel_threshold:
                total += 1 - min(above, relevant) / min(rejected, relevant) if above else 1
            elif grade >= 0:
                above += 1
        assert got == pytest.approx(total / relevant)
