from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError
from recx.parts.feature.content import Age, CategoryShare, ContentSimilarity, StretchedSimilarity, Words

HOUR = 3_600_000


def rows(world: Any) -> range:
    return range(len(world.candidates))


def slow_phi_rel(world: Any, row: int, last: int, recency: float) -> float:
    embedding = world.history.items.embedding
    if embedding is None:
        return 0.5
    unit = [vector / np.linalg.norm(vector) for vector in embedding.astype(float)]
    user = np.zeros(embedding.shape[1])
    for place, (_, item, _) in enumerate(reversed(world.own(row)[-last:])):
        if not np.isnan(unit[item]).any():
            user += recency**place * unit[item]
    item = unit[world.candidates.item[row]]
    if np.isnan(item).any() or not user.any():
        return 0.5
    return float((1 + user @ item / np.linalg.norm(user)) / 2)


@pytest.mark.parametrize("known", [1.0, 0.5, -1.0])
@pytest.mark.parametrize("seed", range(2))
def test_phi_rel_and_phi_struct_are_what_a_loop_finds(world: Callable, known: float, seed: int) -> None:
    made = world(seed, known=known)
    expected = [slow_phi_rel(made, row, 4, 0.6) for row in rows(made)]
    rel = ContentSimilarity(4, 0.6).fit(made.history)(made.candidates, made.requests)
    struct = StretchedSimilarity(4, 0.6).fit(made.history)(made.candidates, made.requests)
    assert rel == pytest.approx(expected, abs=1e-5)
    assert struct == pytest.approx(np.sqrt(np.array(expected) + 0.1), abs=1e-5)
    assert rel.min() >= 0
    assert rel.max() <= 1


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("known", [1.0, 0.5, -1.0])
def test_category_share_is_what_a_loop_counts(world: Callable, known: float, timed: bool) -> None:
    made = world(2, known=known, timed=timed)
    found = CategoryShare().fit(made.history)(made.candidates, made.requests)
    category = made.history.items.table.get("category", np.full(15, -1))
    for row in rows(made):
        own, mine = made.own(row), category[made.candidates.item[row]]
        share = sum(category[item] == mine for _, item, _ in own) / max(1, len(own)) if mine >= 0 else 0
        assert found[row] == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("known", [1.0, 0.5, -1.0])
@pytest.mark.parametrize("seed", range(2))
def test_age_is_what_a_loop_finds(world: Callable, known: float, seed: int) -> None:
    made = world(seed, known=known)
    found = Age().fit(made.history)(made.candidates, made.requests)
    created = made.history.items.table.get("created_at", np.full(15, UNKNOWN_TIME))
    for row in rows(made):
        item, now = made.candidates.item[row], made.now(row)
        clicked = [t for _, i, t in made.before(row) if i == item]
        born = created[item] if created[item] != UNKNOWN_TIME else min(clicked, default=now)
        assert found[row] == pytest.approx(math.log1p(max(0, now - int(born)) / HOUR), abs=1e-5)


def test_age_is_zero_without_times(world: Callable) -> None:
    made = world(0, timed=False)
    assert not Age().fit(made.history)(made.candidates, made.requests).any()


def test_words_are_the_mean_of_the_known_ones_where_unknown(world: Callable) -> None:
    made = world(0)
    words = np.full(15, np.nan, dtype=np.float32)
    words[[0, 1, 2, 3, 4]] = [0, math.e**2 - 1, -1, -5, np.inf]
    items = Entities(made.history.items.ids, {"words": words})
    found = Words().fit(replace(made.history, items=items))(made.candidates, made.requests)
    logs = np.full(15, 1.0)
    logs[[0, 1]] = [0, 2]
    assert found == pytest.approx(logs[made.candidates.item], abs=1e-6)


@pytest.mark.parametrize("kind", [ContentSimilarity, StretchedSimilarity])
def test_settings_out_of_range_are_named(kind: type) -> None:
    for settings, name in (({"last": 0}, "last=0"), ({"recency": 0.0}, "recency"), ({"recency": 1.5}, "recency")):
        with pytest.raises(InputError, match=name):
            kind(**settings)
