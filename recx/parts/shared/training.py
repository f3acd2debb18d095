"""Training epoch by epoch: a validation chooses the number of epochs, and checkpoints let a fit go on later.

A retriever that learns so has the settings ``Epochs`` besides its own, and its ``fit`` calls ``trained`` with a
``Learner``; a ranker has the settings ``Stopping`` and calls ``trained_on`` with a ``Trainee``. What an epoch is, such
as one iteration of alternating least squares, is the learner's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.progress import bar
from recx.core.protocols import FittedRetriever
from recx.core.pruning import Pruned, reached
from recx.core.system.durations import milliseconds
from recx.core.types import Array, Interactions
from recx.parts.shared.checkpoints import Keeper, Saved, fingerprint
from recx.parts.shared.course import Course
from recx.parts.shared.epochs import Epochs, Stopping
from recx.parts.shared.inner_validation import Inner

BEST = "best/"
MOMENT = "moment/"
"""Begins the names of arrays that only further training needs, such as an optimiser's averages."""


class After(Protocol):
    """Follows a training."""

    def __call__(self, figures: Mapping[str, float], within: float = 0.0) -> bool:
        """Take the figures of the epoch; return whether to go on.

        A learner whose epochs are long may also call this in the middle of one, if its ``arrays`` tell how far it is:
        then a checkpoint is written if the last one is old enough, and the figures are shown.

        Args:
            figures: Name -> value, such as ``{"loss": 0.3}``; of the epoch so far in the middle of one.
            within: The share of the running epoch that is done, between 0 and 1; 0: an epoch has ended.
        """


class Trainee(Protocol):
    """A model in training on one set of data.

    Equal settings, data and epochs must give equal models, whether trained at once or restored in between, so random
    numbers depend on the seed and the number of the epoch alone.
    """

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train the epochs after the first ``done``, up to ``epochs``; call ``after`` at the end of each.

        Return when ``after`` returns False. A model whose state cannot be restored trains the first ``done`` again.
        """

    def arrays(self) -> dict[str, Array]:
        """Return the present state by name; what is returned may change with the next step.

        Names of what only further training needs begin with ``MOMENT``.
        """

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take a state that ``arrays`` returned, with or, if no training follows, without the moments."""


class Learner(Trainee, Protocol):
    """A model of a retriever in training on one history."""

    def fitted(self) -> FittedRetriever:
        """Return the retriever with the model's present state."""


T = TypeVar("T", bound=Trainee)
L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, eq=False)
class Validation(Generic[T]):
    """What is held back to choose the number of epochs.

    Attributes:
        users: The number of users in it.
        learner: Makes the untrained model of all other data; None: there is too little data to hold any back.
        ndcg: Returns ndcg_at_10 of a model in training.
    """

    users: int = 0
    learner: Callable[[], T] | None = None
    ndcg: Callable[[T], float] = field(default=lambda _: 0.0)


