"""A cross-encoder in training: the losses, the steps of AdamW and the state of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recx.plugin import MOMENT, After, Array, Examples, Floats, InputError, Interactions, Longs, RecxError, texts_of
from recx_text.groups import Groups
from recx_text.models import dtype_on
from recx_text.network import Network, pairs_of

if TYPE_CHECKING:
    from recx_text.ranker import CrossEncoder

CLIP = 1.0
"""The maximum norm of the gradient; a larger one is scaled down."""


def listwise(scores: Tensor) -> Tensor:
    """Return the softmax cross-entropy of the first score of each row; -inf: no score there."""
    return -functional.log_softmax(scores, dim=1)[:, 0].mean()


def pairwise(scores: Tensor) -> Tensor:
    """Return the mean of ``log(1 + exp(s_j - s_i))``, i the first of a row, j its others (RankNet); -inf: no score."""
    others = scores[:, 1:]
    there = torch.isfinite(others)
    difference = (others - scores[:, :1]).masked_fill(~there, -torch.inf)
    return functional.softplus(difference).sum() / there.sum()


LOSSES: Mapping[str, Callable[[Tensor], Tensor]] = {"listwise": listwise, "pairwise": pairwise}


@dataclass(eq=False)
class Learner:
    """A cross-encoder in training (see ``recx.plugin.Trainee``).

    Attributes:
        settings: The settings of the ranker.
        network: The network.
        examples: The lists that it learns from.
        groups: Their targets.
        users: The texts of all users.
        items: The texts of all items.
        optimiser: AdamW.
    """

    settings: CrossEncoder
    network: Network
    examples: Examples
    groups: Groups
    users: Array
    items: Array
    optimiser: torch.optim.AdamW = field(init=False)

    @classmethod
    def of(cls, settings: CrossEncoder, network: Network, examples: Examples, history: Interactions) -> Learner:
        """Return the training at its start.

        Raises:
            InputError: There are no texts, no target has a candidate to be lifted above, or the network has fewer
                layers than are to be frozen.
        """
        groups = Groups.of(examples)
        if not len(groups):
            raise InputError(
                "ranker=cross_encoder has nothing to learn from: in every list of the past fold, all candidates are "
                "targets of the same grade; raise n_candidates or set ranker.epochs=0"
            )
        freeze(network, settings.frozen_layers)
        users, items = texts_of(history.users, "users"), texts_of(history.items, "items")
        return cls(settings, network, examples, groups, users, items)

    def __post_init__(self) -> None:
        free = [weight for weight in self.network.model.parameters() if weight.requires_grad]
        parts = [
            {"params": [weight for weight in free if weight.ndim > 1], "weight_decay": self.settings.weight_decay},
            {"params": [weight for weight in free if weight.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(parts, lr=self.settings.learning_rate)

    @property
    def size(self) -> int:
        """The number of targets in a batch."""
        return max(1, self.settings.batch_size // (1 + self.settings.negatives))

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train epochs; see ``recx.plugin.Trainee``.

        Raises:
            RecxError: The loss is not finite.
        """
        with _training(self.network.model):
            for epoch in range(done, epochs):
                loss = self.epoch(epoch)
                if not np.isfinite(loss):
                    raise RecxError(
                        f"the loss of ranker=cross_encoder became {loss} in epoch {epoch + 1}: lower "
                        "ranker.learning_rate, or set ranker.precision=float32"
                    )
                if not after({"loss": loss}):
                    break

    def epoch(self, epoch: int) -> float:
        """Learn from every target once; return the mean loss of the targets."""
        settings, total = self.settings, 0.0
        rng = np.random.default_rng((settings.seed, epoch))
        steps = -(-len(self.groups) // self.size)
        for number, rows in enumerate(self.groups.epoch(self.size, settings.negatives, rng)):
            draw_from(settings.seed, epoch, number)
            for part in self.optimiser.param_groups:
                part["lr"] = self._rate(epoch * steps + number, steps * settings.epochs)
            total += self.step(rows) * len(rows)
        return total / len(self.groups)

    def step(self, rows: Longs) -> float:
        """Learn from one batch of rows (see ``Groups.epoch``); return its mean loss."""
        self.network.model.train()
        loss = LOSSES[self.settings.loss](self.scores(rows))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.model.parameters(), CLIP)
        self.optimiser.step()
        return float(loss.detach())

    def scores(self, rows: Longs) -> Tensor:
        """Return the scores of rows [n, 1 + negatives] in float32, -inf where there is none."""
        model, lists = self.network.model, self.examples.lists
        there = rows >= 0
        chosen = rows[there]
        pairs = pairs_of(self.users[lists.user[lists.list_of_row[chosen]]], self.items[lists.item[chosen]])
        device = model.device
        dtype = dtype_on(device.type, self.settings.precision)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=dtype is torch.bfloat16):
            features = {
                name: value.to(device) if isinstance(value, Tensor) else value
                for name, value in model.preprocess(pairs).items()
            }
            found = model(features)["scores"].float().reshape(-1)
        empty: Tensor = found.new_full(rows.shape, -torch.inf)
        return empty.masked_scatter(torch.from_numpy(there).to(device), found)

    def _rate(self, step: int, steps: int) -> float:
        """Return the learning rate: it rises in the warm-up and falls linearly to 0 at the last planned epoch.

        A refit of fewer epochs follows the same schedule and ends where the validation was best.
        """
        warmup = self.settings.warmup * steps
        return self.settings.learning_rate * min((step + 1) / (warmup + 1), (steps - step) / max(1.0, steps - warmup))

    def arrays(self) -> dict[str, Array]:
        found: dict[str, Array] = {name: _array(weight) for name, weight in self.network.model.state_dict().items()}
        for number, state in self.optimiser.state_dict()["state"].items():
            found |= {f"{MOMENT}{name}/{number}": _array(value) for name, value in state.items()}
        return found

    def restore(self, arrays: Mapping[str, Array]) -> None:
        weights = {name: torch.from_numpy(arrays[name].copy()) for name in self.network.model.state_dict()}
        self.network.model.load_state_dict(weights)
        state: dict[int, dict[str, Tensor]] = {}
        for name, array in arrays.items():
            if name.startswith(MOMENT):
                moment, number = name.removeprefix(MOMENT).split("/")
                state.setdefault(int(number), {})[moment] = torch.from_numpy(array.copy())
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})


def freeze(network: Network, layers: int) -> None:
    """Keep the embeddings and the lowest layers of a network as they are; 0: train all.

    Raises:
        InputError: The network has not more layers than that.
    """
    if not layers:
        return
    body: Any = network.model.transformers_model
    body = body.base_model
    stacks = [module for module in body.modules() if isinstance(module, nn.ModuleList)]
    n = len(stacks[0]) if stacks else 0
    if layers >= n:
        raise InputError(f"ranker.frozen_layers={layers}: the network has {n} layers, of which some must be trained")
    frozen = [stacks[0][number] for number in range(layers)]
    frozen += [module for name, module in body.named_children() if "embed" in name]
    for module in frozen:
        module.requires_grad_(False)


def draw_from(*numbers: int) -> None:
    """Seed PyTorch with these numbers, so that no random state needs to be kept between steps."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))


@contextmanager
def _training(model: nn.Module) -> Iterator[None]:
    """Leave the model as it serves: without dropout."""
    try:
        yield
    finally:
        model.eval()


def _array(tensor: Tensor) -> Floats:
    found: Floats = tensor.detach().cpu().numpy()
    return found
