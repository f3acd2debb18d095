"""The settings of the transformer: what its training, its learner and the fitted retriever go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recx.duration import milliseconds
from recx.errors import InputError
from recx.protocols import Seen

CHOICES = {
    "positions": ("relative", "learned"),
    "loss": ("full_softmax", "sampled_softmax", "bce"),
    "validation": ("auto", "users", "clock"),
    "device": ("auto", "cpu", "cuda", "mps"),
    "precision": ("auto", "float32", "bfloat16"),
}


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

    factors: int = 128
    blocks: int = 2
    heads: int = 2
    dropout: float = 0.3
    positions: Literal["relative", "learned"] = "relative"
    max_length: int = 50
    embedding: bool = True
    category: bool = True
    time_gap: bool = True
    time_of_day: bool = True
    recent: tuple[str, ...] = ("15m", "6h")
    id_dropout: float = 0.1
    loss: Literal["full_softmax", "sampled_softmax", "bce"] = "full_softmax"
    negatives: int = 1024
    epochs: int = 12
    patience: int = 5
    validation: Literal["auto", "users", "clock"] = "auto"
    validation_share: float = 0.1
    validation_users: int = 3000
    refit_all: bool = True
    learning_rate: float = 2e-3
    warmup: int = 100
    l2: float = 0.0
    batch_size: int = 1024
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    checkpoints: str | None = None
    checkpoint_minutes: float = 5.0
    resume: bool = False
    from_run: str | None = None
    seed: int = 0
    seen: Seen = "drop"
    written: ClassVar = ("checkpoints",)  # what lies there changes no outcome (see ``recx.fingerprint``)

    def __post_init__(self) -> None:
        for key, choices in CHOICES.items():
            if getattr(self, key) not in choices:
                raise InputError(f"retriever.{key}={getattr(self, key)!r}: choose one of {', '.join(choices)}")
        for key in ("factors", "blocks", "heads", "max_length", "epochs", "patience", "batch_size"):
            self._expect(key, getattr(self, key) >= 1, "1 or more")
        self._expect("negatives", self.negatives >= 2, "2 or more")
        self._expect("factors", self.factors % self.heads == 0, f"a multiple of retriever.heads={self.heads}")
        for key in ("dropout", "id_dropout", "validation_share"):
            self._expect(key, 0 <= getattr(self, key) < 1, "0 or more and less than 1")
        self._expect("validation_share", self.validation_share > 0, "above 0")
        for key in ("warmup", "validation_users", "l2"):
            self._expect(key, 0 <= getattr(self, key) < float("inf"), "0 or more, and finite")
        for key in ("learning_rate", "checkpoint_minutes"):
            self._expect(key, 0 < getattr(self, key) < float("inf"), "above 0, and finite")
        self._expect("resume", self.checkpoints is not None or not self.resume, "false without retriever.checkpoints")
        object.__setattr__(self, "recent", tuple(self.recent))
        assert self.half_lives is not None

    def _expect(self, key: str, fine: bool, what: str) -> None:
        if not fine:
            raise InputError(f"retriever.{key}={getattr(self, key)}: it must be {what}")

    @property
    def half_lives(self) -> tuple[int, ...]:
        """The half-lives of recent clicks in ms."""
        return tuple(milliseconds(text, f"retriever.recent.{n}") for n, text in enumerate(self.recent))