def trained(
    settings: Epochs, part: str, epochs: int, history: Interactions, learner_of: Callable[[Interactions], L]
) -> tuple[L, FitSummary]:
    """Return the trained model of a retriever and what to report of its training.

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

    def held_back() -> Validation[L] | None:
        users, share = settings.validation_users, settings.validation_share
        inner = Inner.of(history, settings.validation, users, share, settings.seed)
        if inner is None:
            return Validation() if users else None
        return Validation(
            len(inner.requests), lambda: learner_of(inner.train), lambda learner: inner.ndcg(learner.fitted())
        )

    of = Training(settings, "retriever", part, epochs, lambda: fingerprint(history))
    return trained_on(of, lambda: learner_of(history), held_back)


@dataclass(frozen=True)
class Training:
    """What is trained.

    Attributes:
        settings: The settings of the part, a dataclass.
        stage: The kind of the part, ``retriever`` or ``ranker``.
        part: Its name, with which the names of curves and notes begin.
        epochs: The maximum number of epochs.
        fingerprint: Returns what identifies the data: name -> plain value.
    """

    settings: Stopping
    stage: str
    part: str
    epochs: int
    fingerprint: Callable[[], Mapping[str, Any]]

    def keeper(self) -> Keeper:
        """Return the checkpoints of this training.

        Raises:
            InputError: ``resume`` is set without a folder.
        """
        of, folder = self.settings, self.settings.checkpoints
        if folder is None:
            if of.resume:
                raise InputError(f"{self.stage}.resume=true: it must be false without {self.stage}.checkpoints")
            return Keeper(None, {}, of.checkpoint_minutes)
        outside = ("checkpoints", "checkpoint_minutes", "resume")
        depends = {name: value for name, value in asdict(of).items() if name not in outside}
        depends["depends_on"] = [str(value) for value in getattr(of, "depends_on", ())]
        return Keeper(
            Path(folder), {"part": self.part, **depends, **self.fingerprint()}, of.checkpoint_minutes, self.stage
        )


def trained_on(
    of: Training, learner: Callable[[], T], held_back: Callable[[], Validation[T] | None]
) -> tuple[T, FitSummary]:
    """Return the trained model and what to report of its training.

    Args:
        of: What is trained.
        learner: Makes the untrained model of all data.
        held_back: Returns the validation; None: no validation is asked for.

    Raises:
        InputError: The checkpoint belongs to another training or is damaged, or ``resume`` is set without a folder.
        Pruned: The pruner of a sweep ended the trial.
    """
    keeper = of.keeper()
    try:
        saved = keeper.resumed() if of.settings.resume else None
        return _Run(of, keeper).over(saved, learner, held_back())
    except Pruned:
        keeper.forget()  # a pruned trial is never resumed
        raise


@dataclass
class _Run:
    """A running training.

    Attributes:
        of: What is trained.
        keeper: The checkpoints.
        course: The progress.
    """

    of: Training
    keeper: Keeper
    course: Course = field(default_factory=lambda: Course("train", 0))

    @property
    def ndcg(self) -> str:
        """The name of the curve of the validation."""
        return f"{self.of.part}/valid_ndcg_at_10"

    def over(
        self, saved: Saved | None, learner: Callable[[], T], held_back: Validation[T] | None
    ) -> tuple[T, FitSummary]:
        """Train in all phases from a checkpoint on, if there is one."""
        chooses = held_back is not None and held_back.learner is not None
        self.course = Course("choose" if chooses else "train", self.of.epochs)
        if saved is not None:
            self.course = Course(**saved.course)
        for epoch, ndcg in enumerate(self.course.curves.get(self.ndcg, ()), start=1):
            reached(epoch, ndcg)
        arrays = {} if saved is None else saved.arrays
        if held_back is None or held_back.learner is None or self.course.phase == "refit":
            model = learner()
            self.run(model, arrays)
        else:
            model = held_back.learner()
            self.run(model, arrays, held_back.ndcg)
            if self.of.settings.refit_all:
                self.course, model = self.course.refit(), learner()
                self.save({})
                self.run(model, {})
        self.keeper.finish(Saved(asdict(self.course), _without_moments(model)))
        return model, self.summary(held_back)

    def run(self, learner: T, arrays: Mapping[str, Array], ndcg_of: Callable[[T], float] | None = None) -> None:
        """Train until the course is over, from a state on if there is one; end with the best state if that is kept."""
        course, keeps_best = self.course, ndcg_of is not None and not self.of.settings.refit_all
        best = {name.removeprefix(BEST): array for name, array in arrays.items() if name.startswith(BEST)}
        if own := {name: array for name, array in arrays.items() if not name.startswith(BEST)}:
            learner.restore(own)
        before, started = course.seconds, time.monotonic()

        def after(figures: Mapping[str, float], within: float = 0.0) -> bool:
            nonlocal best
            if not within:
                course.close(figures, self.of.part)
                if ndcg_of is not None:
                    ndcg = ndcg_of(learner)
                    if course.judge(self.ndcg, ndcg) and keeps_best:
                        best = {name: array.copy() for name, array in _without_moments(learner).items()}
                    reached(course.epoch, ndcg)
            course.seconds = before + time.monotonic() - started
            if self.keeper.due():
                self.save({**learner.arrays(), **{f"{BEST}{name}": array for name, array in best.items()}})
            show((course.epoch + within) / course.epochs, self._standing(figures, within))
            return within > 0 or self._goes_on()

        if self._goes_on():
            with bar() as show:
                learner.train(course.epoch, course.epochs, after)
        if best:
            learner.restore(best)

    def save(self, arrays: dict[str, Array]) -> None:
        """Write a checkpoint of the course and this state."""
        self.keeper.save(Saved(asdict(self.course), arrays))

    def _goes_on(self) -> bool:
        limit = self.of.settings.time_limit
        seconds = float("inf") if limit is None else milliseconds(limit, f"{self.of.stage}.time_limit") / 1000
        return self.course.goes_on(self.of.settings.patience, seconds)

    def _standing(self, figures: Mapping[str, float], within: float) -> str:
        """Return the progress message."""
        course, curve = self.course, self.course.curves.get(self.ndcg)
        place = f"{within:.0%} of epoch {course.epoch + 1}" if within else f"epoch {course.epoch}"
        shown = [f"{name} {value:.4f}" for name, value in figures.items()]
        shown += [f"valid ndcg_at_10 {curve[-1]:.4f}"] if curve and course.phase == "choose" else []
        return ", ".join([f"{course.phase}: {place} of {course.epochs}", *shown])

    def summary(self, held_back: Validation[T] | None) -> FitSummary:
        """Return the curves and counts of the training."""
        course, part, notes, limited = self.course, self.of.part, {}, self.of.settings.time_limit is not None
        if held_back is not None or limited:
            notes[f"{part}_epochs"] = course.best_epoch if course.phase == "choose" else course.epoch
        if held_back is not None:
            notes[f"{part}_validation_users"] = held_back.users
        if limited:
            notes[f"{part}_ended_by_time_limit"] = int(course.timed_out)
        return FitSummary(notes=notes, curves=course.curves)


def _without_moments(learner: Trainee) -> dict[str, Array]:
    """Return the state of a model that is not trained further."""
    return {name: array for name, array in learner.arrays().items() if not name.startswith(MOMENT)}
