"""Models that learn from clicks take data with next to nothing in it: they refuse it or recommend nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.protocols import Retriever
from recx.core.types import Interactions, Requests
from recx.parts.retriever.ials import IALS
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.markov import Markov
from recx.parts.retriever.rp3beta import RP3Beta
from recx.parts.retriever.slim import SLIM
from recx.parts.retriever.vsknn import VSkNN

Drawn = Callable[..., Interactions]
MODELS: dict[str, Retriever] = {
    "ials": IALS(factors=4, seen="keep"),
    "ials, validated": IALS(factors=4, validation_users=10, seen="keep"),
    "item_knn": ItemKNN(seen="keep"),
    "markov": Markov(seen="keep"),
    "rp3beta": RP3Beta(seen="keep"),
    "slim": SLIM(seen="keep"),
    "vsknn": VSkNN(half_life=None, gap=None, seen="keep"),
}
WORLDS: dict[str, tuple[list[list[int]], int]] = {
    "no users and no items": ([], 0),
    "no items": ([[], []], 0),
    "no clicks": ([[], []], 3),
    "one click": ([[1]], 3),
    "one user": ([[0, 1, 2, 0]], 3),
    "one item": ([[0], [0, 0], []], 1),
}
REFUSED = {("one click", "vsknn"): "every session of this data has one click: choose another retriever"}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("times", [True, False])
def test_lists_are_well_formed_where_there_is_next_to_nothing(
    world: str, model: str, times: bool, drawn: Drawn
) -> None:
    clicks, n_items = WORLDS[world]
    events: Any = [[(item, 10 * at) for at, item in enumerate(items)] for items in clicks]
    history = drawn(events, n_items, times=times)
    asking = np.arange(history.n_users, dtype=np.int32)
    requests = Requests(asking, np.full(len(asking), 1000) if times else None)
    if (world, model) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[world, model]):
            MODELS[model].fit(history)
        return
    lists = MODELS[model].fit(history).retrieve(history, requests, 5)
    assert len(lists.lengths) == history.n_users
    assert np.isfinite(lists.score).all()
    assert (lists.lengths <= n_items).all()
    assert (lists.lengths[history.lengths == 0] == 0).all()
