"""Losses by hand, the schedule, frozen layers, and steps that depend on the seed and the epoch alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recx_text.learner import Learner, draw_from, freeze, listwise, pairwise
from recx_text.network import Network
from recx_text.ranker import CrossEncoder

from recx.plugin import Examples, InputError, Interactions, RecxError
from recx.testing import last_out, some_candidates

NONE = -torch.inf


def learner_of(folder: Path, matching: Interactions, **settings: Any) -> Learner:
    fold = last_out(matching)
    of = CrossEncoder(str(folder), device="cpu", epochs=2, batch_size=16, negatives=3, **settings)
    with torch.random.fork_rng():
        draw_from(0)
        network, _ = Network.to_train(folder, "cpu", of.max_length)
    return Learner.of(of, network, Examples.of(some_candidates(fold), fold), fold.history)


def test_the_losses_by_hand() -> None:
    scores = torch.tensor([[1.0, 0.0, 2.0], [0.5, -1.0, NONE]], requires_grad=True)
    e = np.exp
    expected = -np.mean([np.log(e(1) / (e(1) + 1 + e(2))), np.log(e(0.5) / (e(0.5) + e(-1)))])
    assert listwise(scores).item() == pytest.approx(expected, rel=1e-6)
    expected = np.mean([np.log(1 + e(-1)), np.log(1 + e(1)), np.log(1 + e(-1.5))])
    assert pairwise(scores).item() == pytest.approx(expected, rel=1e-6)
    for loss in (listwise, pairwise):
        [slope] = torch.autograd.grad(loss(scores), scores)
        assert torch.isfinite(slope).all()
        assert (slope[:, 0] < 0).all()
        assert slope[1, 2] == 0


def test_scores_are_those_that_serve(pairs: Path, matching: Interactions) -> None:
    learner = learner_of(pairs, matching)
    learner.network.model.eval()
    rows = np.array([[0, 1, -1], [2, -1, -1]])
    with torch.no_grad():
        scores = learner.scores(rows)
    lists = learner.examples.lists
    users, items = learner.users[lists.user[lists.list_of_row[:3]]], learner.items[lists.item[:3]]
    expected = learner.network.scores(users, items, 64)
    assert np.allclose(scores[rows >= 0].numpy(), expected, atol=1e-5)
    assert torch.isneginf(scores[rows < 0]).all()


def test_the_learning_rate_rises_and_falls_to_0(pairs: Path, matching: Interactions) -> None:
    learner = learner_of(pairs, matching, warmup=0.2, learning_rate=1.0)
    rates = np.array([learner._rate(step, 20) for step in range(20)])
    assert np.allclose(rates[:4], [0.2, 0.4, 0.6, 0.8])
    assert np.allclose(rates[4:], np.arange(16, 0, -1) / 16)


def test_epochs_differ_and_depend_on_the_seed_alone(pairs: Path, matching: Interactions) -> None:
    losses = []
    for seed in (0, 0, 1):
        learner = learner_of(pairs, matching, seed=seed)
        losses.append([learner.epoch(0), learner.epoch(1)])
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


def test_frozen_layers_and_embeddings_stay(sentences: Path) -> None:
    with torch.random.fork_rng():
        network, new = Network.to_train(sentences, "cpu", 16)
    assert new
    freeze(network, 5)
    free = [name for name, weight in network.model.named_parameters() if weight.requires_grad]
    assert all(".layer.5." in name or ".pooler." in name or "classifier" in name for name in free)
    assert len(free) > 10
    with pytest.raises(InputError, match=r"ranker\.frozen_layers=6: the network has 6 layers"):
        freeze(network, 6)


def test_half_the_precision_trains_weights_in_full(pairs: Path, matching: Interactions) -> None:
    learner = learner_of(pairs, matching, precision="bfloat16", learning_rate=0.01)
    before = {name: weight.clone() for name, weight in learner.network.model.state_dict().items()}
    losses = [learner.epoch(epoch) for epoch in range(2)]
    assert np.isfinite(losses).all()
    assert losses != [learner_of(pairs, matching, learning_rate=0.01).epoch(0), 0]
    after = learner.network.model.state_dict()
    assert {weight.dtype for weight in after.values() if weight.is_floating_point()} == {torch.float32}
    assert any(not torch.equal(before[name], after[name]) for name in after)


def test_a_loss_that_is_no_number_is_an_error(pairs: Path, matching: Interactions) -> None:
    learner = learner_of(pairs, matching, learning_rate=1e30)
    with pytest.raises(RecxError, match=r"the loss of ranker=cross_encoder became .* lower ranker\.learning_rate"):
        learner.train(0, 2, lambda figures: True)
