"""Shared code of the splits: making a fold from masks over the events, and counting what its fit sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from recx.core.bounds import check
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.types import Bools, Doubles, Fold, Interactions, Ints, Longs, Requests, Split
from recx.parts.split.listed_users import users_in

RequestTime = Literal["target", "last_event"]
Moment = Literal["target", "last_event", "end"]
"""When a request is made; ``end``: 1 ms after the last event of the whole history, where time played no part."""
Past = Literal["step", "none"]
STEPS: dict[FoldName, int] = {"predict": 0, "test": 1, "valid": 2}
"""Number of steps from the end of the data to a fold's targets (0: nothing is held out)."""


class Asking(Protocol):
    """The settings of a split that decide which of the users with targets are evaluated.

    Attributes:
        users: A file with the ids of the users who ask, if they have what a request needs; None: all do.
        max_users: Largest number of users with a request in a fold with targets, drawn at random; None: all. The
            history is the same whoever is drawn, and so is the past fold.
        seed: Seed of the draw.
    """

    @property
    def users(self) -> Path | None: ...
    @property
    def max_users(self) -> int | None: ...
    @property
    def seed(self) -> int | None: ...


def split_by_steps(
    interactions: Interactions,
    fold: FoldName,
    step: Callable[[int], tuple[Bools, Bools]],
    request_time: Moment,
    past: Past,
    asking: Asking | None = None,
) -> Split:
    """Return a fold and its past.

    Args:
        interactions: All events.
        fold: Name of the fold.
        step: Returns the masks (history, target) [n] of a step, numbered from the end.
        request_time: Whether a request is made when its first ``target`` happened, right after its user's
            ``last_event``, or at the ``end`` of all history.
        past: Whether there is a past fold one ``step`` earlier, or ``none``.
        asking: Whose settings say which users are evaluated, such as the split itself; None: all are.

    Raises:
        InputError: The fold has no requests, the file of users cannot be used, or the data has folds of its own.
    """
    if interactions.given_fold is not None:
        raise InputError(
            "the data says itself which events are train, valid and test, and this split would ignore it: choose "
            "split=given, or leave out what says it (dataset.fold, dataset.valid and dataset.test)"
        )
    step, back = partial(_answered, interactions, step), STEPS[fold]
    now = make_fold(interactions, *step(back), request_time) if back else _predicted(interactions)
    if not len(now.requests):
        raise InputError(
            f"fold={fold}: no user has both a target and the events before it that the split requires: "
            "the data is too small for this split, choose another one (split=by_time, by_user or leave_last)"
        )
    everybody = now.requests.user
    now, notes = (now, dict[str, float]()) if asking is None else evaluated(now, asking, fold)
    before = make_fold(interactions, *step(back + 1), request_time, on_demand=True) if past == "step" else None
    if before is not None and back:
        before, again = without_askers(before, everybody)
        notes |= {"past_requests_with_a_later_list": again} if again else {}
    if before is not None and not len(before.requests):
        before = None
    notes |= {"targets_older_than_history": older} if (older := older_targets(now)) else {}
    notes |= {"requests": len(now.requests), "past_requests": len(before.requests) if before else 0}
    if (later := later_events(now.history, now)) is not None:
        notes |= {"later_events": later[0], "later_events_per_target": round(later[1], 1)}
    if interactions.to_predict is not None and fold != "predict":
        notes["users_history_only"] = len(interactions.to_predict)
    return Split(before, now, notes)


def _answered(interactions: Interactions, step: Callable[[int], tuple[Bools, Bools]], back: int) -> tuple[Bools, Bools]:
    """Return the masks of a step; events of weight 0 (asked, and nothing chosen) are targets, and never history."""
    history, target = step(back)
    return history & (interactions.weight > 0), target


def evaluated(fold: Fold, asking: Asking, name: FoldName | None) -> tuple[Fold, dict[str, float]]:
    """Return a fold with the requests and targets of the users who are evaluated, and its notes (see ``of_users``)."""
    fold, notes = (fold, dict[str, float]()) if asking.users is None else of_users(fold, asking.users, name)
    if asking.max_users is None or fold.target is None:
        return fold, notes
    some = drawn(fold, asking.max_users, asking.seed)
    return some, {**notes, "users_not_drawn": len(fold.requests) - len(some.requests)}


def make_fold(
    interactions: Interactions, history: Bools, target: Bools, request_time: Moment, on_demand: bool = False
) -> Fold:
    """Return the fold of these events, with one request for each user who has a target.

    With ``on_demand`` the history is put together when it is first used, which it may never be.
    """
    targets = interactions.keep(target)
    users = np.flatnonzero(targets.lengths).astype(np.int32)
    time = None if targets.time is None else targets.time[targets.indptr[users]]
    if on_demand and (time is None or request_time == "target"):
        return _FoldOnDemand(partial(interactions.keep, history), targets, Requests(users, time))
    known = interactions.keep(history)
    if time is not None and request_time == "last_event":
        time = after_last_event(known, users)
    elif time is not None and request_time == "end":
        assert known.time is not None
        time = np.full(len(users), known.time.max(initial=0) + 1, dtype=np.int64)
    return Fold(known, targets, Requests(users, time))


