"""What every feature of every feature set keeps to, whatever it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from recx.config import factory, option_sources
from recx.config.compose import compose
from recx.core.entities import Entities
from recx.core.protocols import Feature
from recx.parts.feature.reader import Times

ELSEWHERE = ("feature/agents", "feature/columns")  # graphs and slates with columns have worlds and tests of their own
SETS = [
    name.removeprefix("feature/")
    for name in option_sources.options()
    if name.startswith("feature/") and name not in ELSEWHERE
]


def features_of_sets() -> dict[str, Feature]:
    """Return SET/FEATURE -> feature, of sets that are composed at once: one by one takes a tenth of a second each."""
    composed = compose([f"+feature@feature.sets.{name}={name}" for name in SETS])
    config = OmegaConf.to_container(composed.feature.sets, resolve=True)
    built = factory.build(config, "feature")
    return {f"{name}/{key}": built[name][key] for name in SETS for key in built[name]}


FEATURES = features_of_sets()
every_feature = pytest.mark.parametrize("feature", FEATURES.values(), ids=FEATURES)


def values(feature: Feature, world: Any) -> Any:
    return feature.fit(world.history)(world.candidates, world.requests)


def test_there_are_features_to_test() -> None:
    assert {"news", "basic"} <= set(SETS)
    assert len(FEATURES) > 30


@every_feature
def test_one_finite_number_a_row_whatever_is_missing(feature: Feature, world: Callable) -> None:
    for timed, known in ((True, 1.0), (False, 0.6), (True, 0.0), (False, -1.0)):
        made = world(3, timed=timed, known=known)
        found = values(feature, made)
        assert found.shape == (len(made.candidates),)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()


@every_feature
def test_nothing_at_or_after_the_request_counts(feature: Feature, world: Callable, seen_by: Callable) -> None:
    for seed in range(2):
        made = world(seed)
        found = values(feature, made)
        for number in range(made.candidates.n_lists):
            changed = values(feature, seen_by(made, number, seed + 1))
            rows = slice(made.candidates.indptr[number], made.candidates.indptr[number + 1])
            assert np.array_equal(found[rows], changed)


@every_feature
def test_other_lists_never_change_a_value(feature: Feature, world: Callable) -> None:
    made = world(4)
    found = values(feature, made)
    for start, stop in ((0, 1), (1, 2), (2, 9), (9, made.candidates.n_lists)):
        part = feature.fit(made.history)(made.candidates[start:stop], made.requests[start:stop])
        assert np.array_equal(part, found[made.candidates.indptr[start] : made.candidates.indptr[stop]])


def test_asking_twice_gives_the_same_and_changes_nothing(world: Callable) -> None:
    made = world(5)
    first = {name: values(feature, made).copy() for name, feature in FEATURES.items()}
    for name, feature in FEATURES.items():
        assert np.array_equal(values(feature, made), first[name]), name


@every_feature
def test_neither_a_history_without_events_nor_no_lists_are_an_obstacle(
    feature: Feature, world: Callable, make_history: Callable
) -> None:
    for timed in (True, False):
        made = world(6, timed=timed)
        empty = make_history([], made.history.users, made.history.items, timed)
        assert np.isfinite(feature.fit(empty)(made.candidates, made.requests)).all()
    made = world(7)
    assert len(feature.fit(made.history)(made.candidates[0:0], made.requests[0:0])) == 0


@every_feature
def test_raw_ids_are_opaque(feature: Feature, world: Callable) -> None:
    made = world(8)
    found = values(feature, made)
    items = made.history.items
    renamed = Entities(np.array([f"ground_truth_{n}" for n in range(len(items))]), items.table, items.embedding)
    history = replace(made.history, items=renamed)
    assert np.array_equal(feature.fit(history)(made.candidates, made.requests), found)


def test_products_say_what_they_are_made_of() -> None:
    products = [feature for feature in FEATURES.values() if isinstance(feature, Times)]
    assert {product.by for product in products} == {"activity", "freshness", "absence", "night"}
