"""Training epoch by epoch: an inner validation chooses the number of epochs, and checkpoints let a fit go on later.

A part that learns so has the settings ``Epochs`` besides its own, and its ``fit`` calls ``trained`` with a ``Learner``.
What an epoch is, such as one iteration of alternating least squares, is the learner's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from recx.core.bounds import NonNegativeInt, PositiveFloat, PositiveInt, Seed, Share
from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.progress import bar
from recx.core.protocols import FittedRetriever
from recx.core.pruning import Pruned, reached
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Array, Interactions
from recx.parts.shared.checkpoints import Keeper, Saved, fingerprint
from recx.parts.shared.inner_validation import By, Inner

BEST = "best/"
After = Callable[[Mapping[str, float]], bool]
"""Takes the figures of the epoch that has ended, such as ``{"loss": 0.3}``; returns whether to go on."""


@dataclass(frozen=True, kw_only=True)
class Epochs:
    """The settings of how long a part trains; without ``validation_users`` it trains for all its epochs.

    Attributes:
        validation_users: Maximum number of users in the validation; 0: no validation.
        validation: ``users``: on the last event of a sample of users; ``clock``: on the last part of the history;
            ``auto``: ``clock`` if the data has times, else ``users``.
        validation_share: Share of the events that ``clock`` holds back.
        patience: Number of epochs without a better ndcg_at_10 on the validation after which training stops.
        refit_all: Train once more on the whole history, for the best number of epochs; False: keep the model that was
            best on the validation, which has not learnt from the events held back.
        time_limit: Time after which no further epoch begins, validation included; the refit is not limited, but has no
            more epochs than were taken. With a limit, figures depend on the machine, and nothing is cached.
        checkpoints: Folder of the checkpoints; None: write none.
        checkpoint_minutes: Minutes between two checkpoints.
        resume: Go on from the checkpoint of the same settings and data.
        seed: Seed of everything random.
    """

    validation_users: NonNegativeInt = 0
    validation: By = "auto"
    validation_share: Share = 0.1
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


class Learner(Protocol):
    """A model in training on one history.

    Equal settings, history and epochs must give equal models, whether trained at once or restored in between, so random
    numbers depend on the seed and the number of the epoch alone.
    """

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train the epochs after the first ``done``, up to ``epochs``; call ``after`` at the end of each.

        Return when ``after`` returns False. A model whose state cannot be restored trains the first ``done`` again.
        """

    def fitted(self) -> FittedRetriever:
        """Return the retriever with the model's present state."""

    def arrays(self) -> dict[str, Array]:
        """Return the present state by name; what is returned may change with the next epoch."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take a state that ``arrays`` returned."""


L = TypeVar("L", bound=Learner)


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
        """Record an epoch that has ended; figures of the refit are named ``PART/refit_NAME``."""
        self.epoch += 1
        prefix = f"{part}/refit_" if self.phase == "refit" else f"{part}/"
        for name, value in figures.items():
            self.curves.setdefault(f"{prefix}{name}", []).append(float(value))

    def judge(self, name: str, ndcg: float) -> bool:
        """Record the validation of the epoch that has ended; return whether it is the best so far."""
        self.curves.setdefault(name, []).append(ndcg)
        if ndcg <= self.best:
            return False
        self.best, self.best_epoch = ndcg, self.epoch
        return True

    def goes_on(self, patience: int, limit: float) -> bool:
        """Return whether another epoch begins; ``limit`` in seconds."""
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


def trained(
    settings: Epochs, part: str, epochs: int, history: Interactions, learner_of: Callable[[Interactions], L]
) -> tuple[L, FitSummary]:
    """Return the trained model and what to report of its training.

    Args:
        settings: The settings of the retriever, a dataclass.
        part: Its name, such as ``ials``, with which the names of curves and notes begin.
        epochs: The maximum number of epochs.
        history: The events to learn from.
        learner_of: Makes the untrained model of a history.

    Raises:
        InputError: The checkpoint belongs to another training or is damaged, or ``resume`` is set without a folder.
        Pruned: The pruner of a sweep ended the trial.
    """
    if settings.resume and settings.checkpoints is None:
        raise InputError("retriever.resume=true: it must be false without retriever.checkpoints")
    folder = None if settings.checkpoints is None else Path(settings.checkpoints)
    depends: dict[str, Any] = {} if folder is None else {"part": part, **_depends(settings), **fingerprint(history)}
    keeper = Keeper(folder, depends, settings.checkpoint_minutes)
    try:
        return _trained(_Training(settings, part, epochs, keeper), history, learner_of)
    except Pruned:
        keeper.forget()  # a pruned trial is never resumed
        raise


