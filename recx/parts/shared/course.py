"""The progress of a training: its epochs, its curves and the best of its validations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass
class Course:
    """The progress of a training.

    Attributes:
        phase: ``train`` for all epochs, ``choose`` their number by the validation, or ``refit`` on the whole history.
        epochs: The number of planned epochs.
        epoch: The number of finished epochs.
        seconds: The time they took, those of earlier phases included.
        timed_out: Whether the time limit ended the training.
        best_epoch: The epoch with the best validation, counted from 1.
        best: Its ndcg_at_10.
        curves: Name -> one value per epoch.
    """

    phase: Literal["train", "choose", "refit"]
    epochs: int
    epoch: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    best_epoch: int = 0
    best: float = -1.0
    curves: dict[str, list[float]] = field(default_factory=dict)

    def close(self, figures: Mapping[str, float], part: str) -> None:
        """Record an epoch that has ended; figures of the refit are named ``PART/refit_NAME``.

        Args:
            figures: Name -> value of the epoch.
            part: The word of the part, such as ``ranker``.
        """
        self.epoch += 1
        prefix = f"{part}/refit_" if self.phase == "refit" else f"{part}/"
        for name, value in figures.items():
            self.curves.setdefault(f"{prefix}{name}", []).append(float(value))

    def judge(self, name: str, ndcg: float) -> bool:
        """Record the validation of the epoch that has ended; return whether it is the best so far.

        Args:
            name: The name of the curve.
            ndcg: The validation's NDCG.
        """
        self.curves.setdefault(name, []).append(ndcg)
        if ndcg <= self.best:
            return False
        self.best, self.best_epoch = ndcg, self.epoch
        return True

    def goes_on(self, patience: int, limit: float) -> bool:
        """Return whether another epoch begins; ``limit`` in seconds.

        Args:
            patience: How many epochs may pass without a better one.
            limit: The time for all epochs, in seconds.
        """
        waited = self.phase == "choose" and self.best_epoch > 0 and self.epoch - self.best_epoch >= patience
        if self.epoch >= self.epochs or waited:
            return False
        if self.phase == "refit":
            return True
        self.timed_out = self.epoch > 0 and self.seconds >= limit
        return not self.timed_out

    def refit(self) -> Course:
        """Return the beginning of the training of the best number of epochs on the whole history."""
        return Course("refit", max(1, self.best_epoch), 0, self.seconds, self.timed_out, curves=self.curves)
