"""Training: a model of implicit learns from the clicks of a history, and is looked at after every iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from implicit.recommender_base import ModelFitError

from recx.plugin import (
    After,
    Array,
    ClickedItems,
    FittedRetriever,
    Floats,
    InputError,
    Interactions,
    Longs,
    PairValue,
    RecxError,
    check_room,
    one_blas_thread,
)


class _EndedError(Exception):
    """The training is over before the model's last iteration."""


@dataclass(frozen=True, eq=False)
class Clicks:
    """What a model learns from: the users and the items with events.

    Attributes:
        option: The retriever, such as ``als``.
        users: The raw ids of the users [n_users].
        clicked: The items.
        matrix: What the users have clicked, a CSR [n_users, n_items].
    """

    option: str
    users: Array
    clicked: ClickedItems
    matrix: Any

    @classmethod
    def of(cls, option: str, history: Interactions, factors: int, value: PairValue) -> Clicks:
        """Return the clicks of a history.

        Raises:
            InputError: There are too few users or items for the factors, or the factors do not fit into memory.
        """
        users, clicked = np.flatnonzero(history.lengths).astype(np.int32), ClickedItems.of(history)
        n_users, n_items = len(users), len(clicked)
        least = min(n_users, n_items)
        if factors >= least:
            way_out = f"set retriever.factors below {least}" if least > 1 else "choose retriever=popularity"
            counted = f"{n_users} user{'s' * (n_users != 1)} and {n_items} item{'s' * (n_items != 1)}"
            raise InputError(
                f"retriever={option}: retriever.factors={factors}, but the history has only {counted} with events, "
                f"which so many numbers each would describe entirely: {way_out}"
            )
        check_room(
            f"retriever={option} with retriever.factors={factors} for {n_users:,} users and {n_items:,} items",
            4
            * factors
            * (2 * n_users + n_items),  # float32, those of the users a second time in the order of their ids
            "lower retriever.factors, or drop rare users and items with filter",
        )
        return cls(option, history.users.ids[users], clicked, clicked.matrix(history, users, value))

    @cached_property
    def order(self) -> Longs:
        """The rows of the users by increasing id [n_users]."""
        return np.argsort(self.users, kind="stable")


@dataclass(eq=False)
class Iterations:
    """A model of implicit in training (see ``recx.plugin.Learner``); an epoch is one of its iterations.

    The model learns in one call of implicit's ``fit``, which calls back after every iteration, so that it is the same
    model whether it is looked at in between or not.

    Attributes:
        clicks: What it learns from.
        make: Makes the model before its fit.
        retriever_of: Makes the retriever of the clicks and the model.
        goes_on: Whether the next iteration depends on the factors alone. BPR's random numbers and the sums of LMF's
            Adagrad are out of reach, so that a resumed training of these begins with the first iteration again.
        model: The model, once it learns or was restored.
    """

    clicks: Clicks
    make: Callable[[], Any]
    retriever_of: Callable[[Clicks, Any], FittedRetriever]
    goes_on: bool
    model: Any = None

    def train(self, done: int, epochs: int, after: After) -> None:
        """Train; the threads are OpenMP's, so BLAS has one.

        Raises:
            RecxError: The factors diverge.
        """
        first = done if self.goes_on else 0
        with one_blas_thread():
            if self.model is None or not self.goes_on:
                self.model = self.make()
            self.model.iterations = epochs - first

            def ended(iteration: int, seconds: float, *figures: Any) -> None:
                if first + iteration >= done and not after(self._named(*figures)):
                    raise _EndedError

            try:
                self.model.fit(self.clicks.matrix, show_progress=False, callback=ended)
            except _EndedError:
                self._check()
            except ModelFitError as error:
                raise self._diverged() from error

    def _named(self, *figures: Any) -> dict[str, float]:
        """Return what implicit says of an iteration: ALS its loss if asked, BPR the right and the skipped pairs."""
        if len(figures) == 2:
            right, skipped = figures
            return {"train_auc": right / max(1, self.clicks.matrix.nnz - skipped)}
        return {} if not figures or figures[0] is None else {"loss": figures[0]}

    def fitted(self) -> FittedRetriever:
        self._check()
        return self.retriever_of(self.clicks, self.model)

    def _check(self) -> None:
        if np.isnan(self.model.item_factors).any() or np.isnan(self.model.user_factors).any():
            raise self._diverged()

    def _diverged(self) -> RecxError:
        return RecxError(
            f"retriever={self.clicks.option}: the factors diverged and are no numbers any more: raise "
            "retriever.regularization, or lower retriever.learning_rate or retriever.alpha"
        )

    def arrays(self) -> dict[str, Array]:
        return {"users": self.model.user_factors, "items": self.model.item_factors}

    def restore(self, arrays: Mapping[str, Floats]) -> None:
        with one_blas_thread():
            self.model = self.make()
        self.model.user_factors, self.model.item_factors = arrays["users"], arrays["items"]
