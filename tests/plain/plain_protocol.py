"""The protocol once more, in plain Python: what tests/laws/test_protocol.py holds recx against.

Written from the pages in docs/concepts and the docstrings by lists, dicts and loops, for worlds of a few users and
items. It imports nothing of recx. A random draw is NumPy's, as no loop can say what it should be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import log2

import numpy as np

Event = tuple[int, int | None, float]
"""Item, time in ms (None: no times) and weight."""
STEPS = {"predict": 0, "test": 1, "valid": 2}


@dataclass
class World:
    """The data: events by user, oldest first, and what is known of users and items."""

    events: list[list[Event]]
    n_items: int
    timed: bool
    created: list[int | None] | None = None
    part: list[str] | None = None
    group: list[int] | None = None
    slates: dict[int, list[int]] | None = None
    to_predict: list[int] | None = None

    def may_be_target(self, user: int) -> bool:
        return self.to_predict is None or user not in self.to_predict


@dataclass
class Fold:
    """What is known, what is asked when, and the answers (None when predicting)."""

    history: list[list[Event]]
    targets: list[list[Event]] | None
    requests: dict[int, int | None]

    def clicks(self) -> list[tuple[int, Event]]:
        return [(user, event) for user, events in enumerate(self.history) for event in events]


def sorted_by_user(rows: list[tuple[int, int, int | None, float]], n_users: int, drop: bool) -> list[list[Event]]:
    """Return the events of rows of a file; with ``drop``, of rows that share user, item and time only the first."""
    events: list[list[Event]] = [[] for _ in range(n_users)]
    seen = set()
    for user, item, time, weight in rows:
        if drop and time is not None and (user, item, time) in seen:
            continue
        seen.add((user, item, time))
        events[user].append((item, time, weight))
    return [sorted(of_user, key=lambda event: event[1] or 0) for of_user in events]


# ---- splits: each returns history and targets of a step, as lists by user ----


def leave_last(world, back, now, *, n):
    history, targets = [], []
    for user, events in enumerate(world.events):
        left, taken = len(events), 0
        for _ in range(back):
            taken = n if left > n and world.may_be_target(user) else 0
            left -= taken
        history.append(events[:left])
        targets.append(events[left : left + taken])
    return history, targets


def by_time(world, back, now, *, window, min_history):
    stop = max(event[1] for events in world.events for event in events) + 1 - (back - 1) * window
    start = stop - window
    history = [[event for event in events if event[1] < start] for events in world.events]
    targets = [[event for event in events if start <= event[1] < stop] for events in world.events]
    asks = [world.may_be_target(user) and len(history[user]) >= min_history for user in range(len(history))]
    return history, [events if asked else [] for events, asked in zip(targets, asks, strict=True)]


def drawn_steps(n, share, seed):
    place = np.random.default_rng(seed).permutation(n).tolist()
    return [at // max(1, round(share * n)) + 1 for at in place]


def by_user(world, back, now, *, share, given, grouped, seed):
    values = world.group if grouped else list(range(len(world.events)))
    groups = sorted(set(values))
    step = drawn_steps(len(groups), share, seed)
    history, targets = [], []
    for user, events in enumerate(world.events):
        held_out_in = step[groups.index(values[user])]
        if not world.may_be_target(user) or held_out_in > back:
            history.append(events)
            targets.append([])
        elif held_out_in == back:
            history.append(events[:given])
            targets.append(events[given:])
        else:
            history.append([])
            targets.append([])
    return history, targets


def by_query(world, back, now, *, share, seed):
    if world.part:
        step = [("test", "valid", "train").index(name) + 1 for name in world.part]
    else:
        step = [min(3, drawn) for drawn in drawn_steps(len(world.events), share, seed)]
    history, targets = [], []
    for user, events in enumerate(world.events):
        known_only = not world.may_be_target(user)
        answers = [event for event in events if event[1] == events[-1][1]]
        held_out = not known_only and (step[user] == back if now else step[user] >= back)
        if held_out:
            history.append([event for event in events if event not in answers])
            targets.append(answers)
        else:
            history.append(events if now and (known_only or step[user] > back) else [])
            targets.append([])
    return history, targets


def k_fold(world, back, now, *, k, part, n, min_history, grouped, seed):
    values = world.group if grouped else list(range(len(world.events)))
    taken = [0] * len(world.events)
    for user, events in enumerate(world.events):
        last = len(events) if n is None else min(n, len(events))
        if world.may_be_target(user) and len(events) - last >= min_history:
            taken[user] = last
    groups = sorted({values[user] for user in range(len(taken)) if taken[user]})
    dealt = dict(zip(groups, np.random.default_rng(seed).permutation(len(groups)).tolist(), strict=True))
    history, targets = [], []
    for user, events in enumerate(world.events):
        step = (dealt[values[user]] % k - part) % k + 1 if taken[user] else back + 1
        known = len(events) - (taken[user] if step <= back else 0)
        history.append(events[:known])
        targets.append(events[known:] if step == back else [])
    return history, targets


def k_fold_events(world, back, now, *, k, part, min_history, seed):
    parts = iter((np.random.default_rng(seed).permutation(sum(map(len, world.events))) % k).tolist())
    history, targets = [], []
    for user, events in enumerate(world.events):
        step = [(next(parts) - part) % k + 1 for _ in events]
        if not world.may_be_target(user):
            step = [k + 1] * len(events)
        known = [event for event, at in zip(events, step, strict=True) if at > back]
        asked = len(known) >= min_history and back < k
        history.append(known)
        targets.append([event for event, at in zip(events, step, strict=True) if at == back and asked])
    return history, targets


def random_share(world, back, now, *, share, min_history, seed):
    numbers = iter(np.random.default_rng(seed).random(sum(map(len, world.events))).tolist())
    history, targets = [], []
    for user, events in enumerate(world.events):
        drawn = [next(numbers) for _ in events]
        taken = int(share * len(events) + 0.5) if world.may_be_target(user) else 0
        place = [sorted(drawn).index(number) for number in drawn]
        known = [event for event, at in zip(events, place, strict=True) if at >= back * taken]
        asked = len(known) >= min_history
        history.append(known)
        targets.append(
            [
                event
                for event, at in zip(events, place, strict=True)
                if asked and (back - 1) * taken <= at < back * taken
            ]
        )
    return history, targets


def cold_users(world, back, now, *, share, n):
    arrived = {user: events[0][1] for user, events in enumerate(world.events) if events and world.may_be_target(user)}
    newest = sorted(arrived, key=lambda user: -arrived[user])
    size = max(1, round(share * len(newest)))
    new, earlier = newest[(back - 1) * size : back * size], newest[: (back - 1) * size]
    start = min((arrived[user] for user in new + earlier), default=math.inf)
    stop = min((arrived[user] for user in earlier), default=math.inf)
    history = [[event for event in events if event[1] < start] for events in world.events]
    first = [events[:n] if user in new else [] for user, events in enumerate(world.events)]
    targets = [[event for event in events if event[1] < stop] for events in first]
    return history, targets


def fold_of(world, split, settings, back, now, request_time):
    """Return one fold, or None if nobody has a request."""
    if not back and now:
        asked = sorted(set(world.to_predict or (user for user, events in enumerate(world.events) if events)))
        times = {user: after_last(world.events, user) if world.timed else None for user in asked}
        return Fold(world.events, None, times) if asked else None
    history, targets = split(world, back, now, **settings)
    times = {}
    for user, events in enumerate(targets):
        if events:
            times[user] = events[0][1]
            if world.timed and request_time == "last_event":
                times[user] = after_last(history, user)
            if world.timed and request_time == "end":
                times[user] = max((event[1] for of_user in history for event in of_user), default=0) + 1
    return Fold(history, targets, times) if times else None


def without_askers(past, now):
    """A list that the data offers is for the last question of its user."""
    first = {user: time for user, time in past.requests.items() if user not in now.requests}
    targets = [events if user in first else [] for user, events in enumerate(past.targets)]
    return Fold(past.history, targets, first) if first else None


def after_last(history, user):
    latest = max((event[1] for events in history for event in events), default=0)
    return (history[user][-1][1] if history[user] else latest) + 1


def later_events(fold):
    """Return for each request how many known events lie at or after its first target."""
    times = [event[1] for _, event in fold.clicks()]
    return [sum(time >= fold.targets[user][0][1] for time in times) for user in fold.requests]


# ---- candidates ----


def eligible(world, fold, user, seen):
    """Return the items that this user may be shown."""
    items = []
    for item in range(world.n_items):
        since = [event[1] for _, event in fold.clicks() if event[0] == item]
        if world.created and world.created[item] is not None:
            since.append(world.created[item])
        known = not world.timed or any(time < fold.requests[user] for time in since)
        if known and not (seen == "drop" and any(event[0] == item for event in fold.history[user])):
            items.append(item)
    return items


def best(score, allowed, k):
    """Return (item, score) of the k best, the smaller item first where scores are equal."""
    return sorted(((item, score[item]) for item in allowed if item in score), key=lambda pair: (-pair[1], pair[0]))[:k]


def popularity(world, fitted_on, fold, user, *, window, half_life):
    now, counts = fold.requests[user], {}
    for _, (item, time, _) in fold.clicks():
        if not world.timed:
            counts[item] = counts.get(item, 0) + 1
        elif time < now and (window is None or now - time <= window):
            worth = 1 if half_life is None else 0.5 ** ((now - time) / half_life)
            if worth >= 1e-6:
                counts[item] = counts.get(item, 0) + worth
    return counts


def neighbours(world, fitted_on, *, neighbours, distance, position_decay, half_life, backward, power, shrink):
    """Return item -> neighbour -> similarity."""
    total = {item: {} for item in range(world.n_items)}
    for events in fitted_on.history:
        for first, (a, start, _) in enumerate(events):
            for apart, (b, stop, _) in enumerate(events[first + 1 : first + 1 + distance]):
                worth = position_decay**apart
                if half_life is not None and world.timed:
                    worth *= 0.5 ** ((stop - start) / half_life)
                if a != b:
                    total[a][b] = total[a].get(b, 0) + worth
                    if backward:
                        total[b][a] = total[b].get(a, 0) + worth * backward
    clicks = [sum(event[0] == item for _, event in fitted_on.clicks()) for item in range(world.n_items)]
    scale = [(max(count, 1) + shrink) ** -power for count in clicks]
    for a, row in total.items():
        scaled = [(b, worth * scale[a] * scale[b]) for b, worth in row.items()]
        total[a] = dict(sorted(scaled, key=lambda pair: (-pair[1], pair[0]))[:neighbours])
    return total


def item_knn(world, fitted_on, fold, user, *, last, recency, **fitting):
    similar, score = neighbours(world, fitted_on, **fitting), {}
    for back, (clicked, _, _) in enumerate(fold.history[user][::-1][:last]):
        for item, worth in similar[clicked].items():
            score[item] = score.get(item, 0) + recency**back * worth
    return score


def shuffled_slate(slate, user, seed):
    """Return a slate by falling hash of user, item and seed."""
    return sorted(slate, key=lambda item: -(mixed(user * 2**32 + item + mixed(seed)) >> 40))


def mixed(bits):
    """SplitMix64 (Steele, Lea and Flood 2014)."""
    bits = (bits + 0x9E3779B97F4A7C15) % 2**64
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
    return bits ^ bits >> 31


def merged(lists, weights, method, smoothing, k):
    """Return (item, score) of the k best of the lists (item, score) of several sources; numbers stay exact."""
    score = {}
    for name, found in lists.items():
        largest = max((abs(worth) for _, worth in found), default=0)
        for rank, (item, worth) in enumerate(found, start=1):
            value = 1 / (smoothing + rank) if method == "reciprocal_rank" else worth / largest
            score[item] = score.get(item, 0) + weights.get(name, 1) * value
    return best(score, score, k)


# ---- features ----


def clicks_within(fold, item, now, window, users=None):
    """Return how many events on the item lie at most ``window`` before now (None: all before; no times: all)."""
    return sum(
        event[0] == item and (now is None or (event[1] < now and (window is None or now - event[1] <= window)))
        for user, event in fold.clicks()
        if users is None or user in users
    )


# ---- figures ----


def gains_of(targets):
    """Return item -> its highest weight."""
    gains = {}
    for item, _, weight in targets:
        gains[item] = max(weight, gains.get(item, 0))
    return gains


def figures(shown, gains, threshold, k):
    """Return the figures of one list, cut at k (None: not cut), against the gains of the targets."""
    targets = {item for item, gain in gains.items() if gain >= threshold}
    cut = shown[:k]
    hits = [rank for rank, item in enumerate(cut, start=1) if item in targets]
    ideal = dcg(sorted(gains.values(), reverse=True)[:k])
    precision = len(hits) / (k or len(cut)) if cut else 0.0
    recall = len(hits) / len(targets)
    summed = sum(nth / rank for nth, rank in enumerate(hits, start=1))
    return {
        "hit": float(bool(hits)),
        "recall": recall,
        "recall_capped": len(hits) / min(k or len(targets), len(targets)),
        "precision": precision,
        "f": 2 * precision * recall / (precision + recall) if hits else 0.0,
        "dcg": dcg([gains.get(item, 0) for item in cut]),
        "ndcg": dcg([gains.get(item, 0) for item in cut]) / ideal,
        "map": summed / min(k or len(targets), len(targets)),
        "map_trec": summed / len(targets),
        "mrr": 1 / hits[0] if hits else 0.0,
    }


def dcg(gains):
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def stages(candidates, recommended, gains, threshold, k):
    """Return stage/figure -> value of one user; ``ranking`` lacks a user without a target among the candidates."""
    found = {item: gain for item, gain in gains.items() if item in candidates}
    hit = any(gain >= threshold for gain in found.values())
    of = {
        "retrieval": figures(candidates, gains, threshold, k),
        "end_to_end": figures(recommended, gains, threshold, k),
        "ranking": figures(recommended, found, threshold, k) if hit else {},
    }
    whole = figures(candidates, gains, threshold, None)
    values = {f"{stage}/{name}": value for stage, row in of.items() for name, value in row.items()}
    values["funnel/candidate_recall"] = whole["recall"]
    values["funnel/lost_in_retrieval"] = 1 - whole["hit"]
    values["funnel/lost_in_ranking"] = whole["hit"] - of["end_to_end"]["hit"]
    values["funnel/lift_ndcg"] = of["end_to_end"]["ndcg"] - of["retrieval"]["ndcg"]
    return values
