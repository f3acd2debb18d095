"""The check of parts that train catches each way in which a resumed training may end otherwise, and passes the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from recx.core.bounds import NonNegativeInt
from recx.core.fit_summary import FitSummary
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.retriever.ials import IALS
from recx.parts.shared.epochs import Epochs
from recx.parts.shared.training import MOMENT, After, trained
from recx.testing import check_training, tiny_world


@dataclass(frozen=True, eq=False)
class Scored:
    """Gives everybody the items of the highest scores, which have no names here."""

    score: Array
    summary: FitSummary

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        item = np.tile(np.argsort(-self.score)[:k].astype(np.int32), len(requests))
        indptr = np.arange(len(requests) + 1, dtype=np.int64) * min(k, len(self.score))
        return RankedLists(requests.user, indptr, item, self.score[item].astype(np.float32))


@dataclass
class Drift:
    """Scores that move by random steps with a momentum; each epoch has three steps."""

    steps: ClassVar[int] = 3

    seed: int
    score: Array
    momentum: Array
    loss: float = 0.0
    step: int = 0

    @classmethod
    def of(cls, history: Interactions, seed: int) -> Drift:
        return cls(seed, np.zeros(history.n_items), np.zeros(history.n_items))

    def train(self, done: int, epochs: int, after: After) -> None:
        for epoch in range(done, epochs):
            for step in range(self.step, self.steps):
                self.learn(self.rng(epoch, step))
                self.step = step + 1
                if self.step < self.steps:
                    after({"loss": self.loss}, within=self.step / self.steps)
            loss, self.step, self.loss = self.loss, 0, 0.0
            if not after({"loss": loss}):
                return

    def learn(self, rng: np.random.Generator) -> None:
        self.momentum = 0.5 * self.momentum + rng.normal(size=len(self.score))
        self.score = self.score + self.momentum
        self.loss += float(np.abs(self.momentum).sum())

    def rng(self, epoch: int, step: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, epoch, step))

    def fitted(self) -> Scored:
        return Scored(self.score.copy(), FitSummary())

    def arrays(self) -> dict[str, Array]:
        place = {f"{MOMENT}step": np.array(self.step), f"{MOMENT}loss": np.array(self.loss)}
        return {"score": self.score, f"{MOMENT}momentum": self.momentum, **place}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.score = arrays["score"]
        if f"{MOMENT}step" in arrays:
            self.step, self.loss = int(arrays[f"{MOMENT}step"]), float(arrays[f"{MOMENT}loss"])
            self.momentum = arrays[f"{MOMENT}momentum"]


class WithoutMomentum(Drift):
    """Forgets its momentum."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        self.momentum = np.zeros_like(self.momentum)


class WithoutPlace(Drift):
    """Begins an epoch again that it was in the middle of."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        self.step = 0


class WithoutLoss(Drift):
    """Forgets the loss of the steps before."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        self.loss = 0.0


class OneGenerator(Drift):
    """Draws from a generator whose state no checkpoint keeps."""

    def rng(self, epoch: int, step: int) -> np.random.Generator:
        self.__dict__.setdefault("drawn", np.random.default_rng(self.seed))
        drawn: np.random.Generator = self.__dict__["drawn"]
        return drawn


class FromTheStart(Drift):
    """Trains the first epochs once more and reports them again."""

    def train(self, done: int, epochs: int, after: After) -> None:
        super().train(0, epochs, after)


@dataclass(frozen=True, kw_only=True)
class Drifting(Epochs):
    """A retriever of drifting scores."""

    validation_users: NonNegativeInt = 20
    patience: int = 9
    epochs: int = 3
    learner: str = "Drift"

    def fit(self, history: Interactions) -> Scored:
        def learner_of(part: Interactions) -> Drift:
            found: type[Drift] = globals()[self.learner]
            return found.of(part, self.seed)

        learner, summary = trained(self, "drifting", self.epochs, history, learner_of)
        return Scored(learner.score, summary)


def test_a_part_that_keeps_all_of_its_state_passes() -> None:
    check_training(Drifting())
    check_training(Drifting(refit_all=False), tiny_world(times=False), k=3)


def test_a_built_in_part_passes() -> None:
    check_training(IALS(factors=4, iterations=3, validation_users=20))


@pytest.mark.parametrize(
    ("learner", "promise"),
    [
        ("WithoutMomentum", "must end as if it had never been interrupted"),
        ("WithoutPlace", "must train what is left, and no more"),
        ("WithoutLoss", "must end as if it had never been interrupted"),
        ("OneGenerator", "must end as if it had never been interrupted"),
        ("FromTheStart", "must end as if it had never been interrupted"),
    ],
)
def test_one_that_breaks_its_promise_is_caught(learner: str, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_training(Drifting(learner=learner))


@pytest.mark.parametrize(
    ("part", "promise"),
    [
        (Drifting(validation_users=0), "set validation_users"),
        (Drifting(epochs=1), "must train more than one epoch to be checked"),
    ],
)
def test_settings_that_check_nothing_are_named(part: Drifting, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_training(part)
