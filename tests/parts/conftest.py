"""Small problems for the rankers: lists, folds and features that read a number from a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Fold, Interactions, RankedLists, Requests

Shown = Mapping[int, Mapping[int, Sequence[float]]]
Grades = Mapping[int, Mapping[int, float]]
N_USERS, N_ITEMS = 300, 400


@dataclass(frozen=True)
class Column:
    """The candidates' own column of this name, 0 where it is NaN."""

    name: str

    def fit(self, history: Interactions) -> Column:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return np.nan_to_num(candidates.columns[self.name])


def _events(rows: list[tuple[int, int, float]]) -> Interactions:
    frame = pd.DataFrame(rows, columns=["user", "item", "weight"]).astype({"user": int, "item": int, "weight": float})
    users = Entities(np.array([f"u{user}" for user in range(N_USERS)]))
    frame["user"] = [f"u{user}" for user in frame["user"]]
    return Interactions.from_frame(frame, users=users, items=Entities(np.arange(N_ITEMS)), order="given")


def _lists(shown: Shown) -> RankedLists:
    """User -> item -> its numbers, which become the columns a, b, ..."""
    values = np.array([numbers for items in shown.values() for numbers in items.values()], dtype=np.float32)
    item = np.array([item for items in shown.values() for item in items], dtype=np.int32)
    return RankedLists(
        user=np.array(list(shown), dtype=np.int32),
        indptr=indptr_of(np.array([len(items) for items in shown.values()])),
        item=item,
        score=np.zeros(len(item), dtype=np.float32),
        columns={"abcdefgh"[at]: values[:, at] for at in range(values.shape[1])},
    )


def _fold(grades: Grades) -> Fold:
    target = _events([(user, item, grade) for user, items in grades.items() for item, grade in items.items()])
    return Fold(_events([]), target, Requests(np.array(sorted(grades), dtype=np.int32)))


@pytest.fixture(scope="session")
def column() -> Callable[[str], Column]:
    return Column


@pytest.fixture(scope="session")
def lists_of() -> Callable[[Shown], RankedLists]:
    return _lists


@pytest.fixture(scope="session")
def fold_of() -> Callable[[Grades], Fold]:
    return _fold


@pytest.fixture(scope="session")
def generated() -> Callable[..., tuple[RankedLists, Fold]]:
    """Lists of 3 to 12 items with four features, whose target is drawn by the softmax of known weights."""

    def make(seed: int = 0, users: int = 200) -> tuple[RankedLists, Fold]:
        rng = np.random.default_rng(seed)
        truth = np.array([1.0, -0.5, 0.3, 0.0])
        shown: dict[int, dict[int, Sequence[float]]] = {}
        grades: dict[int, dict[int, float]] = {}
        for user in range(users):
            items = rng.choice(N_ITEMS, rng.integers(3, 13), replace=False)
            numbers = rng.normal(size=(len(items), 4)) * [1, 5, 0.1, 1] + [0, 3, 0, -1]
            odds = np.exp((numbers - [0, 3, 0, -1]) / [1, 5, 0.1, 1] @ truth)
            shown[user] = {int(item): list(line) for item, line in zip(items, numbers, strict=True)}
            grades[user] = {int(rng.choice(items, p=odds / odds.sum())): 1.0}
        return _lists(shown), _fold(grades)

    return make
