"""Checks of the data and of the evaluated fold before anything is trained: counts, each with a verdict and a way out.

``python -m recx doctor`` prints them; the protocol card of every run holds the same counts. The bounds of the verdicts
and the sentences are in ``doctor.toml``.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from recx.core.clock import RELATIVE
from recx.core.filters import removed
from recx.core.own_items import among, in_history, repeats_of
from recx.core.protocols import Cutting, Evaluator, FoldName, Splitter, ignores_time
from recx.core.types import Bools, Fold, Interactions, Ints, Longs, RankedLists, Split
from recx.experiment.id_precision import lost_precision
from recx.experiment.repeated_texts import repeated_texts
from recx.experiment.scripts import Scripts, scripts
from recx.parts.split.folds import older_targets

Verdict = Literal["fine", "look", "bad"]
Counts = dict[str, tuple[float, float]]
"""name -> (count, the whole that it is a part of)."""

LIMITS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("doctor.toml").read_text(encoding="utf-8")
)
OVERACTIVE = 100  # times the median of the users' events; people stay below, or have no share worth mentioning
FEW, TOO_FEW = 200, 30  # requests: a rate is known to within 7 and 18 points (95 %)
YEAR_1990, YEAR_2100 = 631_152_000_000, 4_102_444_800_000  # ms
HOUR = 3_600_000  # ms
OF_TASKS = ("tasks_without_truth", "tasks_with_several_tools", "tasks_without_tool")
"""Notes of datasets whose users are tasks: of how many no right tool is known, several are right, and none is."""


@dataclass(frozen=True)
class Finding:
    """A count with its verdict.

    Attributes:
        name: What was counted; also the name on the protocol card.
        count: The count.
        of: The whole that it is a part of.
        verdict: Whether it is fine, deserves a look or is bad.
        why: What it means and the way out, one sentence; "" if it is fine, but for texts, which have an example.
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


class Chain(Protocol):
    """What is asked of a chain: how it splits, what it evaluates, and which fold."""

    @property
    def splitter(self) -> Splitter: ...
    @property
    def evaluator(self) -> Evaluator: ...
    @property
    def fold(self) -> FoldName: ...


def examined(chain: Chain, interactions: Interactions, split: Split) -> list[Finding]:
    """Return what ``examine`` finds in the data and the fold of a chain."""
    return examine(interactions, split, cuts_of(chain.evaluator), chain.fold, ignores_time(chain.splitter))


def examine(
    interactions: Interactions,
    split: Split,
    cuts: Sequence[int],
    name: FoldName = "test",
    any_time: bool = False,
) -> list[Finding]:
    """Check the data and the evaluated fold.

    Args:
        interactions: All events, before the split.
        split: The fold that is evaluated, and the one before.
        cuts: The lengths at which the metrics cut the lists.
        name: The name of the fold.
        any_time: Whether the split ignores time (see ``Splitter``): the time since the last known event says nothing
            where targets may be older than that.

    Returns:
        One finding for each count; counts that need times, targets, embeddings or texts only where there are some.
    """
    fold = split.fold
    measured = {**_rows(interactions), **_times(interactions), **_users(interactions), **_items(interactions)}
    measured |= _requests(fold)
    if fold.target is not None:
        measured |= _targets(fold, fold.target)
        measured |= {} if any_time else _gaps(fold, fold.target)
        if "later_events_per_target" in split.notes:
            measured["events_later_than_target"] = (split.notes["later_events_per_target"], len(fold.history))
    measured["cuts_beyond_catalogue"] = (sum(k >= _choice(interactions) for k in cuts), len(cuts))
    texts = scripts(interactions)
    if texts:
        measured["texts_without_words"] = (texts.without_words, texts.of)
    expected = _expected(interactions, fold)
    told = {**removed(interactions), **_of_tasks(interactions)}
    findings = [Finding(one, count, of, "fine", "") for one, (count, of) in told.items()]
    findings += [_finding(one, count, of) for one, (count, of) in measured.items()]
    findings = [replace(one, verdict="fine", why="") if one.name in expected else one for one in findings]
    repeated = repeated_texts(split, name)
    if repeated is not None:
        found = _finding("texts_on_both_sides", repeated.count, repeated.of)
        findings.append(replace(found, why=repeated.why))
    findings += _scripts(texts)
    return (
        findings if fold.target is None else [*findings, _finding("requests", len(fold.requests), fold.history.n_users)]
    )


def _expected(interactions: Interactions, fold: Fold) -> set[str]:
    """Return the counts that are as they should be where everybody asks for the first time, as tasks and queries do."""
    asked, history = fold.requests.user, fold.history
    if not len(asked) or history.lengths[asked].any():
        return set()
    offered, texts = interactions.slates is not None, ["text" in one.table for one in (history.users, history.items)]
    found = {"users_with_one_event", "users_with_tied_last_events"}
    if offered or texts[0]:
        found |= {"users_unseen", "users_without_events"}
    if offered or all(texts):  # an answer is found by what it is, not by who has chosen it before
        found |= {"items_without_events", "targets_unseen"}
    return found


def counts(findings: Sequence[Finding]) -> dict[str, float]:
    """Return name -> count."""
    return {finding.name: finding.count for finding in findings}


def cuts_of(evaluator: Evaluator) -> list[int]:
    """Return the cuts of an evaluator's metrics, smallest first; none if it does not report them."""
    return list(evaluator.cuts) if isinstance(evaluator, Cutting) else []


