"""Logs that are made up by the models themselves, whose parameters are known then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from recx.core.types import Doubles


@dataclass(frozen=True)
class World:
    """A log with what made it: attractiveness and satisfaction by item."""

    log: pd.DataFrame
    attractiveness: Doubles
    satisfaction: Doubles


def simulated(n_lists: int, length: int, n_items: int, continuation: float, seed: int, model: str = "dbn") -> World:
    """Let users read lists of random items, from the top; in the cascade, every click satisfies."""
    rng = np.random.default_rng(seed)
    attractiveness, satisfaction = rng.uniform(0.1, 0.7, n_items), rng.uniform(0.2, 0.8, n_items)
    if model == "cascade":
        satisfaction = np.ones(n_items)
    item = rng.permuted(np.tile(np.arange(n_items), (n_lists, 1)), axis=1)[:, :length]
    looking, clicked = np.ones(n_lists, dtype=bool), np.zeros(item.shape, dtype=bool)
    for place in range(length):
        at = item[:, place]
        clicked[:, place] = looking & (rng.random(n_lists) < attractiveness[at])
        satisfied = clicked[:, place] & (rng.random(n_lists) < satisfaction[at])
        looking &= ~satisfied & (rng.random(n_lists) < continuation)
    log = {
        "list": np.repeat(np.arange(n_lists), length),
        "item": item.ravel(),
        "position": np.tile(np.arange(1, length + 1), n_lists),
        "clicked": clicked.ravel().astype(int),
    }
    return World(pd.DataFrame(log), attractiveness, satisfaction)


def frame_of(lists: list[list[tuple[int, int]]]) -> pd.DataFrame:
    """Return a log of lists of (item, clicked), by position."""
    rows = [
        (of, item, position, int(clicked))
        for of, shown in enumerate(lists)
        for position, (item, clicked) in enumerate(shown, start=1)
    ]
    return pd.DataFrame(rows, columns=["list", "item", "position", "clicked"])


@pytest.fixture(scope="session")
def simulate() -> Callable[..., World]:
    return simulated


@pytest.fixture(scope="session")
def log_of() -> Callable[[list[list[tuple[int, int]]]], pd.DataFrame]:
    return frame_of
