"""Looks at the data and at the fold made of it before anything is trained: counts, each with a verdict and a way out.

``python -m recx doctor`` prints them; the same counts stand on the protocol card of every run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.protocols import Cutting, Evaluator
from recx.core.ragged import distinct
from recx.core.types import Bools, Fold, Interactions, Longs, Split
from recx.experiment.id_precision import lost_precision

Verdict = Literal["fine", "look", "bad"]
Counts = dict[str, tuple[float, float]]
"""name -> (count, the whole that it is a part of)."""

OVERACTIVE = 100  # times the median of the users' events; logs of people stay below, or take no share of all events
ANY, NEVER = 0.0, math.inf
LIMITS: Mapping[str, tuple[float, float, str]] = {
    # name: (share of the whole from which to look, share from which it is bad, what it means and the way out)
    "duplicate_rows_dropped": (
        *(0.05, NEVER),
        "so many rows told an event again, and were dropped, that a log may stand there twice: see how it was made",
    ),
    "duplicate_rows": (
        *(ANY, 0.05),
        "a copy that stays in the history gives away its twin, the target: set dataset.duplicates=drop",
    ),
    # Usual for music and groceries, odd for ratings and news. What it costs is told by targets_already_had.
    "repeated_pairs": (
        *(0.05, NEVER),
        "users come back to items that they have had, which seen=drop never shows again: think of seen=keep",
    ),
    "times_like_seconds": (
        *(ANY, 0.5),
        "they lie in 1970, as seconds do that are taken for milliseconds, so that ages, windows and half-lives are "
        "wrong a thousandfold: set dataset.time_unit=s, or multiply by 1000",
    ),
    # A clock of its own is no fault; but a few such times among dates are.
    "times_before_1990": (
        *(ANY, NEVER),
        "zeros for missing times, or a clock of its own: take the rows out, or make sure that it counts milliseconds",
    ),
    "times_after_2100": (
        *(ANY, 0.5),
        "they seem to count micro- or nanoseconds, so that ages, windows and half-lives are wrong: set "
        "dataset.time_unit=us or ns, or take the rows out",
    ),
    "users_without_events": (0.05, NEVER, "nothing is known of them, so only popularity can serve them"),
    # In a raw web log it is a third or so; where it is nearly all, there is no next event to learn.
    "users_with_one_event": (
        *(0.25, 0.75),
        "one event cannot be both history and target: with leave_last the figures speak of the other users only",
    ),
    # MovieLens 100K, with 44 %, is known for it: figures move by points with the order of the rows.
    "users_with_tied_last_events": (
        *(0.02, 0.2),
        "the order of the rows in the file, not time, says which of their events is the last, the target of "
        "leave_last: give finer times, or choose split=by_time or by_user",
    ),
    # From these shares on a few users shift everybody's co-clicks.
    "events_of_overactive_users": (
        *(0.01, 0.05),
        f"some users have more than {OVERACTIVE} times the median of events, as bots and shared accounts do: take "
        "them out, or see what the figures are without them",
    ),
    "items_without_events": (0.25, NEVER, "only a model that knows their content can recommend them"),
    "items_without_embedding": (0.05, NEVER, "a model that goes by content has nothing to know them by"),
    # Ratings and shops have a tenth of their events there, news sites from a third up.
    "events_on_top_1_percent": (
        *(1 / 3, 0.9),
        "1 % of the items have so many events that popularity alone looks strong: compare with retriever=popularity, "
        "and look at coverage",
    ),
    "ids_that_lost_precision": (
        *(ANY, 0.01),
        "they went through floats or a spreadsheet, which round long numbers, so that several users or items may "
        "have become one: write them again from their source, as whole numbers or text",
    ),
    "users_unseen": (
        *(0.05, NEVER),
        "they ask without a history, so that models of users can only give them what is popular: judge them apart, or "
        "set split.min_history or split.given to 1",
    ),
    "users_who_saw_everything": (
        *(0.001, 0.1),
        "seen=drop leaves no item for them, so that they count as misses: set seen=keep, or take them out",
    ),
    "targets_unseen": (
        *(0.05, 0.5),
        "nobody had these items before, so that models of clicks cannot reach them: add a source that goes by "
        "content, and read recall against the share that is left",
    ),
    "targets_already_had": (
        *(0.01, 0.2),
        "their users had them before, so that seen=drop never shows them and they count as misses: think of seen=keep",
    ),
    # Every leave_last on a clock has some; none is wrong as long as runs with the same split are compared.
    "events_later_than_target": (
        *(0.01, NEVER),
        "fit sees so much of the history from after a target (on average), which no live system can: split=by_time "
        "has none of it",
    ),
    "median_hours_to_target": (
        *(0.25, NEVER),
        "users are asked for long after their last event, as measured by all the time that the history covers, so "
        "that recent clicks say little: take a shorter split.window",
    ),
    # Found in the Globo.com logs, where a session's last click always lies 30 s after the one before.
    "targets_after_one_same_gap": (
        *(0.3, NEVER),
        "so many targets lie equally long after the user's event before, to the millisecond, that the log seems to "
        "have made their times up: set split.request_time=last_event",
    ),
    "cuts_beyond_catalogue": (
        *(ANY, 1.0),
        "a list of this length holds all that there is to choose from, so that hit and recall are 1 whatever the "
        "model does: choose a smaller k",
    ),
}
FEW, TOO_FEW = 200, 30  # requests: a rate is known to within 7 and 18 points (95 %)
YEAR_1990, YEAR_2100 = 631_152_000_000, 4_102_444_800_000  # ms
HOUR = 3_600_000  # ms


@dataclass(frozen=True)
class Finding:
    """A count, the whole that it is a part of, and what a person should think of it.

    name: also the count's name on the protocol card. why: what it means and the way out, one sentence; "" if fine.
    """

    name: str
    count: float
    of: float
    verdict: Verdict
    why: str

    @property
    def share(self) -> float:
        """The count as a share of its whole; 0 of nothing."""
        return self.count / self.of if self.of else 0.0


def examine(interactions: Interactions, split: Split, cuts: Sequence[int]) -> list[Finding]:
    """Return what there is to say about the data, and about the fold that is judged at these cuts."""
    had = distinct(_pairs(split.fold.history))
    measured = {**_rows(interactions), **_clock(interactions.time), **_people(interactions), **_things(interactions)}
    measured |= _asked(split.fold, had)
    if split.fold.target is not None:
        measured |= _answers(split.fold, split.fold.target, had)
        later = split.notes.get("later_events_per_target")
        measured |= {} if later is None else {"events_later_than_target": (later, len(split.fold.history))}
    measured["cuts_beyond_catalogue"] = (sum(k >= _choice(interactions) for k in cuts), len(cuts))
    findings = [_graded(name, count, of) for name, (count, of) in measured.items()]
    return findings if split.fold.target is None else [*findings, _requests(split.fold)]


def counts(findings: Sequence[Finding]) -> dict[str, float]:
    """Return name -> count."""
    return {finding.name: finding.count for finding in findings}


def cuts_of(evaluator: Evaluator) -> list[int]:
    """Return the cuts of an evaluator's metrics, smallest first; none where it does not offer them."""
    return list(evaluator.cuts) if isinstance(evaluator, Cutting) else []


