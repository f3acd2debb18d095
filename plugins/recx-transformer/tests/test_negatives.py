"""How often items are drawn is what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from recx_transformer.circle import small
from recx_transformer.negatives import Negatives

TARGETS, CLICKS = np.array([0, 3, 2, 5]), np.array([1, 4, 4, 16])
CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("sampling", "power", "probability"),
    [
        ("uniform", 0.75, [0.25, 0.25, 0.25, 0.25]),
        ("in_batch", 0.75, [0.0, 0.3, 0.2, 0.5]),
        ("mixed", 0.75, [0.125, 0.275, 0.225, 0.375]),
        ("popularity", 0.5, [1 / 9, 2 / 9, 2 / 9, 4 / 9]),
        ("popularity", 1.0, [0.04, 0.16, 0.16, 0.64]),
        ("popularity", 0.0, [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_the_expected_counts_are_those_of_many_draws(sampling: str, power: float, probability: list[float]) -> None:
    torch.manual_seed(0)
    settings = small(loss="sampled_softmax", sampling=sampling, popularity_power=power, negatives=40_000)
    negatives = Negatives.of(settings, TARGETS, CLICKS, CPU)
    batch = torch.from_numpy(np.repeat(np.arange(4), TARGETS))
    drawn, expected = negatives.draw(batch)
    assert len(drawn) == len(expected) == 40_000
    assert np.bincount(drawn, minlength=4) / 40_000 == pytest.approx(probability, abs=0.01)
    for item in drawn.unique().tolist():
        assert expected[drawn == item].numpy() == pytest.approx(40_000 * probability[item])


def test_an_odd_number_is_drawn_in_full() -> None:
    drawn, _ = Negatives.of(small(negatives=5, loss="sampled_softmax"), TARGETS, CLICKS, CPU).draw(torch.tensor([1]))
    assert len(drawn) == 5
    assert (drawn == 1).sum() >= 3
