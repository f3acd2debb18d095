from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.synthetic_clicks import POSITION, SyntheticClicks
from recx.testing import check_dataset


@pytest.fixture(scope="module")
def made() -> Interactions:
    return SyntheticClicks(impressions=20_000).load()


def clicked(made: Interactions) -> np.ndarray:
    """Which rows of the slates were clicked."""
    assert made.slates is not None
    lists, events = made.slates, made.keep(made.weight > 0)
    return np.isin(lists.user[lists.list_of_row] * made.n_items + lists.item, events.user * made.n_items + events.item)


def test_it_keeps_what_every_dataset_promises_and_a_seed_makes_the_same() -> None:
    check_dataset(SyntheticClicks(impressions=50))
    one, same, other = (SyntheticClicks(impressions=50, seed=seed).load() for seed in (0, 0, 1))
    assert one.item.tolist() == same.item.tolist()
    assert one.item.tolist() != other.item.tolist()


def test_clicks_come_as_often_as_their_probabilities_say(made: Interactions) -> None:
    p, came = SyntheticClicks(impressions=20_000).probabilities(), clicked(made)
    assert len(p) == len(came) == 200_000
    assert p.mean() == pytest.approx(0.1, abs=1e-9)
    for low, high in [(0, 0.02), (0.02, 0.1), (0.1, 0.3), (0.3, 1)]:
        rows = (low <= p) & (p < high)
        error = np.sqrt((p[rows] * (1 - p[rows])).sum()) / rows.sum()
        assert abs(came[rows].mean() - p[rows].mean()) < 4 * error


def test_log_odds_fall_with_the_position_and_half_of_the_features_count(made: Interactions) -> None:
    assert made.slates is not None
    p = SyntheticClicks(impressions=20_000).probabilities()
    columns = {name: column.astype(float) for name, column in made.slates.columns.items()}
    table = np.column_stack([np.ones(len(p)), *columns.values()])
    found = dict(zip(["constant", *columns], np.linalg.lstsq(table, np.log(p / (1 - p)), rcond=None)[0], strict=True))
    assert found["position"] == pytest.approx(-POSITION, abs=1e-6)
    assert np.abs([found["x1"], found["x2"], found["x3"]]) == pytest.approx([1, 1 / 2, 1 / 3], abs=1e-6)
    assert [found["x4"], found["x5"], found["x6"]] == pytest.approx([0, 0, 0], abs=1e-6)


def test_an_impression_without_a_click_has_one_event_of_weight_0(made: Interactions) -> None:
    silent = np.bincount(made.user[made.weight > 0], minlength=made.n_users) == 0
    assert made.notes["impressions_without_click"] == silent.sum() > 0
    assert (made.lengths[silent] == 1).all()
    assert (made.weight[made.indptr[:-1][silent]] == 0).all()
    assert (made.lengths >= 1).all()


def test_more_shown_than_there_are_is_an_error() -> None:
    with pytest.raises(InputError, match=r"dataset\.shown=10: there are 9 items"):
        SyntheticClicks(items=9)