def _graded(name: str, count: float, of: float) -> Finding:
    look, bad, why = LIMITS[name]
    share = count / of if of else 0.0
    verdict: Verdict = "fine" if not count or share < look else "look" if share < bad else "bad"
    return Finding(name, float(count), float(of), verdict, "" if verdict == "fine" else why)


def _requests(fold: Fold) -> Finding:
    """Return how many are judged: the one finding of which more is better."""
    number = len(fold.requests)
    verdict: Verdict = "fine" if number >= FEW else "look" if number >= TOO_FEW else "bad"
    why = "so few are judged that chance moves every figure by several points: take a longer split.window, or more data"
    return Finding("requests", number, fold.history.n_users, verdict, "" if verdict == "fine" else why)


def _pairs(events: Interactions) -> Longs:
    """Return user and item of every event in one number [n]."""
    return events.user.astype(np.int64) * events.n_items + events.item


def _among(keys: Longs, known: Longs) -> Bools:
    """Return which keys [n] are among the known ones, which are sorted."""
    return np.searchsorted(known, keys, side="right") > np.searchsorted(known, keys)


def _rows(events: Interactions) -> Counts:
    pair = _pairs(events)
    order = np.argsort(pair, kind="stable")  # a user's events are in the order of time, and so are a pair's
    again = pair[order][1:] == pair[order][:-1]
    at_once = np.zeros_like(again)
    if events.time is not None:
        at_once = again & (events.time[order][1:] == events.time[order][:-1])
    dropped = events.notes.get("duplicate_rows", 0)
    return {
        "duplicate_rows_dropped": (dropped, len(events) + dropped),
        "duplicate_rows": (int(at_once.sum()), len(events)),
        "repeated_pairs": (int((again & ~at_once).sum()), len(events)),
    }


