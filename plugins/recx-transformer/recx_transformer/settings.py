"""The settings of the transformer: what its training, its learner and the fitted retriever go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Interval

from recx.plugin import (
    Duration,
    InputError,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Seed,
    Seen,
    Share,
    check,
    milliseconds,
)

DropoutRate = Annotated[float, Interval(ge=0, lt=1)]


@dataclass(frozen=True)
class Settings:
    """The settings of ``Transformer``.

    factors: width of the network. blocks, heads: of attention. dropout: share of numbers set to 0 while training.
    positions: ``relative``, a number for every distance between two events, or ``learned``, a vector for every place.
    max_length: events that the network looks back on; longer sequences are learnt in pieces.
    embedding, category, time_gap, time_of_day: what it is told besides the item, where the data has it: the item's own
        embedding and category, the time since the event before (and from the last event to the request), the hour.
    recent: half-lives of click counts as of the request; their logarithms are added to the scores with weights that
        depend on the user's state. Where the data has no times there are none.
    id_dropout: share of items that go without a vector of their own in a step, so that content learns to stand in.
    loss: ``full_softmax``, ``sampled_softmax`` (``negatives`` shared by a batch) or ``bce`` (one negative an event).
    epochs: the most, of which the inner validation chooses. patience: epochs without a better one until it stops.
    validation: on the last event of ``users``, or on what lies after the last ``validation_share`` of events began
        (``clock``); ``auto``: by the clock where the data has times. At most ``validation_users`` are asked; 0: none.
    refit_all: train once more on all of the history; False: keep the best network of the validation.
    learning_rate: after ``warmup`` steps; falls in a line to 0. l2: weight decay (AdamW). batch_size: events of a step.
    precision: of products while training. checkpoints: folder; None: keep none. from_run: take the network of that run.
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
    loss: Literal["full_softmax", "sampled_softmax", "bce"] = "full_softmax"
    negatives: Annotated[int, Ge(2)] = 1024
    epochs: PositiveInt = 12
    patience: PositiveInt = 5
    validation: Literal["auto", "users", "clock"] = "auto"
    validation_share: Share = 0.1
    validation_users: NonNegativeInt = 3000
    refit_all: bool = True
    learning_rate: PositiveFloat = 2e-3
    warmup: NonNegativeInt = 100
    l2: NonNegativeFloat = 0.0
    batch_size: PositiveInt = 1024
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    checkpoints: str | None = None
    checkpoint_minutes: PositiveFloat = 5.0
    resume: bool = False
    from_run: str | None = None
    seed: Seed = 0
    seen: Seen = "drop"
    written: ClassVar = ("checkpoints",)  # what lies there changes no outcome (see ``recx.storage.cache.keys``)

    def __post_init__(self) -> None:
        check(self, "retriever")
        if self.factors % self.heads:
            raise InputError(f"retriever.factors={self.factors}: it must be a multiple of retriever.heads={self.heads}")
        if self.resume and self.checkpoints is None:
            raise InputError("retriever.resume=true: it must be false without retriever.checkpoints")

    @property
    def half_lives(self) -> tuple[int, ...]:
        """The half-lives of recent clicks in ms."""
        return tuple(milliseconds(text, f"retriever.recent.{n}") for n, text in enumerate(self.recent))
