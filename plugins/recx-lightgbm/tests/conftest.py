"""Test data whose right order is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from recx.plugin import Array, Entities, Floats, Fold, Interactions, RankedLists, Requests, indptr_of


@dataclass(frozen=True)
class Column:
    """Feature: a column that the candidates came with."""

    name: str

    def fit(self, history: Interactions) -> Column:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return candidates.columns[self.name]


@dataclass(frozen=True)
class World:
    """candidates: of 120 users, 10 each, with columns. grade: of every row. features: name -> column."""

    candidates: RankedLists
    fold: Fold
    grade: Array

    @property
    def features(self) -> dict[str, Column]:
        return {name: Column(name) for name in self.candidates.columns}


def make_world(users: int = 120, length: int = 10, seed: int = 0) -> World:
    """Grades 0 to 2 depend on ``good`` times the sign of ``sign``, which no linear model can learn."""
    rng = np.random.default_rng(seed)
    n = users * length
    good, sign, noise = (rng.normal(size=n).astype(np.float32) for _ in range(3))
    grade = np.digitize(good * np.sign(sign) + 0.3 * rng.normal(size=n), [0.8, 1.6]).astype(np.float32)
    user, item = np.repeat(np.arange(users), length), rng.permutation(n).astype(np.int32)
    everyone, items = Entities(np.arange(users) + 1000), Entities(np.arange(n))

    def events(rows: Array) -> Interactions:
        indptr = indptr_of(np.bincount(user[rows], minlength=users))
        return Interactions(indptr, item[rows], None, grade[rows], everyone, items)

    target = events(grade > 0)
    columns = {"good": good, "sign": sign, "noise": noise, "constant": np.ones(n, dtype=np.float32)}
    lists = RankedLists(
        np.arange(users, dtype=np.int32),
        indptr_of(np.full(users, length)),
        item,
        np.zeros(n, dtype=np.float32),
        columns,
    )
    asked = np.flatnonzero(target.lengths).astype(np.int32)
    return World(lists, Fold(events(np.zeros(n, dtype=bool)), target, Requests(asked)), grade)


@pytest.fixture
def world() -> Callable[..., World]:
    return make_world
