"""Fitting: choose the number of epochs by an inner validation, then train once more on the whole history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from recx.plugin import (
    FitSummary,
    Inner,
    Interactions,
    Keeper,
    Pruned,
    RecxError,
    Saved,
    SeenEvents,
    bar,
    fingerprint,
    reached,
    say,
)
from recx_transformer.device import device_of, draw_from, dtype_on, reproducible
from recx_transformer.fitted import FittedTransformer
from recx_transformer.learner import Learner
from recx_transformer.settings import Settings

LOSS, REFIT_LOSS, NDCG = "loss", "refit_loss", "valid_ndcg_at_10"

OUTSIDE = ("device", "checkpoints", "checkpoint_minutes", "resume", "from_run")
"""Settings that do not distinguish trainings; the device in use does."""


@dataclass
class Course:
    """The progress of a training.

    Attributes:
        phase: ``choose`` the number of epochs, or ``refit`` on the whole history.
        epochs: The number of planned epochs.
        epoch: The number of finished epochs.
        step: The number of finished steps of the current epoch.
        loss: The sum of the losses of the current epoch.
        positions: The number of predictions in the current epoch.
        best_epoch: The epoch with the best validation.
        best: Its ndcg_at_10.
        curves: Name -> one value per epoch.
    """

    phase: Literal["choose", "refit"]
    epochs: int
    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    positions: int = 0
    best_epoch: int = 0
    best: float = -1.0
    curves: dict[str, list[float]] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, int]:
        """The seed of all random draws, together with the setting ``seed`` and the number of the step."""
        return ("choose", "refit").index(self.phase), self.epoch

    def close_epoch(self) -> None:
        """Record the mean loss of the epoch and begin the next."""
        name = LOSS if self.phase == "choose" or NDCG not in self.curves else REFIT_LOSS
        self.curves.setdefault(name, []).append(self.loss / max(1, self.positions))
        self.epoch, self.step, self.loss, self.positions = self.epoch + 1, 0, 0.0, 0

    def close_validation(self, ndcg: float) -> bool:
        """Record the epoch's ndcg_at_10; return whether it is the best so far."""
        self.curves.setdefault(NDCG, []).append(ndcg)
        better = ndcg > self.best
        if better:
            self.best, self.best_epoch = ndcg, self.epoch
        return better


def fit(settings: Settings, history: Interactions) -> FittedTransformer:
    """Return the network fitted on a history.

    Args:
        settings: The settings of the retriever.
        history: The events to learn from.

    Raises:
        InputError: The device is not available, or the checkpoint belongs to another training.
        RecxError: The loss became NaN.
        Pruned: The pruner of a sweep ended the trial.
    """
    device = device_of(settings.device)
    depends = {name: value for name, value in asdict(settings).items() if name not in OUTSIDE}
    folder = None if settings.checkpoints is None else Path(settings.checkpoints)
    of = {"retriever": settings.option, **depends, "device": device.type, **fingerprint(history)}
    keeper = Keeper(folder, of, settings.checkpoint_minutes)
    try:
        return _trained(settings, history, keeper)
    except Pruned:
        keeper.forget()  # a pruned trial is never resumed
        raise


def _trained(settings: Settings, history: Interactions, keeper: Keeper) -> FittedTransformer:
    saved = keeper.resumed() if settings.resume else None
    seen = SeenEvents.of(history)  # also where the last part only validates
    with reproducible(device_of(settings.device)):
        inner = Inner.of(
            history, settings.validation, settings.validation_users, settings.validation_share, settings.seed
        )
        course = Course("refit" if inner is None else "choose", settings.epochs)
        if saved is not None:
            course = Course(**saved.course)
            for epoch, ndcg in enumerate(course.curves.get(NDCG, ()), start=1):
                reached(epoch, ndcg)
        if inner is not None and course.phase == "choose":
            study = Study.of(settings, inner.train, seen, course, keeper, saved)
            study.run(inner)
            if settings.refit_all:
                course, saved = Course("refit", max(1, course.best_epoch), curves=course.curves), None
            else:
                study.learner.restore(study.best)
        if course.phase == "refit":
            study = Study.of(settings, history, seen, course, keeper, saved)
            study.run(None)
        keeper.finish(study.saved(moments=False))
    return study.fitted(0 if inner is None else len(inner.requests))


