"""The state of a training: the network, its optimiser and its lessons; and the training step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from recx.plugin import Interactions, position_of_rows
from recx_transformer.catalogue import Catalogue
from recx_transformer.losses import LossInputs, bce, full_softmax, sampled_softmax
from recx_transformer.model import Items, Network, Shape
from recx_transformer.recent import Fading, Recent
from recx_transformer.sequences import Batch, Events, Lessons, row_width
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
        share: The share of each clicked item among the targets [n_clicked].
        recent: Recent clicks at the moments of training; None if they are not used.
        network: The network.
        optimiser: Its optimiser.
        dtype: The type of matrix products.
    """

    settings: Settings
    catalogue: Catalogue
    lessons: Lessons
    items: Items
    share: Tensor
    recent: Recent | None
    network: Network
    optimiser: torch.optim.AdamW
    dtype: torch.dtype

    @classmethod
    def of(cls, settings: Settings, history: Interactions, device: torch.device, dtype: torch.dtype) -> Learner:
        """Return a new learner; its initial weights are drawn from PyTorch's current random state."""
        catalogue, number = Catalogue.of(history, category=settings.category, embedding=settings.embedding)
        item, n = number[history.item], len(catalogue.ids)
        recent = moment = None
        if settings.recent and history.time is not None and n:
            recent, moments = Recent.of(Fading.of(history.time, item, n, settings.half_lives), dtype)
            recent, moment = recent.to(device), np.searchsorted(moments, history.time, side="right") - 1
        events = Events.of(history, item, gap=settings.time_gap, hour=settings.time_of_day)
        network = Network(_shape(settings, catalogue, events, recent)).to(device)
        targets = np.bincount(item[position_of_rows(history.indptr) > 0], minlength=n)
        return cls(
            settings=settings,
            catalogue=catalogue,
            lessons=Lessons.of(history, events, settings.max_length, moment),
            items=catalogue.describe(history.items).take(torch.from_numpy(np.flatnonzero(number >= 0))).to(device),
            share=torch.from_numpy(targets / max(1, targets.sum())).float().to(device),
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
        if self.settings.loss == "full_softmax":
            return full_softmax(inputs)
        if self.settings.loss == "bce":
            return bce(inputs, self._uniform(len(batch.target)))
        return sampled_softmax(inputs, *self._sample(batch.target))

    def _sample(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return items, half drawn from all and half from the batch's targets, and the expected count of each."""
        others = self.settings.negatives // 2
        seen = self.settings.negatives - others
        drawn = target[torch.randint(len(target), (seen,)).to(self.device)]
        negative = torch.cat([self._uniform(others), drawn])
        return negative, others / len(self.share) + seen * self.share[negative]

    def _uniform(self, n: int) -> Tensor:
        return torch.randint(len(self.share), (n,)).to(self.device)

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
    )


def _optimiser(network: Network, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW, without weight decay for biases, norms and other vectors."""
    tensors = list(network.parameters())
    groups = [
        {"params": [tensor for tensor in tensors if tensor.dim() > 1], "weight_decay": settings.l2},
        {"params": [tensor for tensor in tensors if tensor.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=network.own.device.type != "mps")