def _finding(name: str, count: float, of: float) -> Finding:
    limit, share = LIMITS[name], count / of if of else 0.0
    if name == "requests":  # of which more is better
        fine, bad = count >= FEW, count < TOO_FEW
    else:
        fine, bad = not count or share < limit["look"], share >= limit.get("bad", math.inf)
    verdict: Verdict = "fine" if fine else "bad" if bad else "look"
    return Finding(name, float(count), float(of), verdict, "" if fine else limit["why"])


def _scripts(texts: Scripts | None) -> list[Finding]:
    """Return in which scripts the texts are, with what becomes of one text of each."""
    if texts is None:
        return []
    return [
        Finding(f"texts_in_{script}", count, texts.of, "fine", texts.examples.get(script, ""))
        for script, count in texts.counts.items()
    ]


def _of_tasks(events: Interactions) -> Counts:
    """Return what a dataset of tasks says of their answers."""
    return {name: (events.notes[name], events.n_users) for name in OF_TASKS if name in events.notes}


def _rows(events: Interactions) -> Counts:
    # Duplicates that are dropped already were recognised by finer times than these.
    at_once, later, _ = repeats_of(events, timed="duplicate_rows" not in events.notes)
    dropped, unchosen = (events.notes.get(name, 0) for name in ("duplicate_rows", "rows_of_weight_0"))
    return {
        "rows_of_weight_0": (unchosen, len(events) + unchosen),
        "duplicate_rows_dropped": (dropped, len(events) + dropped),
        "duplicate_rows": (at_once, len(events)),
        "repeated_pairs": (later, len(events)),
    }


def _times(events: Interactions) -> Counts:
    """Count times outside 1990 to 2100, unless they are said to count from a start of their own.

    Where nearly all are off by the same factor, it shows the unit.
    """
    time = events.time
    if time is None or not len(time) or RELATIVE in events.notes:
        return {}
    early = time < YEAR_1990
    first = np.quantile(time, 0.01)  # not the minimum, since a few zeros for missing times must not hide the rest
    seconds = (time >= YEAR_1990 // 1000) & (time < YEAR_2100 // 1000) & (first >= YEAR_1990 // 1000)
    return {
        "times_like_seconds": (int(seconds.sum()), len(time)),
        "times_before_1990": (int((early & ~seconds).sum()), len(time)),
        "times_after_2100": (int((time >= YEAR_2100).sum()), len(time)),
    }


def _users(events: Interactions) -> Counts:
    lengths, time = events.lengths, events.time
    active = lengths[lengths > 0]
    usual = float(np.median(active)) if len(active) else 0.0
    found: Counts = {
        "users_without_events": (len(lengths) - len(active), len(lengths)),
        "users_with_one_event": (int((active == 1).sum()), len(active)),
        "events_of_overactive_users": (int(active[active > OVERACTIVE * usual].sum()), len(events)),
    }
    if time is not None:
        last = events.indptr[1:][lengths > 1] - 1
        tied = events.notes.get("tied_last_events", int((time[last] == time[last - 1]).sum()))  # in finer times
        found["users_with_tied_last_events"] = (tied, len(last))
    return found


def _items(events: Interactions) -> Counts:
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


def _requests(fold: Fold) -> Counts:
    users, history = fold.requests.user, fold.history
    n_had = repeats_of(history)[2]
    return {
        "users_unseen": (int((history.lengths[users] == 0).sum()), len(users)),
        "users_who_saw_everything": (int((n_had[users] >= history.n_items).sum()), len(users)),
    }


def _targets(fold: Fold, target: Interactions) -> Counts:
    history = fold.history
    wanted = (np.arange(target.n_users), target.indptr, target.item)
    unseen = history.clicks[target.item] == 0
    if fold.requests.allowed is not None:  # a split that allows items without clicks asks for them
        unseen &= ~fold.requests.allowed[target.item]
    if history.slates is not None:  # items that the data offers can be reached without clicks
        unseen &= ~_offered(history.slates, *wanted, history.n_items)
    found: Counts = {
        "targets_unseen": (int(unseen.sum()), len(target)),
        "targets_already_had": (int(in_history(*wanted, history).sum()), len(target)),
    }
    if target.time is not None and history.time is not None:
        found["targets_older_than_history"] = (older_targets(fold), len(target))
    return found


def _gaps(fold: Fold, target: Interactions) -> Counts:
    """Return counts of the time from a user's last known event to the first target; none without times."""
    history, users = fold.history, fold.requests.user
    known = users[history.lengths[users] > 0]
    if target.time is None or history.time is None or not len(known):
        return {}
    gap = target.time[target.indptr[known]] - history.time[history.indptr[known + 1] - 1]
    same = np.unique(gap[gap > 0], return_counts=True)[1].max(initial=0)
    span = int(history.time.max()) - int(history.time.min())
    return {
        "median_hours_to_target": (round(float(np.median(gap)) / HOUR, 4), round(span / HOUR, 4)),
        "targets_after_one_same_gap": (int(same) if same > 1 else 0, len(known)),
    }


def _offered(slates: RankedLists, user: Longs, indptr: Longs, item: Ints, n_items: int) -> Bools:
    """Return which rows of lists (see ``among``) show an item of a slate of their user [n]."""
    slates = slates.take(np.argsort(slates.user, kind="stable"))
    borders = slates.indptr[np.searchsorted(slates.user, np.arange(len(user) + 1))]
    return among(user, indptr, item, borders, slates.item, n_items)


def _choice(events: Interactions) -> int:
    """Return how many items there are to choose from: the catalogue, or the median list that the data offers."""
    slates = events.slates
    return int(np.median(slates.lengths)) if slates is not None and slates.n_lists else events.n_items