def _depends(settings: Epochs) -> dict[str, Any]:
    """Return the settings that distinguish trainings."""
    outside = ("checkpoints", "checkpoint_minutes", "resume")
    return {name: value for name, value in asdict(settings).items() if name not in outside}


def _trained(of: _Training, history: Interactions, learner_of: Callable[[Interactions], L]) -> tuple[L, FitSummary]:
    settings, saved = of.settings, of.keeper.resumed() if of.settings.resume else None
    inner = Inner.of(history, settings.validation, settings.validation_users, settings.validation_share, settings.seed)
    of.course = Course("train" if inner is None else "choose", of.epochs) if saved is None else Course(**saved.course)
    for epoch, ndcg in enumerate(of.course.curves.get(of.ndcg, ()), start=1):
        reached(epoch, ndcg)
    arrays = {} if saved is None else saved.arrays
    if inner is None or of.course.phase == "refit":
        learner = learner_of(history)
        of.run(learner, arrays)
    else:
        learner = learner_of(inner.train)
        of.run(learner, arrays, inner)
        if settings.refit_all:
            of.course, learner = of.course.refit(), learner_of(history)
            of.save({})
            of.run(learner, {})
    of.keeper.finish(Saved(asdict(of.course), learner.arrays()))
    return learner, of.summary(0 if inner is None else len(inner.requests))


@dataclass
class _Training:
    """A running training.

    Attributes:
        settings: The settings of the retriever.
        part: Its name.
        epochs: The maximum number of epochs.
        keeper: The checkpoints.
        course: The progress.
    """

    settings: Epochs
    part: str
    epochs: int
    keeper: Keeper
    course: Course = field(default_factory=lambda: Course("train", 0))

    @property
    def ndcg(self) -> str:
        """The name of the curve of the validation."""
        return f"{self.part}/valid_ndcg_at_10"

    def run(self, learner: Learner, arrays: Mapping[str, Array], inner: Inner | None = None) -> None:
        """Train until the course is over, from a state on if there is one; end with the best state if that is kept."""
        course, keeps_best = self.course, inner is not None and not self.settings.refit_all
        best = {name.removeprefix(BEST): array for name, array in arrays.items() if name.startswith(BEST)}
        if own := {name: array for name, array in arrays.items() if not name.startswith(BEST)}:
            learner.restore(own)
        before, started = course.seconds, time.monotonic()

        def after(figures: Mapping[str, float]) -> bool:
            nonlocal best
            course.close(figures, self.part)
            if inner is not None:
                ndcg = inner.ndcg(learner.fitted())
                if course.judge(self.ndcg, ndcg) and keeps_best:
                    best = {name: array.copy() for name, array in learner.arrays().items()}
                reached(course.epoch, ndcg)
            course.seconds = before + time.monotonic() - started
            if self.keeper.due():
                self.save({**learner.arrays(), **{f"{BEST}{name}": array for name, array in best.items()}})
            show(course.epoch / course.epochs, self._standing())
            return self._goes_on()

        if self._goes_on():
            with bar() as show:
                learner.train(course.epoch, course.epochs, after)
        if best:
            learner.restore(best)

    def save(self, arrays: dict[str, Array]) -> None:
        """Write a checkpoint of the course and this state."""
        self.keeper.save(Saved(asdict(self.course), arrays))

    def _goes_on(self) -> bool:
        limit = self.settings.time_limit
        seconds = float("inf") if limit is None else milliseconds(limit, "retriever.time_limit") / 1000
        return self.course.goes_on(self.settings.patience, seconds)

    def _standing(self) -> str:
        """Return the progress message."""
        course, curve = self.course, self.course.curves.get(self.ndcg)
        valid = f", valid ndcg_at_10 {curve[-1]:.4f}" if curve and course.phase == "choose" else ""
        return f"{course.phase}: epoch {course.epoch} of {course.epochs}{valid}"

    def summary(self, users: int) -> FitSummary:
        """Return the curves and counts of the training; ``users`` in the validation."""
        course, notes = self.course, {}
        if self.settings.validation_users or self.settings.time_limit is not None:
            notes[f"{self.part}_epochs"] = course.best_epoch if course.phase == "choose" else course.epoch
        if self.settings.validation_users:
            notes[f"{self.part}_validation_users"] = users
        if self.settings.time_limit is not None:
            notes[f"{self.part}_ended_by_time_limit"] = int(course.timed_out)
        return FitSummary(notes=notes, curves=course.curves)
