"""What the splits share: making one fold from masks over the events, and counting what its fit may see."""

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
"""How many steps back from now a fold's target lies (0: nothing is held out)."""


def split_by_steps(
    interactions: Interactions,
    fold: FoldName,
    step: Callable[[int], tuple[Bools, Bools]],
    *,
    request_time: RequestTime,
    past: Past,
) -> Split:
    """Make the fold and its past from ``step``, which returns (history, target) masks [n] for a step back.

    Raises:
        InputError: nobody is left to ask for.
    """
    back = STEPS[fold]
    history, target = step(back)
    now = make_fold(interactions, history, target, request_time) if back else _predicted(interactions)
    if not len(now.requests):
        raise InputError(
            f"fold={fold}: no user has both a target and what the split asks for before it: "
            "the data is too small for this split, choose another one (split=by_time, by_user or leave_last)"
        )
    before = make_fold(interactions, *step(back + 1), request_time) if past == "step" else None
    if before is not None and not len(before.requests):
        before = None
    notes = {"requests": len(now.requests), "past_requests": len(before.requests) if before else 0, **_seen_later(now)}
    if interactions.to_predict is not None and fold != "predict":
        notes["users_history_only"] = len(interactions.to_predict)
    return Split(before, now, notes)


def make_fold(interactions: Interactions, history: Bools, target: Bools, request_time: RequestTime) -> Fold:
    """Return the fold of these events, with a request for every user who has a target."""
    known, asked = interactions.keep(history), interactions.keep(target)
    users = np.flatnonzero(asked.lengths).astype(np.int32)
    if asked.time is None:
        return Fold(known, asked, Requests(users))
    if request_time == "last_event":
        return Fold(known, asked, Requests(users, after_last_event(known, users)))
    return Fold(known, asked, Requests(users, asked.time[asked.indptr[users]]))


def _predicted(interactions: Interactions) -> Fold:
    everyone = np.flatnonzero(interactions.lengths).astype(np.int32)
    users = everyone if interactions.to_predict is None else np.unique(interactions.to_predict)
    time = None if interactions.time is None else after_last_event(interactions, users)
    return Fold(interactions, None, Requests(users, time))


def after_last_event(history: Interactions, users: Ints) -> Longs:
    """Return 1 ms after each user's last event [n]; after everyone's last event for a user who has none."""
    assert history.time is not None
    latest = history.time.max() if len(history) else 0
    time = np.full(len(users), latest, dtype=np.int64)
    some = history.lengths[users] > 0
    time[some] = history.time[history.indptr[users[some] + 1] - 1]
    return time + 1


def _seen_later(fold: Fold) -> dict[str, float]:
    """Count the history events that lie at or after a target: what ``fit`` saw and a live system could not have."""
    if fold.target is None or fold.target.time is None or fold.history.time is None:
        return {}
    times = np.sort(fold.history.time)
    first_target = fold.target.time[fold.target.indptr[fold.requests.user]]
    later: Doubles = len(times) - np.searchsorted(times, first_target, side="left").astype(np.float64)
    return {"later_events": float(later.max()), "later_events_per_target": round(float(later.mean()), 1)}


def may_be_target(interactions: Interactions) -> Bools:
    """Which users' events may be targets [n_users]: not those of users whom only ``fold: predict`` asks for."""
    allowed = np.ones(interactions.n_users, dtype=bool)
    if interactions.to_predict is not None:
        allowed[interactions.to_predict] = False
    return allowed


def deal(n: int, share: float, seed: int) -> Longs:
    """Return the step, from 1, that each of ``n`` users or groups is dealt to [n]; every step is one ``share``."""
    order = np.random.default_rng(seed).permutation(n)
    steps: Longs = order // max(1, round(share * n)) + 1
    return steps
