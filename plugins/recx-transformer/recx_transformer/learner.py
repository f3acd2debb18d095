"""The state of a training: the network, its optimiser and its lessons; and the training step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from recx.plugin import Interactions
from recx_transformer.catalogue import Catalogue
from recx_transformer.lessons import Lessons
from recx_transformer.losses import LossInputs, bce, full_softmax, gbce, sampled_softmax
from recx_transformer.model import Items, Network, Shape
from recx_transformer.negatives import Negatives
from recx_transformer.recent import Fading, Recent
from recx_transformer.sequences import Batch, Events, row_width
from recx_transformer.settings import Settings

CLIP = 1.0
"""The maximum norm of the gradient; a larger one is scaled down."""


@dataclass(frozen=True, eq=False)
class Learner:
    """The network and optimiser of a training, and the data that it learns from.

    Attributes:
        settings: The settings of the retriever.
        catalogue: The clicked items.
        lessons: The packed events to learn from.
        items: The network's inputs for the clicked items.
        negatives: Draws clicked items for the losses that look at a sample.
        recent: Recent clicks at the moments of training; None if they are not used.
        network: The network.
        optimiser: Its optimiser.
        dtype: The type of matrix products.
    """

    settings: Settings
    catalogue: Catalogue
    lessons: Lessons
    items: Items
    negatives: Negatives
    recent: Recent | None
    network: Network
    optimiser: torch.optim.AdamW
    dtype: torch.dtype

    @classmethod
    def of(cls, settings: Settings, history: Interactions, device: torch.device, dtype: torch.dtype) -> Learner:
        """Return a new learner; its initial weights are drawn from PyTorch's current random state."""
        catalogue, number = Catalogue.of(history, category=settings.category, embedding=settings.embedding)
        objective = settings.objective
        item, n = number[history.item], len(catalogue.ids)
        recent = moment = None
        if settings.recent and history.time is not None and n:
            recent, moments = Recent.of(Fading.of(history.time, item, n, settings.half_lives), dtype)
            recent, moment = recent.to(device), np.searchsorted(moments, history.time, side="right") - 1
        events = Events.of(history, item, gap=settings.time_gap, hour=settings.time_of_day, moment=moment)
        network = Network(_shape(settings, catalogue, events, recent)).to(device)
        targets = np.bincount(item[objective.predicted(history)], minlength=n)
        return cls(
            settings=settings,
            catalogue=catalogue,
            lessons=Lessons.of(history, events, objective, settings.max_length),
            items=catalogue.describe(history.items).take(torch.from_numpy(np.flatnonzero(number >= 0))).to(device),
            negatives=Negatives.of(settings, targets, np.bincount(item, minlength=n), device),
            recent=recent,
            network=network,
            optimiser=_optimiser(network, settings),
            dtype=dtype,
        )

    @property
    def rows(self) -> int:
        """The number of packed rows of a batch."""
        return max(1, self.settings.batch_size // row_width(self.settings.max_length))

    @property
    def device(self) -> torch.device:
        return self.network.own.device

    def step(self, batch: Batch, rate: float) -> Tensor:
        """Learn from one batch and return the sum of its losses.

        Args:
            batch: The batch.
            rate: The learning rate.
        """
        self.network.train()
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss = self._loss(batch.to(self.device))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimiser.step()
        return loss.detach() * len(batch.cell)

    def _loss(self, batch: Batch) -> Tensor:
        network, shape = self.network, self.network.shape
        assert batch.target is not None
        keep = None
        if shape.embedding or shape.categories:
            keep = torch.rand(shape.items, device=self.device) >= self.settings.id_dropout
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            table = network.table(self.items, keep)
            state = network(batch, table)
            weight = None if network.recent is None else network.recent(state).float()
        inputs = LossInputs(state.float(), table.float(), batch.target, self.dtype, self.recent, weight, batch.moment)
        settings, negatives = self.settings, self.negatives
        if settings.loss == "full_softmax":
            return full_softmax(inputs)
        if settings.loss == "bce":
            return bce(inputs, negatives.uniform(len(batch.target)))
        if settings.loss == "gbce":
            return gbce(inputs, negatives.uniform(len(batch.target), settings.negatives), settings.gbce_t)
        negative, expected = negatives.draw(batch.target)
        return sampled_softmax(inputs, negative, expected if settings.logq else torch.ones_like(expected))

    def tensors(self, *, moments: bool) -> dict[str, Tensor]:
        """Return the weights by name; ``moments``: the optimiser's state too."""
        found: dict[str, Tensor] = {f"weight/{name}": tensor for name, tensor in self.network.named_parameters()}
        if not moments:
            return found
        for name, parameter in self.network.named_parameters():
            for kind, tensor in self.optimiser.state.get(parameter, {}).items():
                found[f"{kind}/{name}"] = tensor
        return found

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore what ``tensors`` returned."""
        for name, parameter in self.network.named_parameters():
            parameter.data.copy_(tensors[f"weight/{name}"])
            state = {kind: tensors.get(f"{kind}/{name}") for kind in ("step", "exp_avg", "exp_avg_sq")}
            if state["step"] is not None:
                self.optimiser.state[parameter] = state


def _shape(settings: Settings, catalogue: Catalogue, events: Events, recent: Recent | None) -> Shape:
    return Shape(
        items=len(catalogue.ids),
        width=settings.factors,
        blocks=settings.blocks,
        heads=settings.heads,
        longest=settings.max_length,
        relative=settings.positions == "relative",
        dropout=settings.dropout,
        embedding=catalogue.embedding,
        categories=catalogue.n_categories,
        gap=events.gap is not None,
        hour=events.hour is not None,
        recent=0 if recent is None else len(recent.table),
        causal=settings.objective.causal,
    )


def _optimiser(network: Network, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW, without weight decay for biases, norms and other vectors."""
    tensors = list(network.parameters())
    groups = [
        {"params": [tensor for tensor in tensors if tensor.dim() > 1], "weight_decay": settings.l2},
        {"params": [tensor for tensor in tensors if tensor.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=network.own.device.type != "mps")