@dataclass
class Study:
    """A running training.

    Attributes:
        learner: The network, its optimiser and its data.
        seen: The events that the network learns from or is chosen by.
        course: The progress.
        keeper: The checkpoints.
        best: The weights of the best epoch, kept if there is no refit.
    """

    learner: Learner
    seen: SeenEvents
    course: Course
    keeper: Keeper
    best: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Settings,
        history: Interactions,
        seen: SeenEvents,
        course: Course,
        keeper: Keeper,
        saved: Saved | None,
    ) -> Study:
        """Return the training of a history at its start, or as restored from a checkpoint."""
        device = device_of(settings.device)
        draw_from(settings.seed, *Course(course.phase, 0).numbers)
        learner = Learner.of(settings, history, device, dtype_on(device, settings.precision))
        best = {}
        if saved is not None:
            tensors = {name: torch.from_numpy(array) for name, array in saved.arrays.items()}
            learner.restore(tensors)
            best = {name.removeprefix("best/"): part for name, part in tensors.items() if name.startswith("best/")}
        return cls(learner, seen, course, keeper, best)

    def run(self, inner: Inner | None) -> None:
        """Train until the course is done, and validate on ``inner`` after each epoch."""
        while not self._done():
            with bar() as show:
                rate = self._epoch(show)
            self.course.close_epoch()
            ndcg = None if inner is None else inner.ndcg(self.fitted())
            better = ndcg is not None and self.course.close_validation(ndcg)
            if better and not self.learner.settings.refit_all:
                self.best = {name: part.clone() for name, part in self.learner.tensors(moments=False).items()}
            self.keeper.save(self.saved())
            say(f"  {self._standing(f'epoch {self.course.epoch}', self._last_loss, rate)}")
            if ndcg is not None:
                reached(self.course.epoch, ndcg)

    def _done(self) -> bool:
        course, settings = self.course, self.learner.settings
        waited = course.best_epoch > 0 and course.epoch - course.best_epoch >= settings.patience
        return not len(self.learner.lessons) or course.epoch >= course.epochs or (course.phase == "choose" and waited)

    def _epoch(self, show: Callable[[float, str], None]) -> float:
        """Train until the end of the epoch; return the events per second."""
        course, settings, learner = self.course, self.learner.settings, self.learner
        steps = learner.lessons.steps(learner.rows)
        started, before = time.perf_counter(), course.positions
        rng = np.random.default_rng((settings.seed, *course.numbers))
        for number, batch in enumerate(learner.lessons.epoch(learner.rows, rng)):
            if number < course.step:  # learned before the checkpoint
                continue
            draw_from(settings.seed, *course.numbers, number + 1)
            loss = learner.step(batch, self._rate(course.epoch * steps + number, steps)).item()
            if not np.isfinite(loss):
                raise RecxError(
                    f"the loss of retriever={settings.option} became {loss} in epoch {course.epoch + 1}: "
                    "lower retriever.learning_rate, or set retriever.precision=float32"
                )
            course.step, course.loss, course.positions = (
                number + 1,
                course.loss + loss,
                course.positions + len(batch.cell),
            )
            if self.keeper.due():
                self.keeper.save(self.saved())
            rate = (course.positions - before) / (time.perf_counter() - started)
            place = f"{course.step / steps:.0%} of epoch {course.epoch + 1}"
            show(course.step / steps, self._standing(place, course.loss / course.positions, rate))
        return (course.positions - before) / max(1e-9, time.perf_counter() - started)

    def _rate(self, step: int, steps: int) -> float:
        """Return the learning rate: it rises in the warm-up and falls linearly to 0 at the last planned epoch.

        A refit of fewer epochs follows the same schedule and ends where the validation was best.
        """
        settings = self.learner.settings
        rise = min(1.0, (step + 1) / max(1, settings.warmup))
        return settings.learning_rate * rise * (1 - step / (steps * settings.epochs))

    @property
    def _last_loss(self) -> float:
        curves = self.course.curves
        return curves[REFIT_LOSS if REFIT_LOSS in curves else LOSS][-1]

    def _standing(self, place: str, loss: float, rate: float) -> str:
        """Return the progress message."""
        course = self.course
        validated = course.phase == "choose" and NDCG in course.curves
        valid = f", valid ndcg_at_10 {course.curves[NDCG][-1]:.4f}" if validated else ""
        return f"{course.phase}: {place} of {course.epochs}, loss {loss:.4f}{valid}, {rate:,.0f} events/s"

    def saved(self, *, moments: bool = True) -> Saved:
        """Return what a checkpoint holds; ``moments``: the optimiser's state too."""
        best = {f"best/{name}": part for name, part in self.best.items()}
        tensors = {**self.learner.tensors(moments=moments), **best}
        return Saved(asdict(self.course), {name: part.detach().cpu().numpy() for name, part in tensors.items()})

    def fitted(self, validation_users: int = 0) -> FittedTransformer:
        """Return the retriever with the current weights."""
        course, learner = self.course, self.learner
        option = learner.settings.option
        notes = {
            f"{option}_epochs": course.epoch if course.phase == "refit" else course.best_epoch,
            f"{option}_validation_users": validation_users,
        }
        curves = {f"{option}/{name}": values for name, values in course.curves.items()}
        summary = FitSummary(notes=notes, curves=curves)
        return FittedTransformer(learner.settings, learner.network, learner.catalogue, self.seen, summary)
