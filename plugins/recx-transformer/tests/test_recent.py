"""Recent clicks against a slow loop, and never an event at or after the moment."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from recx_transformer import recent
from recx_transformer.recent import FLOOR, Fading, Recent

CLICKS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=30)


@given(CLICKS, st.lists(st.integers(-5, 70), min_size=1, max_size=8))
def test_counts_are_those_of_a_slow_loop(clicks: list[tuple[int, int]], asked: list[int]) -> None:
    time, item = (np.array(column, dtype=np.int64) for column in zip(*clicks, strict=True))
    moments = np.sort(np.array(asked, dtype=np.int64))
    for counts, half_life in zip(Fading.of(time, item, 4, (5, 20)).as_of(moments), (5, 20), strict=True):
        slow = np.zeros((len(moments), 4))
        for line, moment in enumerate(moments):
            for when, what in clicks:
                if when < moment:
                    slow[line, what] += 0.5 ** ((moment - when) / half_life)
        assert np.allclose(counts, np.log1p(slow / FLOOR), atol=1e-5)


def test_clicks_long_gone_cost_nothing_and_count_nothing() -> None:
    fading = Fading.of(np.array([0, 10_000]), np.array([0, 1]), 2, (10,))
    [counts] = fading.as_of(np.array([10_010]))
    assert counts[0].tolist() == pytest.approx([0, np.log1p(0.5 / FLOOR)])


def test_training_moments_are_busy_when_the_clicks_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "CELLS", 8)  # two items: four moments
    time = np.array([0, 100, 101, 102, 103, 104, 105, 106])
    made, moments = Recent.of(Fading.of(time, np.zeros(8, dtype=np.int64), 2, (50,)), torch.float32)
    assert moments.tolist() == [0, 101, 103, 105]
    assert made.table[0].shape == (4, 2)
    assert made.table[0][0].tolist() == [0, 0]  # nothing was clicked before the first event
    assert made.at(torch.tensor([1, 0]), torch.tensor([0, 0])).shape == (2, 1)
