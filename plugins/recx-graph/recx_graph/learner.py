"""LightGCN in training: propagation over the graph, the loss of a batch with its gradient, and Adam's steps."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from recx.plugin import (
    MOMENT,
    After,
    Array,
    ClickedItems,
    FitSummary,
    InputError,
    Interactions,
    Ints,
    RecxError,
    check_room,
)
from recx_graph.fitted import FittedLightGCN
from recx_graph.graph import Graph, edges_of

if TYPE_CHECKING:
    from recx_graph.retriever import LightGCN

STATE = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers."""
TABLES = 8
"""Numbers per node and factor at the peak of a step: weights, gradient, two averages of Adam, and propagation's."""


@dataclass(frozen=True, eq=False)
class Propagation:
    """The mean over the layers of LightGCN, a linear map M of the vectors of all nodes.

    With the normalised adjacency A and K layers, ``M = (I + A + ... + A^K) / (K + 1)``. A is symmetric, and so is M:
    the gradient of a loss with respect to the first vectors is M times that with respect to the last ones.

    Attributes:
        adjacency: A, a sparse tensor [n_nodes, n_nodes].
        layers: K.
    """

    adjacency: Tensor
    layers: int

    @classmethod
    def of(cls, graph: Graph, layers: int) -> Propagation:
        found = graph.adjacency
        borders, columns = (torch.from_numpy(part.astype(np.int32)) for part in (found.indptr, found.indices))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            adjacency = torch.sparse_csr_tensor(  # of int32, which MKL takes without a copy
                borders, columns, torch.from_numpy(found.data), found.shape, check_invariants=True
            )
        return cls(adjacency, layers)

    def __call__(self, vectors: Tensor) -> Tensor:
        """Return M times the vectors [n_nodes, d]; without layers, the vectors themselves."""
        if not self.layers:
            return vectors
        return self._add(vectors, self.sum_of_layers(vectors, self.layers - 1), 1 / (self.layers + 1))

    def sum_of_layers(self, vectors: Tensor, last: int) -> Tensor:
        """Return ``I + A + ... + A^last`` times the vectors [n_nodes, d], by Horner's rule; 0 if last is -1."""
        if last < 0:
            return torch.zeros_like(vectors)
        found = vectors
        for _ in range(last):
            found = self._add(vectors, found, 1.0)
        return found

    def _add(self, vectors: Tensor, others: Tensor, scale: float) -> Tensor:
        return torch.addmm(vectors, self.adjacency, others, beta=scale, alpha=scale)


