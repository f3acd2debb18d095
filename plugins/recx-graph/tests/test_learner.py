"""Propagation, loss, gradient and steps against a slow textbook version on dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from recx_graph.learner import Propagation, Training
from recx_graph.retriever import LightGCN
from torch import Tensor

from recx.plugin import Doubles, InputError, Interactions, RecxError

Layers = Callable[[Doubles, Doubles, int], list[Doubles]]


def training_of(history: Interactions, **settings: Any) -> Training:
    return Training.of(LightGCN(**{"factors": 5, "l2": 0.1, **settings}), history)


def textbook_loss(training: Training, weight: Tensor, batch: Tensor, layers: int, l2: float) -> Tensor:
    """Return the loss of a batch by dense products in float64, for autograd."""
    adjacency = torch.from_numpy(training.graph.adjacency.toarray().astype(np.float64))
    vectors = [weight]
    for _ in range(layers):
        vectors.append(adjacency @ vectors[-1])
    last = torch.stack(vectors).mean(dim=0)
    total = torch.zeros((), dtype=torch.float64)
    for u, i, j in batch.T.tolist():
        total = total - torch.log(torch.sigmoid(last[u] @ (last[i] - last[j])))
        total = total + l2 / 2 * (weight[u].square().sum() + weight[i].square().sum() + weight[j].square().sum())
    return total / batch.shape[1]


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
@pytest.mark.parametrize("value", ["one", "weight"])
def test_propagation_is_the_mean_of_the_layers(
    history: Interactions, dense_layers: Layers, layers: int, value: str
) -> None:
    training = training_of(history, layers=layers, value=value)
    edges = training.graph.edges.toarray().astype(float)
    expected = dense_layers(edges, training.weight.numpy().astype(float), layers)
    assert np.allclose(training.propagation(training.weight).numpy(), np.mean(expected, axis=0), atol=1e-6)
    found = training.propagation.sum_of_layers(training.weight, layers - 1).numpy()
    assert np.allclose(found, sum(expected[:-1], np.zeros_like(expected[0])), atol=1e-6)


def test_propagation_is_its_own_adjoint(history: Interactions) -> None:
    training, random = training_of(history), torch.Generator().manual_seed(0)
    x, y = (torch.randn(training.weight.shape, generator=random) for _ in range(2))
    assert float((training.propagation(x) * y).sum()) == pytest.approx(
        float((x * training.propagation(y)).sum()), abs=1e-4
    )


@pytest.mark.parametrize("layers", [0, 1, 3])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_loss_and_gradient_are_those_of_autograd_on_dense_matrices(
    history: Interactions, layers: int, l2: float
) -> None:
    training = training_of(history, layers=layers, l2=l2)
    n_users, n_items = training.graph.n_users, training.graph.n_items
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, n_users, 40), n_users + rng.integers(0, n_items, (2, 40))
    batch = torch.from_numpy(np.stack([users, *items]))  # nodes occur more than once
    loss, gradient = training.loss(batch)
    weight = training.weight.double().requires_grad_()
    expected = textbook_loss(training, weight, batch, layers, l2)
    expected.backward()  # type: ignore[no-untyped-call]
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    assert weight.grad is not None
    assert torch.allclose(gradient.double(), weight.grad, atol=1e-6)


def test_an_epoch_takes_adams_steps(history: Interactions) -> None:
    training = training_of(history, layers=2, batch_size=64, learning_rate=0.01)
    weight = training.weight.double().requires_grad_()
    adam, batches = torch.optim.Adam([weight], lr=0.01), []
    own = training.loss

    def remembered(batch: Tensor) -> tuple[float, Tensor]:
        batches.append(batch)
        return own(batch)

    training.loss = remembered  # type: ignore[method-assign]
    mean = training.epoch(0)
    losses = []
    for batch in batches:
        adam.zero_grad()
        loss = textbook_loss(training, weight, batch, 2, 0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        losses += [loss.item()] * batch.shape[1]
    assert mean == pytest.approx(np.mean(losses), rel=1e-5)
    assert torch.allclose(training.weight.double(), weight, atol=1e-4)
    pairs = training.graph.pairs
    learnt = sorted(tuple(pair) for batch in batches for pair in batch[:2].T.tolist())
    assert learnt == [(int(u), training.graph.n_users + int(i)) for u, i in zip(pairs.user, pairs.item, strict=True)]
    assert {batch.shape[1] for batch in batches[:-1]} == {64}


def test_epochs_differ_and_depend_on_the_seed_alone(history: Interactions) -> None:
    found = [training_of(history, seed=seed, learning_rate=0.01, batch_size=64) for seed in (0, 0, 1)]
    losses = [[training.epoch(number) for number in (0, 1)] for training in found]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    assert losses[0][0] != losses[0][1]


def test_all_numbers_of_threads_make_the_same_vectors(history: Interactions) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            training = training_of(history, factors=16)
            training.epoch(0)
            found.append(training.weight)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


def test_a_loss_that_is_no_number_is_an_error(history: Interactions) -> None:
    training = training_of(history, learning_rate=1e30)
    with pytest.raises(RecxError, match=r"the loss of retriever=lightgcn became .* lower retriever\.learning_rate"):
        training.train(0, 3, lambda figures: True)


def test_what_does_not_fit_into_memory_is_refused_before_training(history: Interactions) -> None:
    with pytest.raises(InputError, match=r"retriever\.factors=10000000000 for 59 users and 23 items needs at least"):
        training_of(history, factors=10**10)


def test_the_adjacency_is_checked(history: Interactions) -> None:
    graph = training_of(history).graph
    graph.adjacency.indices[0] = 10**6
    with pytest.raises(RuntimeError, match="col_indices"):
        Propagation.of(graph, 2)
