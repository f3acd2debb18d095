"""A sequence model in training: the network, its optimiser and its lessons; and the training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np
import torch
from torch import Tensor, nn

from recx.plugin import MOMENT, After, Array, FitSummary, Interactions, RecxError, SeenEvents
from recx_transformer.catalogue import Catalogue
from recx_transformer.device import device_of, draw_from, dtype_on
from recx_transformer.fitted import FittedTransformer
from recx_transformer.lessons import Lessons
from recx_transformer.losses import LossInputs, bce, full_softmax, gbce, sampled_softmax
from recx_transformer.model import Items, Network, Shape
from recx_transformer.negatives import Negatives
from recx_transformer.recent import Fading, Recent
from recx_transformer.sequences import Batch, Events, row_width
from recx_transformer.settings import Settings

CLIP = 1.0
"""The maximum norm of the gradient; a larger one is scaled down."""


@dataclass
class Place:
    """A place within an epoch.

    Attributes:
        step: The number of finished steps.
        loss: The sum of their losses.
        positions: The number of their predictions.
    """

    step: int = 0
    loss: float = 0.0
    positions: int = 0

    @property
    def figures(self) -> dict[str, float]:
        """The mean loss."""
        return {"loss": self.loss / max(1, self.positions)}


@dataclass(eq=False)
class Learner:
    """A network in training and the data that it learns from (see ``recx.plugin.Learner``).

    Attributes:
        settings: The settings of the retriever.
        seen: The events that the network learns from or is chosen by.
        stream: The seed of all random draws, together with ``settings.seed``, the epoch and the step.
        catalogue: The clicked items.
        lessons: The packed events to learn from.
        items: The network's inputs for the clicked items.
        negatives: Draws clicked items for the losses that look at a sample.
        recent: Recent clicks at the moments of training; None if they are not used.
        network: The network.
        optimiser: Its optimiser.
        dtype: The type of matrix products.
        place: The place within the running epoch.
    """

    settings: Settings
    seen: SeenEvents
    stream: int
    catalogue: Catalogue
    lessons: Lessons
    items: Items
    negatives: Negatives
    recent: Recent | None
    network: Network
    optimiser: torch.optim.AdamW
    dtype: torch.dtype
    place: Place = field(default_factory=Place)

    @classmethod
    def of(cls, settings: Settings, history: Interactions, seen: SeenEvents, *, whole: bool) -> Learner:
        """Return the training at its start.

        Args:
            settings: The settings of the retriever.
            history: The events to learn from.
            seen: The events that the network learns from or is chosen by.
            whole: Whether these are the same; a part, of which the rest validates, has random draws of its own.
        """
        device, stream = device_of(settings.device), int(whole)
        dtype = dtype_on(device, settings.precision)
        draw_from(settings.seed, stream, 0)
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
            seen=seen,
            stream=stream,
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

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train epochs; see ``recx.plugin.Trainee``.

        Raises:
            RecxError: The loss is not finite.
        """
        for epoch in range(done, epochs if len(self.lessons) else done):
            self._epoch(epoch, after)
            place, self.place = self.place, Place()
            if not after(place.figures):
                return

    def _epoch(self, epoch: int, after: After) -> None:
        """Learn from the batches of an epoch that come after the present place."""
        seed, place = (self.settings.seed, self.stream, epoch), self.place
        steps = self.lessons.steps(self.rows)
        for number, batch in enumerate(self.lessons.epoch(self.rows, np.random.default_rng(seed))):
            if number < place.step:  # learnt before the checkpoint
                continue
            draw_from(*seed, number + 1)
            loss = self.step(batch, self._rate(epoch * steps + number, steps)).item()
            if not np.isfinite(loss):
                raise RecxError(
                    f"the loss of retriever={self.settings.option} became {loss} in epoch {epoch + 1}: "
                    "lower retriever.learning_rate, or set retriever.precision=float32"
                )
            place.step, place.loss, place.positions = number + 1, place.loss + loss, place.positions + len(batch.cell)
            if place.step < steps:
                after(place.figures, within=place.step / steps)

    def _rate(self, step: int, steps: int) -> float:
        """Return the learning rate: it rises in the warm-up and falls linearly to 0 at the last planned epoch.

        A refit of fewer epochs follows the same schedule and ends where the validation was best.
        """
        settings = self.settings
        rise = min(1.0, (step + 1) / max(1, settings.warmup))
        return settings.learning_rate * rise * (1 - step / (steps * settings.epochs))

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

    def fitted(self) -> FittedTransformer:
        """Return the retriever with the present weights."""
        return FittedTransformer(self.settings, self.network, self.catalogue, self.seen, FitSummary())

    def arrays(self) -> dict[str, Array]:
        found = {f"weight/{name}": tensor for name, tensor in self.network.named_parameters()}
        for number, state in self.optimiser.state_dict()["state"].items():
            found |= {f"{MOMENT}{kind}/{number}": tensor for kind, tensor in state.items()}
        place = {f"{MOMENT}{name}": np.array(value) for name, value in asdict(self.place).items()}
        return {**place, **{name: tensor.detach().cpu().numpy() for name, tensor in found.items()}}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        for name, parameter in self.network.named_parameters():
            parameter.data.copy_(torch.from_numpy(arrays[f"weight/{name}"]))
        moments = {name.removeprefix(MOMENT): array for name, array in arrays.items() if name.startswith(MOMENT)}
        if moments:
            self.place = Place(*(moments.pop(f.name).item() for f in fields(Place)))
        state: dict[int, dict[str, Tensor]] = {}
        for name, array in moments.items():
            kind, number = name.split("/")
            state.setdefault(int(number), {})[kind] = torch.from_numpy(array)
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})  # moves them to the device


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
