from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError, RecxError
from recx.parts.feature.columns import Columns
from recx.parts.shared.design_matrix import design_matrix, names_of


def test_every_column_is_a_feature_of_its_own_name(world: Callable[..., Any]) -> None:
    made = world()
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=len(made.candidates)).astype(np.float32) for name in ("1", "46")}
    candidates = replace(made.candidates, columns=columns)
    features = {"slate": Columns()}
    assert names_of(features, candidates) == ("1", "46")
    table = design_matrix(features, candidates, made.history, made.requests)
    assert np.array_equal(table, np.column_stack(list(columns.values())))


def test_a_number_that_is_not_finite_names_feature_and_user(world: Callable[..., Any]) -> None:
    made = world()
    column = np.zeros(len(made.candidates), dtype=np.float32)
    column[-1] = np.nan
    candidates = replace(made.candidates, columns={"7": column})
    user = made.history.users.ids[candidates.user[candidates.list_of_row[-1]]]
    with pytest.raises(RecxError, match=f"feature 7 is nan for user {user}:"):
        design_matrix({"slate": Columns()}, candidates, made.history, made.requests)


def test_candidates_without_columns_are_reported(world: Callable[..., Any]) -> None:
    made = world()
    with pytest.raises(InputError, match="the candidates have no columns"):
        names_of({"slate": Columns()}, replace(made.candidates, columns={}))
