"""Small worlds, spelled out: user -> items shown, user -> {item: grade}."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth

Shown = Mapping[int, Sequence[int]]
Grades = Mapping[int, Mapping[int, float]]
N_USERS, N_ITEMS = 10, 50


def _interactions(rows: list[tuple[int, int, float]]) -> Interactions:
    frame = pd.DataFrame(rows, columns=["user", "item", "weight"]).astype({"user": int, "item": int, "weight": float})
    entities = {"users": Entities(np.arange(N_USERS)), "items": Entities(np.arange(N_ITEMS))}
    return Interactions.from_frame(frame, **entities, order="given")


def _lists(shown: Shown) -> RankedLists:
    """Lists with scores that fall by one a rank."""
    items = [item for user in sorted(shown) for item in shown[user]]
    scores = [float(-rank) for user in sorted(shown) for rank in range(len(shown[user]))]
    return RankedLists(
        user=np.array(sorted(shown), dtype=np.int32),
        indptr=indptr_of(np.array([len(shown[user]) for user in sorted(shown)], dtype=np.int64)),
        item=np.array(items, dtype=np.int32),
        score=np.array(scores, dtype=np.float32),
    )


def _fold(grades: Grades) -> Fold:
    target = _interactions([(u, i, g) for u, items in grades.items() for i, g in items.items()])
    return Fold(_interactions([]), target, Requests(np.unique(target.user)))


@pytest.fixture(scope="session")
def lists_of() -> Callable[[Shown], RankedLists]:
    return _lists


@pytest.fixture(scope="session")
def fold_of() -> Callable[[Grades], Fold]:
    return _fold


@pytest.fixture(scope="session")
def judge() -> Callable[..., JudgedLists]:
    def judged(shown: Shown, grades: Grades, rel_threshold: float = 1.0) -> JudgedLists:
        return GroundTruth.of(_fold(grades), rel_threshold).judge(_lists(shown))

    return judged