def of_users(fold: Fold, file: Path, name: FoldName | None) -> tuple[Fold, dict[str, float]]:
    """Return a fold with the requests and targets of the users of a file, and its notes; the history stays whole.

    Raises:
        InputError: The file cannot be used, or none of its users has a request in this fold, unless it has no name.
    """
    listed, unknown = users_in(file, fold.history.users.ids)
    asking = listed[fold.requests.user]
    notes: dict[str, float] = {
        "users_not_listed": int((~asking).sum()),
        "listed_users_unknown": unknown,
        "listed_users_without_request": int(listed.sum() - asking.sum()),
    }
    if name is not None and not asking.any():
        n, ids = int(listed.sum()), fold.history.users.ids
        raise InputError(
            f"split.users={file}: none of its users has a request in fold={name}, and the data knows {n:,} of its "
            f"{n + unknown:,} ids: name users of this data, such as {ids[0]}, who have a target"
        )
    return _with_requests(fold, asking), notes


class _FoldOnDemand(Fold):
    """A fold whose history is put together when it is first used."""

    def __init__(
        self,
        history: Callable[[], Interactions] | Interactions,
        target: Interactions | None,
        requests: Requests,
        learned: Interactions | None = None,
    ) -> None:
        vars(self).update(target=target, requests=requests, learned=learned)
        vars(self)["make" if callable(history) else "history"] = history

    def __getattr__(self, name: str) -> Interactions:
        if name != "history" or "make" not in vars(self):
            raise AttributeError(name)
        history: Interactions = vars(self).pop("make")()
        vars(self)["history"] = history
        return history


def without_askers(past: Fold, asking: Ints) -> tuple[Fold, int]:
    """Return a past fold without the users who ask again in the fold after it, where the data offers lists.

    A user has one list, which was made for the last question: it may hold that answer, which the earlier question would
    count as wrong.

    Args:
        past: The past fold.
        asking: The users who ask in the fold after it.

    Returns:
        The fold, and how many requests were left out.
    """
    if past.target is None or past.target.slates is None:
        return past, 0
    first = ~np.isin(past.requests.user, asking)
    return (past, 0) if first.all() else (_with_requests(past, first), int((~first).sum()))


def drawn(fold: Fold, most: int, seed: int | None) -> Fold:
    """Return a fold with targets with the requests and targets of at most so many users; the history stays whole.

    All users of the data are drawn in one order, whether they ask in this fold or not: its first are the same in other
    folds, and stay if more are drawn.
    """
    assert fold.target is not None
    users, place = fold.requests.user, np.random.default_rng(seed or 0).permutation(fold.target.n_users)
    chosen = np.zeros(fold.target.n_users, dtype=bool)
    chosen[users[np.argsort(place[users])[:most]]] = True
    return _with_requests(fold, chosen[users])


def _with_requests(fold: Fold, chosen: Bools) -> Fold:
    """Return a fold with some of its requests [n_requests], and with their users' targets."""
    asking = np.zeros(fold.history.n_users, dtype=bool)
    asking[fold.requests.user[chosen]] = True
    target = None if fold.target is None else fold.target.keep(np.repeat(asking, fold.target.lengths))
    return Fold(fold.history, target, fold.requests[chosen], fold.learned)


def check_draw(split: Any) -> None:
    """Check a split's settings; without ``max_users`` nobody is drawn, and splits with other seeds are the same.

    Raises:
        InputError: A setting is outside its bounds.
    """
    check(split, "split")
    if split.max_users is None:
        object.__setattr__(split, "seed", None)


def noting_left_out(split: Split, fold: FoldName, meant: Callable[[int], Bools], too: str) -> Split:
    """Return a split with the number of users of its fold who lack what a request needs; ``predict`` asks for all.

    Args:
        split: The split.
        fold: Name of the fold.
        meant: Returns which users would ask in a step, numbered from the end, if they lacked nothing [n_users].
        too: What they lack, in the name of the note: ``few_events`` or ``little_history``.
    """
    if fold == "predict":
        return split
    others = sum(split.notes.get(name, 0) for name in ("users_not_drawn", "users_not_listed"))  # who lack nothing
    left_out = int(meant(STEPS[fold]).sum()) - len(split.fold.requests) - int(others)
    return replace(split, notes={**split.notes, f"users_left_out_too_{too}": left_out})


def _predicted(interactions: Interactions) -> Fold:
    known = interactions if (interactions.weight > 0).all() else interactions.keep(interactions.weight > 0)
    everyone = np.flatnonzero(interactions.lengths).astype(np.int32)
    users = everyone if interactions.to_predict is None else np.unique(interactions.to_predict)
    time = None if interactions.time is None else after_last_event(interactions, users)
    return Fold(known, None, Requests(users, time))


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
    first_target = np.sort(fold.target.time[fold.target.indptr[fold.requests.user]])  # which are found faster in order
    later: Doubles = len(times) - np.searchsorted(times, first_target, side="left").astype(np.float64)
    return float(later.max()), float(later.mean())


def older_targets(fold: Fold) -> int:
    """Count the targets that are older than the last event of their user's history; 0 without targets or times."""
    history, target = fold.history, fold.target
    if target is None or target.time is None or history.time is None:
        return 0
    last = np.full(history.n_users, np.iinfo(np.int64).min)
    active = history.lengths > 0
    last[active] = history.time[history.indptr[1:][active] - 1]
    return int((target.time < np.repeat(last, target.lengths)).sum())


def may_be_target(interactions: Interactions) -> Bools:
    """Return which users of the interactions may have targets [n_users]: not those asked about only in ``predict``."""
    allowed = np.ones(interactions.n_users, dtype=bool)
    if interactions.to_predict is not None:
        allowed[interactions.to_predict] = False
    return allowed


def deal(n: int, share: float, seed: int) -> Longs:
    """Draw a step, from 1, for each of ``n`` users or groups [n]; each step has the same ``share`` of them."""
    order = np.random.default_rng(seed).permutation(n)
    return order // max(1, round(share * n)) + 1
