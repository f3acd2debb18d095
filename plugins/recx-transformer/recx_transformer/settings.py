"""The settings that all sequence models of the plugin share: of the network, its training and the fitted retriever."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Interval

from recx.plugin import (
    Duration,
    Epochs,
    InputError,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Seen,
    Unit,
    check,
    milliseconds,
)
from recx_transformer.objectives import Objective

DropoutRate = Annotated[float, Interval(ge=0, lt=1)]
COUNTS_WITH = {
    "sampling": ("loss", "sampled_softmax"),
    "popularity_power": ("sampling", "popularity"),
    "logq": ("loss", "sampled_softmax"),
    "gbce_t": ("loss", "gbce"),
}
"""Setting -> the other setting, and its value, without which it would be ignored."""


@dataclass(frozen=True, kw_only=True)
class Settings(Epochs, ABC):
    """The settings of a sequence model, besides those of all retrievers that train.

    Attributes:
        factors: Width of the network; a multiple of ``heads``.
        blocks: Number of attention blocks.
        heads: Number of attention heads.
        dropout: Share of values set to 0 in training.
        positions: ``relative``: a bias per distance between two events; ``learned``: a vector per place.
        max_length: Maximum number of events that the network looks back on; longer sequences are split into pieces.
        embedding: Use the item's own embedding, if the data has it.
        category: Use the item's category, if the data has it.
        time_gap: Use the time since the previous event and from the last event to the request, if the data has times.
        time_of_day: Use the hour, if the data has times.
        recent: Half-lives of click counts up to the request, whose logarithms are added to the scores with weights that
            depend on the user's state. Ignored if the data has no times.
        id_dropout: Share of items whose own vector is left out of a step, so that their content learns to replace it.
        loss: ``full_softmax``, ``sampled_softmax`` over a sample shared by the batch, ``bce`` with one uniform negative
            per event, or ``gbce`` (gSASRec) with ``negatives`` of them, each of which takes memory and time.
        negatives: Size of that sample.
        sampling: How the shared sample is drawn. ``uniform``: from all items; ``in_batch``: from the batch's targets;
            ``popularity``: in proportion to clicks ** ``popularity_power``; ``mixed``: half uniform, half in_batch.
        popularity_power: That power.
        logq: Correct the scores of ``sampled_softmax`` for how often an item is drawn.
        gbce_t: Calibration t of ``gbce``: 0 is binary cross-entropy, 1 undoes what sampling does to probabilities.
        epochs: Passes over all events; with a validation, the maximum.
        learning_rate: Learning rate after the warm-up; it falls linearly to 0.
        warmup: Number of warm-up steps.
        l2: Weight decay (AdamW).
        batch_size: Number of events per step.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto``: the first available of cuda, mps and cpu.
        precision: Type of matrix products in training.
        from_run: Load the network of this run instead of training.
        seen: ``drop`` or ``keep`` what the user has clicked.
    """

    factors: PositiveInt = 128
    blocks: PositiveInt = 2
    heads: PositiveInt = 2
    dropout: DropoutRate = 0.3
    positions: Literal["relative", "learned"] = "relative"
    max_length: PositiveInt = 50
    embedding: bool = True
    category: bool = True
    time_gap: bool = True
    time_of_day: bool = True
    recent: tuple[Duration, ...] = ("15m", "6h")
    id_dropout: DropoutRate = 0.1
    loss: Literal["full_softmax", "sampled_softmax", "bce", "gbce"] = "full_softmax"
    negatives: Annotated[int, Ge(2)] = 1024
    sampling: Literal["mixed", "uniform", "in_batch", "popularity"] = "mixed"
    popularity_power: NonNegativeFloat = 0.75
    logq: bool = True
    gbce_t: Unit = 0.75
    epochs: PositiveInt = 12
    validation_users: NonNegativeInt = 3000
    learning_rate: PositiveFloat = 2e-3
    warmup: NonNegativeInt = 100
    l2: NonNegativeFloat = 0.0
    batch_size: PositiveInt = 1024
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    from_run: str | None = None
    seen: Seen = "drop"
    option: ClassVar[str]
    """What the model is called on the command line."""

    def __post_init__(self) -> None:
        check(self, "retriever")
        if self.factors % self.heads:
            raise InputError(f"retriever.factors={self.factors}: it must be a multiple of retriever.heads={self.heads}")
        default = {field.name: field.default for field in fields(self)}
        for name, (other, value) in COUNTS_WITH.items():
            given, usual = (str(one).lower() for one in (getattr(self, name), default[name]))
            if given != usual and getattr(self, other) != value:
                raise InputError(
                    f"retriever.{name}={given}: it counts only with retriever.{other}={value}: choose that, or leave "
                    f"retriever.{name}={usual}"
                )

    @property
    @abstractmethod
    def objective(self) -> Objective:
        """What the network learns to predict."""

    @property
    def half_lives(self) -> tuple[int, ...]:
        """The half-lives of recent clicks in ms."""
        return tuple(milliseconds(text, f"retriever.recent.{n}") for n, text in enumerate(self.recent))