@dataclass(eq=False)
class Training:
    """The training of LightGCN on one history.

    Attributes:
        settings: The settings of the retriever.
        clicked: The items of the graph.
        users: The numbers of its users, increasing [n_users].
        history: The events.
        graph: The graph.
        propagation: The mean over its layers.
        weight: The first vectors of users and items [n_nodes, d].
        optimiser: Adam.
    """

    settings: LightGCN
    clicked: ClickedItems
    users: Ints
    history: Interactions
    graph: Graph
    propagation: Propagation
    weight: Tensor
    optimiser: torch.optim.Adam

    @classmethod
    def of(cls, settings: LightGCN, history: Interactions) -> Training:
        """Return the training at its start; the first vectors are drawn as by Xavier (uniform), for each side.

        Raises:
            InputError: The vectors do not fit into memory, or the events cannot be the edges of the graph.
        """
        clicked, users = ClickedItems.of(history), np.flatnonzero(history.lengths).astype(np.int32)
        n, d = (len(users), len(clicked)), settings.factors
        check_room(
            f"retriever=lightgcn with retriever.factors={d} for {n[0]:,} users and {n[1]:,} items",
            4.0 * TABLES * sum(n) * d + 48.0 * len(history),
            "lower retriever.factors, or drop rare users and items with filter",
        )
        if 2 * len(history) > np.iinfo(np.int32).max:
            raise InputError(
                f"retriever=lightgcn: {len(history):,} events are more than the {np.iinfo(np.int32).max // 2:,} edges "
                "that its matrix can number: take fewer events with filter"
            )
        graph, rng = Graph(edges_of(clicked, history, users, settings.value)), np.random.default_rng(settings.seed)
        bounds = [np.sqrt(6 / max(1, size + d)) for size in n]
        drawn = [rng.uniform(-b, b, (size, d)).astype(np.float32) for b, size in zip(bounds, n, strict=True)]
        weight = torch.from_numpy(np.concatenate(drawn))
        propagation = Propagation.of(graph, settings.layers)
        adam = torch.optim.Adam([weight], lr=settings.learning_rate, fused=True)
        return cls(settings, clicked, users, history, graph, propagation, weight, adam)

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train epochs; see ``recx.plugin.Learner``.

        Raises:
            RecxError: The loss is not finite.
        """
        for epoch in range(done, epochs):
            loss = self.epoch(epoch)
            if not np.isfinite(loss):
                raise RecxError(
                    f"the loss of retriever=lightgcn became {loss} in epoch {epoch + 1}: lower retriever.learning_rate"
                )
            if not after({"loss": loss}):
                return

    def epoch(self, epoch: int) -> float:
        """Learn from every pair once, in a new order and with new negatives; return the mean loss of the pairs."""
        pairs, size, n_users = self.graph.pairs, self.settings.batch_size, self.graph.n_users
        rng = np.random.default_rng((self.settings.seed, epoch))
        nodes = np.stack([pairs.user, n_users + pairs.item, n_users + pairs.negatives(rng)])
        drawn, total = torch.from_numpy(nodes[:, rng.permutation(len(pairs))]), 0.0
        for start in range(0, len(pairs), size):
            batch = drawn[:, start : start + size]
            loss, gradient = self.loss(batch)
            self.weight.grad = gradient
            self.optimiser.step()
            total += loss * batch.shape[1]
        return total / max(1, len(pairs))

    def loss(self, batch: Tensor) -> tuple[float, Tensor]:
        """Return the loss of a batch, and its gradient with respect to the first vectors [n_nodes, d].

        With z the propagated and e the first vectors, the loss of pairs (u, i) with their negatives j is the mean of
        ``-log sigmoid(z_u (z_i - z_j)) + l2 / 2 (|e_u|^2 + |e_i|^2 + |e_j|^2)``.

        Args:
            batch: The nodes u, i and j of each pair [3, n].
        """
        n, nodes, l2 = batch.shape[1], batch.reshape(-1), self.settings.l2
        u, i, j = self.propagation(self.weight).index_select(0, nodes).view(3, n, -1)
        difference = i - j
        margin = (u * difference).sum(dim=1)
        slope = (-torch.sigmoid(-margin) / n)[:, None]
        towards_items = slope * u
        of_rows = torch.cat([slope * difference, towards_items, -towards_items])
        gradient = self.propagation(torch.zeros_like(self.weight).index_add_(0, nodes, of_rows))
        times = torch.bincount(nodes, minlength=len(self.weight)).to(self.weight.dtype)[:, None]
        gradient.addcmul_(self.weight, times, value=l2 / n)
        penalty = l2 / (2 * n) * (times * self.weight.square()).sum()
        return float(functional.softplus(-margin).mean() + penalty), gradient

    def fitted(self) -> FittedLightGCN:
        """Return the retriever with the present vectors."""
        layers, n_users = self.settings.layers, self.graph.n_users
        scale = np.float32(1 / (layers + 1))
        inner = self.propagation.sum_of_layers(self.weight, layers - 1)[n_users:].numpy() * scale
        ids = self.history.users.ids[self.users]
        order = np.argsort(ids, kind="stable")
        return FittedLightGCN(
            settings=self.settings,
            clicked=self.clicked,
            item_vectors=self.propagation(self.weight)[n_users:].numpy(),
            passed_on=inner * self.graph.scale_of_items[:, None],
            users=ids[order],
            own=self.weight[:n_users].numpy()[order] * scale,
            summary=FitSummary(notes={"lightgcn_pairs_without_negative": self.graph.pairs.without_negative}),
        )

    def arrays(self) -> dict[str, Array]:
        state = self.optimiser.state.get(self.weight, {})
        return {"weight": self.weight.numpy(), **{f"{MOMENT}{name}": tensor.numpy() for name, tensor in state.items()}}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.weight.copy_(torch.from_numpy(arrays["weight"]))
        if f"{MOMENT}{STATE[0]}" in arrays:
            state = {name: torch.from_numpy(arrays[f"{MOMENT}{name}"].copy()) for name in STATE}
            self.optimiser.state[self.weight] = state
