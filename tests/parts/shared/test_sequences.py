from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.types import Interactions, Requests
from recx.parts.shared.sequences import Sequences, sequences

NOBODY = np.zeros(0, dtype=np.int32)


@pytest.fixture
def clicked() -> Sequences:
    """User 0 clicked 0, 2, 0, 1; user 1 nothing; user 2 item 3."""
    item = np.array([0, 2, 0, 1, 3], dtype=np.int32)
    entities: Any = Entities(np.arange(3)), Entities(np.arange(4))
    return sequences(Interactions(np.array([0, 4, 4, 5]), item, None, np.ones(5, dtype=np.float32), *entities))


def test_the_newest_clicks_weigh_most_and_repeats_add_up(clicked: Sequences) -> None:
    table = clicked.weighted(Requests(np.array([0, 1, 2], dtype=np.int32)), 3, 0.5).toarray()
    assert table.tolist() == [[0.5, 1, 0.25, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert clicked.weighted(Requests(NOBODY), 3, 0.5).shape == (0, 4)


def test_the_last_clicks_come_newest_first_and_gaps_are_marked(clicked: Sequences) -> None:
    users = np.array([2, 0, 1], dtype=np.int32)
    assert clicked.last(users, 3).tolist() == [[3, -1, -1], [1, 0, 2], [-1, -1, -1]]
    assert clicked.lengths(users).tolist() == [1, 4, 0]
    assert clicked.last(NOBODY, 2).shape == (0, 2)
