"""A few hundred users to look at: what they had, what they were shown, where their target stood, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recx.core.types import Array, Longs
from recx.experiment.experiment import Result
from recx.report.page.report_data import KINDS, ReportData
from recx.report.page.sampled_features import Contributions

OF_EACH_KIND, ASKED = 40, 100
"""Users of each kind that are shown; users where nobody knows the targets."""
EVENTS, SHOWN, TARGETS, FEATURES = 10, 10, 5, 5
LONGEST_NAME, LONGEST_TEXT = 80, 300
SEED = 0


def chosen_users(held: ReportData) -> Longs:
    """Return judged users, increasing, so many of each kind at most, drawn by a fixed seed."""
    rng = np.random.default_rng(SEED)
    of_kind = [np.flatnonzero(held.kind == kind) for kind in range(len(KINDS))]
    drawn = [rng.choice(users, min(len(users), OF_EACH_KIND), replace=False) for users in of_kind]
    return np.sort(np.concatenate(drawn))


def chosen_requests(result: Result) -> Longs:
    """Return places among the requests of a run that predicted, increasing."""
    n = len(result.split.fold.requests)
    return np.sort(np.random.default_rng(SEED).choice(n, min(n, ASKED), replace=False))


class Names:
    """Numbers the items that the examples name: each is told once, however often it is shown."""

    def __init__(self, result: Result) -> None:
        self._items = result.interactions.items
        self._texts = next(
            (self._items.table[name] for name in ("title", "text") if name in self._items.table), np.empty(0)
        )
        self._number: dict[int, int] = {}

    def of(self, items: Array) -> list[int]:
        """Return the number of each of these items."""
        return [self._number.setdefault(int(item), len(self._number)) for item in items]

    def told(self) -> list[dict[str, str]]:
        """Return the name, and where there is one the text, of every item that was numbered."""
        told = []
        for item in self._number:
            text = str(self._texts[item]) if self._texts.dtype.kind in "OUST" and len(self._texts) else ""
            told.append({"name": cut(str(self._items.shown[item]), LONGEST_NAME), "text": cut(text, LONGEST_NAME)})
        return told


def examples(
    result: Result, held: ReportData | None, users: Longs, contributions: Contributions | None
) -> dict[str, Any]:
    """Return the items by number, and a row a user; ``users``: judged ones, or places among the requests."""
    names = Names(result)
    places = users if held is None else held.list_of_user[users]
    rows = [_asked(result, names, place) for place in places.tolist()]
    if held is not None:
        for row, user, place in zip(rows, users.tolist(), places.tolist(), strict=True):
            row |= {**_judged(held, names, user), "why": _why(held, user, place, contributions)}
    return {"items": names.told(), "rows": rows}


def _asked(result: Result, names: Names, place: int) -> dict[str, Any]:
    """Return whom it is about, the newest events of the history and the first items shown."""
    fold, users = result.split.fold, result.interactions.users
    number = int(fold.requests.user[place])
    start, stop = fold.history.indptr[number : number + 2].tolist()
    lists = result.recommendations
    text = users.table.get("text")
    return {
        "user": cut(str(users.shown[number]), LONGEST_NAME),
        "text": "" if text is None else cut(str(text[number]), LONGEST_TEXT),
        "events": stop - start,
        "history": names.of(fold.history.item[max(start, stop - EVENTS) : stop][::-1]),
        "shown": names.of(lists.item[lists.indptr[place] : lists.indptr[place + 1]][:SHOWN]),
    }


def _judged(held: ReportData, names: Names, user: int) -> dict[str, Any]:
    rows = slice(*held.truth.indptr[user : user + 2].tolist())
    gains = held.truth.gain[rows]
    best = np.argsort(-gains, kind="stable")[:TARGETS]
    return {
        "kind": KINDS[held.kind[user]],
        "targets": names.of(held.truth.item[rows][best]),
        "n_targets": len(gains),
        "retrieved": int(held.retrieved[user]) or None,
        "rank": int(held.rank[user]) or None,
    }


def _why(held: ReportData, user: int, place: int, contributions: Contributions | None) -> list[dict[str, Any]]:
    """Return the features that speak most for the first item (over the target), with their parts of both scores."""
    lists = held.result.recommendations
    shown = lists.item[lists.indptr[place] : lists.indptr[place + 1]]
    if contributions is None or not len(shown):
        return []
    rank = int(held.rank[user])
    parts = contributions.to(place, shown[[0, rank - 1]] if rank > 1 else shown[:1])
    of_target: Mapping[int, float] = dict(enumerate(parts[1].tolist())) if rank > 1 else {}
    reach = parts[0] - parts[1] if rank > 1 else parts[0]
    return [
        {"feature": contributions.names[at], "first": float(parts[0, at]), "target": of_target.get(at)}
        for at in np.argsort(-np.abs(reach), kind="stable")[:FEATURES].tolist()
    ]


def cut(words: str, longest: int) -> str:
    """Return words on one line, up to so many characters."""
    words = " ".join(words.split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
