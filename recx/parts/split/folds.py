"""Shared code of the splits: making a fold from masks over the events, and counting what its fit sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.types import Bools, Doubles, Fold, Interactions, Ints, Longs, Requests, Split

RequestTime = Literal["target", "last_event"]
Past = Literal["step", "none"]
STEPS: dict[FoldName, int] = {"predict": 0, "test": 1, "valid": 2}
"""Number of steps from the end of the data to a fold's targets (0: nothing is held out)."""


def split_by_steps(
    interactions: Interactions,
    fold: FoldName,
    step: Callable[[int], tuple[Bools, Bools]],
    request_time: RequestTime,
    past: Past,
) -> Split:
    """Return a fold and its past.

    Args:
        interactions: All events.
        fold: Name of the fold.
        step: Returns the masks (history, target) [n] of a step, numbered from the end.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether there is a past fold one ``step`` earlier, or ``none``.

    Raises:
        InputError: The fold has no requests.
    """
    back = STEPS[fold]
    history, target = step(back)
    now = make_fold(interactions, history, target, request_time) if back else _predicted(interactions)
    if not len(now.requests):
        raise InputError(
            f"fold={fold}: no user has both a target and the events before it that the split requires: "
            "the data is too small for this split, choose another one (split=by_time, by_user or leave_last)"
        )
    before = make_fold(interactions, *step(back + 1), request_time) if past == "step" else None
    if before is not None and not len(before.requests):
        before = None
    later = later_events(now.history, now)
    notes: dict[str, float] = {"requests": len(now.requests), "past_requests": len(before.requests) if before else 0}
    if later is not None:
        notes |= {"later_events": later[0], "later_events_per_target": round(later[1], 1)}
    if interactions.to_predict is not None and fold != "predict":
        notes["users_history_only"] = len(interactions.to_predict)
    return Split(before, now, notes)


def make_fold(interactions: Interactions, history: Bools, target: Bools, request_time: RequestTime) -> Fold:
    """Return the fold of these events, with one request for each user who has a target."""
    known, targets = interactions.keep(history), interactions.keep(target)
    users = np.flatnonzero(targets.lengths).astype(np.int32)
    time = None if targets.time is None else targets.time[targets.indptr[users]]
    if time is not None and request_time == "last_event":
        time = after_last_event(known, users)
    return Fold(known, targets, Requests(users, time))


def _predicted(interactions: Interactions) -> Fold:
    everyone = np.flatnonzero(interactions.lengths).astype(np.int32)
    users = everyone if interactions.to_predict is None else np.unique(interactions.to_predict)
    time = None if interactions.time is None else after_last_event(interactions, users)
    return Fold(interactions, None, Requests(users, time))


def after_last_event(history: Interactions, users: Ints) -> Longs:
    """Return the time 1 ms after each user's last event [n]; for a user without events, after the last event of all."""
    assert history.time is not None
    latest = history.time.max() if len(history) else 0
    time = np.full(len(users), latest, dtype=np.int64)
    some = history.lengths[users] > 0
    time[some] = history.time[history.indptr[users[some] + 1] - 1]
    return time + 1


def later_events(fitted_on: Interactions, fold: Fold) -> tuple[float, float] | None:
    """Count the events at or after a target, which ``fit`` sees and a live system could not.

    Args:
        fitted_on: The history that is fitted on.
        fold: The fold with the targets.

    Returns:
        The largest number and the mean over the requests; None without targets or times.
    """
    if fold.target is None or fold.target.time is None or fitted_on.time is None:
        return None
    times = np.sort(fitted_on.time)
    first_target = fold.target.time[fold.target.indptr[fold.requests.user]]
    later: Doubles = len(times) - np.searchsorted(times, first_target, side="left").astype(np.float64)
    return float(later.max()), float(later.mean())


def may_be_target(interactions: Interactions) -> Bools:
    """Return which users may have targets [n_users]: not those with requests only in ``fold: predict``."""
    allowed = np.ones(interactions.n_users, dtype=bool)
    if interactions.to_predict is not None:
        allowed[interactions.to_predict] = False
    return allowed


def deal(n: int, share: float, seed: int) -> Longs:
    """Draw a step, from 1, for each of ``n`` users or groups [n]; each step has the same ``share`` of them."""
    order = np.random.default_rng(seed).permutation(n)
    return order // max(1, round(share * n)) + 1
