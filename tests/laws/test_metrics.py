"""Law 7 through the door: every figure over hits equals a slow textbook loop over the rows of two tables."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import recx
from recx.evaluation.metrics import ranking, stopping

MAX_GRADE = 3
OTHER = {"top_accuracy", *stopping.OF_PROBABILITIES}
"""Another name for hit, and figures that refuse grades above 1."""
NAMES = [figure for figure in (*ranking.FIGURES, *stopping.FIGURES) if figure not in OTHER]

Row = tuple[int, int, float]


def textbook(shown: list[int], grades: dict[int, float], k: int | None, threshold: float) -> dict[str, float]:
    """Return one user's figures; a later copy of an item in the list is worth nothing."""
    gains = [0.0 if item in shown[:place] else max(grades.get(item, 0), 0) for place, item in enumerate(shown)]
    ideal = sorted((max(grade, 0) for grade in grades.values()), reverse=True)
    n_targets = sum(grade >= threshold for grade in ideal)
    if k is not None:
        gains, ideal = gains[:k], ideal[:k]
    hits = [place for place, gain in enumerate(gains, start=1) if gain >= threshold]
    precision = len(hits) / (k or len(shown)) if shown else 0.0
    recall = len(hits) / n_targets
    summed = sum(nth / place for nth, place in enumerate(hits, start=1))
    err, err_log, goes_on = 0.0, 0.0, 1.0
    for place, gain in enumerate(gains, start=1):
        stops = (2**gain - 1) / 2**MAX_GRADE
        err, err_log = err + goes_on * stops / place, err_log + goes_on * stops / math.log2(place + 1)
        goes_on *= 1 - stops
    return {
        "hit": float(bool(hits)),
        "recall": recall,
        "recall_capped": len(hits) / min(k or n_targets, n_targets),
        "precision": precision,
        "f": f(precision, recall, 1),
        "f2": f(precision, recall, 2),
        "f05": f(precision, recall, 0.5),
        "cg": sum(gains),
        "dcg": dcg(gains),
        "ndcg": dcg(gains) / dcg(ideal),
        "dcg_exp": dcg([2**gain - 1 for gain in gains]),
        "ndcg_exp": dcg([2**gain - 1 for gain in gains]) / dcg([2**gain - 1 for gain in ideal]),
        "map": summed / (n_targets if k is None else min(k, n_targets)),
        "map_trec": summed / n_targets,
        "mrr": 1 / hits[0] if hits else 0.0,
        "rbp": sum(0.2 * 0.8 ** (place - 1) for place in hits),
        "err": err,
        "err_log": err_log,
        "cascade": 1 - goes_on,
    }


def f(precision: float, recall: float, beta: float) -> float:
    if precision + recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def worked_by_hand(rows: list[Row], truth: list[Row], k: int | None, threshold: float) -> dict[int, dict[str, float]]:
    """Return user -> figure -> value of every user with a relevant target."""
    grades: dict[int, dict[int, float]] = {}
    for user, item, grade in truth:
        of_user = grades.setdefault(user, {})
        of_user[item] = max(grade, of_user.get(item, -math.inf))
    values = {}
    for user, of_user in grades.items():
        if any(grade >= threshold for grade in of_user.values()):
            mine = [(item, score) for other, item, score in rows if other == user]
            shown = [item for item, _ in sorted(mine, key=lambda row: -row[1])]
            values[user] = textbook(shown, of_user, k, threshold)
    return values


ROW = st.tuples(st.integers(0, 4), st.integers(0, 9), st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]))
TARGET = st.tuples(st.integers(0, 5), st.integers(0, 9), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]))


@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    truth=st.lists(TARGET, min_size=1, max_size=20),
    k=st.none() | st.integers(1, 14),
    threshold=st.sampled_from([0.5, 1.0, 2.0]),
    ids=st.sampled_from(["int", "sparse", "text"]),
)
@example([(0, 1, 0.5), (1, 1, 0.5), (0, 1, 0.5)], [(0, 1, 1.0), (1, 2, 1.0)], 1, 1.0, "int")
def test_every_figure_equals_the_textbook_loop(
    rows: list[Row], truth: list[Row], k: int | None, threshold: float, ids: str
) -> None:
    """Rows of all users mixed, items twice, ties, users without list or target, grades on both sides of 0, any k."""
    expected = worked_by_hand(rows, truth, k, threshold)
    assume(set(expected) & {user for user, _, _ in rows})

    evaluation = recx.evaluate(
        frame(rows, "score", ids),
        frame(truth, "grade", ids),
        [name if k is None else f"{name}_at_{k}" for name in NAMES],
        on_duplicates="first",
        rel_threshold=threshold,
        max_grade=MAX_GRADE,
    )

    assert evaluation.users.tolist() == [named(user, ids) for user in expected]  # by first appearance in the truth
    for figure in NAMES:
        values = evaluation.values[figure if k is None else f"{figure}_at_{k}"]
        assert values == pytest.approx([of[figure] for of in expected.values()], abs=1e-12), figure
    counted = evaluation.notes
    assert counted["users_judged"] == len(expected)
    assert counted["users_without_list"] == len(set(expected) - {user for user, _, _ in rows})
    assert counted["users_without_target"] == len({user for user, _, _ in truth}) - len(expected)
    assert counted["users_only_in_lists"] == len({u for u, _, _ in rows} - {u for u, _, _ in truth})
    assert counted["targets_duplicated"] == len(truth) - len({(user, item) for user, item, _ in truth})


@given(
    lists=st.lists(st.lists(st.integers(0, 300), unique=True, max_size=120), min_size=1, max_size=4),
    targets=st.lists(st.sets(st.integers(0, 300), min_size=1, max_size=120), min_size=4, max_size=4),
    seed=st.integers(0, 9),
)
def test_users_with_many_targets_and_rows_in_any_order(
    lists: list[list[int]], targets: list[set[int]], seed: int
) -> None:
    """Where users have more than 48 targets they are searched. Scores without ties, so that rows may be shuffled."""
    assume(any(lists))
    rows = [(user, item, -float(place)) for user, shown in enumerate(lists) for place, item in enumerate(shown)]
    truth = [(user, item, 1.0) for user, items in enumerate(targets) for item in sorted(items)]
    expected = worked_by_hand(rows, truth, 50, 1.0)
    names = ["recall_at_50", "ndcg_at_50", "map_at_50", "precision_at_50"]
    shuffled = [table.sample(frac=1, random_state=seed) for table in (frame(rows, "score"), frame(truth, "grade"))]
    for tables in ([frame(rows, "score"), frame(truth, "grade")], shuffled):
        per_user = recx.evaluate(*tables, names).per_user.set_index("user")
        for name in names:
            values = [expected[user][name.removesuffix("_at_50")] for user in range(4)]
            assert per_user.loc[range(4), name].tolist() == pytest.approx(values, abs=1e-12), name


def named(number: int, ids: str) -> Any:
    return {"int": number, "sparse": (number - 2) * 10**15, "text": f"id {number}"}[ids]


def frame(rows: list[Row], value: str, ids: str = "int") -> pd.DataFrame:
    named_rows = [(named(user, ids), named(item, ids), number) for user, item, number in rows]
    return pd.DataFrame(named_rows, columns=["user", "item", value])
