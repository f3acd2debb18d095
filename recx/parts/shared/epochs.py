"""Settings of parts that are trained epoch by epoch (see ``recx.parts.shared.training``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recx.core.bounds import NonNegativeInt, PositiveFloat, PositiveInt, Seed, Share
from recx.core.system.durations import Duration
from recx.parts.shared.inner_validation import By


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """The settings of how long a part trains, and of its checkpoints.

    Attributes:
        patience: Number of epochs without a better ndcg_at_10 on the validation after which training stops.
        refit_all: Train once more on all data, for the best number of epochs; False: keep the model that was best on
            the validation, which has not learnt from what was held back.
        time_limit: Time after which no further epoch begins, validation included; the refit is not limited, but has no
            more epochs than were taken. With a limit, figures depend on the machine, and nothing is cached.
        checkpoints: Folder of the checkpoints; None: write none.
        checkpoint_minutes: Minutes between two checkpoints.
        resume: Go on from the checkpoint of the same settings and data.
        seed: Seed of everything random.
    """

    patience: PositiveInt = 5
    refit_all: bool = True
    time_limit: Duration | None = None
    checkpoints: str | None = None
    checkpoint_minutes: PositiveFloat = 5.0
    resume: bool = False
    seed: Seed = 0
    written: ClassVar = ("checkpoints",)  # its content changes no result (see ``recx.storage.cache.keys``)

    @property
    def cacheable(self) -> bool:
        """Whether the stage cache may keep what was fitted: not if it depends on the speed of the machine."""
        return self.time_limit is None


@dataclass(frozen=True, kw_only=True)
class Epochs(Stopping):
    """The settings of a retriever that trains; without ``validation_users`` it trains for all its epochs.

    Attributes:
        validation_users: Maximum number of users in the validation; 0: no validation.
        validation: ``users``: on the last event of a sample of users; ``clock``: on the last part of the history;
            ``auto``: ``clock`` if the data has times, else ``users``.
        validation_share: Share of the events that ``clock`` holds back.
    """

    validation_users: NonNegativeInt = 0
    validation: By = "auto"
    validation_share: Share = 0.1