def _clock(time: Longs | None) -> Counts:
    """Count times that are no dates of these years; the unit shows where nearly all are off by the same factor."""
    if time is None or not len(time):
        return {}
    early = time < YEAR_1990
    first = np.quantile(time, 0.01)  # not the minimum: a few zeros for missing times must not hide the rest
    seconds = (time >= YEAR_1990 // 1000) & (time < YEAR_2100 // 1000) & (first >= YEAR_1990 // 1000)
    if early.all() and int(time.max()) - int(time.min()) < HOUR:  # all that is known happened within the hour
        seconds = early
    return {
        "times_like_seconds": (int(seconds.sum()), len(time)),
        "times_before_1990": (int((early & ~seconds).sum()), len(time)),
        "times_after_2100": (int((time >= YEAR_2100).sum()), len(time)),
    }


def _people(events: Interactions) -> Counts:
    lengths, time = events.lengths, events.time
    active, several = lengths[lengths > 0], lengths > 1
    usual = float(np.median(active)) if len(active) else 0.0
    found: Counts = {
        "users_without_events": (len(lengths) - len(active), len(lengths)),
        "users_with_one_event": (int((active == 1).sum()), len(active)),
        "events_of_overactive_users": (int(active[active > OVERACTIVE * usual].sum()), len(events)),
    }
    if time is not None:
        last = events.indptr[1:][several] - 1
        found["users_with_tied_last_events"] = (int((time[last] == time[last - 1]).sum()), len(last))
    return found


def _things(events: Interactions) -> Counts:
    clicks, items, ids = events.clicks, events.items, (events.users.ids, events.items.ids)
    top = np.sort(clicks)[len(clicks) - len(clicks) // 100 :]
    found: Counts = {
        "events_on_top_1_percent": (int(top.sum()), len(events)),
        "items_without_events": (int((clicks == 0).sum()), len(clicks)),
        "ids_that_lost_precision": (sum(map(lost_precision, ids)), sum(map(len, ids))),
    }
    if items.embedding is not None:
        found["items_without_embedding"] = (int((~items.has_embedding).sum()), len(items))
    return found


def _asked(fold: Fold, had: Longs) -> Counts:
    users, history = fold.requests.user, fold.history
    n_had = np.bincount(had // max(1, history.n_items), minlength=history.n_users)
    return {
        "users_unseen": (int((history.lengths[users] == 0).sum()), len(users)),
        "users_who_saw_everything": (int((n_had[users] >= history.n_items).sum()), len(users)),
    }


def _answers(fold: Fold, target: Interactions, had: Longs) -> Counts:
    history, users, asked = fold.history, fold.requests.user, _pairs(target)
    unseen = history.clicks[target.item] == 0
    if history.slates is not None:  # what the data itself offers can be reached without clicks
        slates = history.slates
        offered = slates.user[slates.list_of_row].astype(np.int64) * history.n_items + slates.item
        unseen &= ~_among(asked, distinct(offered))
    found: Counts = {
        "targets_unseen": (int(unseen.sum()), len(target)),
        "targets_already_had": (int(_among(asked, had).sum()), len(target)),
    }
    known = users[history.lengths[users] > 0]
    if target.time is None or history.time is None or not len(known):
        return found
    gap = target.time[target.indptr[known]] - history.time[history.indptr[known + 1] - 1]
    same = np.unique(gap[gap > 0], return_counts=True)[1].max(initial=0)
    span = int(history.time.max()) - int(history.time.min())
    return found | {
        "median_hours_to_target": (round(float(np.median(gap)) / HOUR, 4), round(span / HOUR, 4)),
        "targets_after_one_same_gap": (int(same) if same > 1 else 0, len(known)),
    }


def _choice(events: Interactions) -> int:
    """Return among how many items the truth is to be found: the catalogue, or the usual list that the data offers."""
    slates = events.slates
    return int(np.median(slates.lengths)) if slates is not None and slates.n_lists else events.n_items
