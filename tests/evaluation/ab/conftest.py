"""Logs of online tests, spelled out or made up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from recx.evaluation.ab.arms import Arm, arm_of

LISTS = [
    ("u1", "A", "abc", "b"),
    ("u1", "A", "ad", ""),
    ("u2", "A", "abcd", "ca"),
    ("u3", "B", "xy", "y"),
    ("u4", "B", "xy", "x"),
    ("u4", "B", "z", ""),
]
"""User, arm, items shown from the top, items clicked."""


def by_list(lists=LISTS):
    """Return the log with a row a list."""
    rows = [(user, arm, list(items), list(clicked)) for user, arm, items, clicked in lists]
    return pd.DataFrame(rows, columns=["user", "arm", "shown", "clicked"])


def by_item(lists=LISTS):
    """Return the log with a row an item."""
    rows = [
        (user, arm, of, item, position, int(item in clicked))
        for of, (user, arm, items, clicked) in enumerate(lists)
        for position, item in enumerate(items, start=1)
    ]
    return pd.DataFrame(rows, columns=["user", "arm", "list", "item", "position", "clicked"])


def simulated(rng: np.random.Generator, name: str, n_users: int, lift: float = 1.0) -> tuple[Arm, np.ndarray]:
    """Return an arm of users who differ much from each other, and their sums: one item a list, 1 to 40 lists a user."""
    lists = rng.integers(1, 41, n_users)
    clicks = rng.binomial(lists, np.minimum(lift * rng.beta(0.3, 1.2, n_users), 1.0))
    sums = np.column_stack([lists, clicks, lists, clicks, clicks]).astype(float)
    return arm_of(name, sums), sums


@pytest.fixture
def simulate() -> Callable[..., tuple[Arm, np.ndarray]]:
    return simulated


@pytest.fixture
def logs() -> dict[str, Callable[..., pd.DataFrame]]:
    return {"list": by_list, "item": by_item}
