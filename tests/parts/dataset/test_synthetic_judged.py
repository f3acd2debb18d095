from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Array, Doubles, Interactions
from recx.parts.dataset.synthetic_judged import SyntheticJudged
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.bm25 import bm25_weights
from recx.testing import check_dataset


def test_it_keeps_what_every_dataset_promises_and_a_seed_makes_the_same() -> None:
    check_dataset(SyntheticJudged(queries=20, features=4))
    one, same, other = (SyntheticJudged(queries=20, features=4, seed=seed).load() for seed in (0, 0, 1))
    assert one.items.table["text"].tolist() == same.items.table["text"].tolist()
    assert one.weight.tolist() == same.weight.tolist()
    assert one.weight.tolist() != other.weight.tolist()


@pytest.fixture(scope="module")
def made() -> Interactions:
    return SyntheticJudged().load()


def grades(made: Interactions) -> Array:
    """Return the grade of every document offered."""
    assert made.slates is not None
    grade = np.zeros(made.n_items)
    grade[made.item] = made.weight
    return grade[made.slates.item]


def test_it_is_of_the_shape_of_mq2008(made: Interactions) -> None:
    assert made.slates is not None
    assert made.n_users == 500
    assert len(made.slates.columns) == 46
    assert 18 < made.slates.lengths.mean() < 22
    shares = np.bincount(grades(made).astype(int)) / len(made.slates)
    assert np.abs(shares - [0.72, 0.16, 0.08, 0.04]).max() < 0.02
    assert (made.lengths > 0).all()  # every query has a relevant document
    assert made.notes["documents_twice_in_a_query"] == 0
    for column in made.slates.columns.values():
        assert (column.min(), column.max()) == (0, 1)


def test_a_quarter_of_the_features_and_the_texts_say_something(made: Interactions) -> None:
    assert made.slates is not None
    grade: Doubles = grades(made) - grades(made).mean()

    def says(column: Array) -> bool:
        return bool(abs(np.corrcoef(column, grade)[0, 1]) > 4 / np.sqrt(len(grade)))

    telling = sum(says(column) for column in made.slates.columns.values())
    assert 6 <= telling <= 12
    assert says(bm25_weights(made, 1.2, 0.75, Analyzer()).scores(made.slates))
    assert len(set(made.items.table["text"].tolist())) == made.n_items


@pytest.mark.parametrize("setting", ["queries", "features", "vocabulary"])
def test_a_setting_out_of_range_is_reported_by_its_key(setting: str) -> None:
    with pytest.raises(InputError, match=f"dataset.{setting}=0"):
        SyntheticJudged(**{setting: 0})
