"""A few hundred users to look at: their history, what was recommended, the ranks of their targets, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from recx.core.types import Array, Longs
from recx.experiment.experiment import Result
from recx.experiment.kept_ranker import explainable_of
from recx.report.page.report_data import KINDS, ReportData

OF_EACH_KIND, OF_A_PREDICTION = 40, 100
"""Users of each kind that are shown; users of a run that predicted."""
EVENTS, SHOWN, TARGETS, FEATURES = 10, 10, 5, 5
LONGEST_NAME, LONGEST_TEXT = 80, 300
SEED = 0


def examples(result: Result, data: ReportData | None, folder: Path) -> dict[str, Any]:
    """Return users to show.

    Args:
        result: The run.
        data: Its judged lists; None if it predicted.
        folder: Its files.

    Returns:
        ``items``: name and text of every item that is mentioned. ``rows``: one per user; items are indices into
        ``items``.
    """
    rng, names = np.random.default_rng(SEED), Names(result)
    if data is None:
        n = len(result.split.fold.requests)
        places = np.sort(rng.choice(n, min(n, OF_A_PREDICTION), replace=False))
        return {"rows": [_user(result, names, place) for place in places.tolist()], "items": names.items()}
    of_kind = [np.flatnonzero(data.kind == kind) for kind in range(len(KINDS))]
    drawn = [rng.choice(users, min(len(users), OF_EACH_KIND), replace=False) for users in of_kind]
    users = np.sort(np.concatenate(drawn))
    rows = [_user(result, names, place) for place in data.list_of_user[users].tolist()]
    for row, user, why in zip(rows, users.tolist(), _reasons(data, folder, users), strict=True):
        row |= {**_outcome(data, names, user), "why": why}
    return {"rows": rows, "items": names.items()}


class Names:
    """Numbers the items that the examples mention, so that each name is stored once."""

    def __init__(self, result: Result) -> None:
        self._items = result.interactions.items
        table = self._items.table
        text = next((table[name] for name in ("title", "text") if name in table), np.empty(0))
        self._text = text if text.dtype.kind in "OUST" and len(text) else np.full(len(self._items), "")
        self._number: dict[int, int] = {}

    def of(self, items: Array) -> list[int]:
        """Return the number of each of these items."""
        return [self._number.setdefault(int(item), len(self._number)) for item in items]

    def items(self) -> list[dict[str, str]]:
        """Return name and text of every numbered item, in order."""
        return [
            {"name": cut(str(self._items.shown[item]), LONGEST_NAME), "text": cut(str(self._text[item]), LONGEST_NAME)}
            for item in self._number
        ]


def _user(result: Result, names: Names, place: int) -> dict[str, Any]:
    """Return a user's name and text, the newest events of the history and the first recommendations."""
    fold, users, lists = result.split.fold, result.interactions.users, result.recommendations
    number = int(fold.requests.user[place])
    start, stop = fold.history.indptr[number : number + 2].tolist()
    text = users.table.get("text")
    return {
        "user": cut(str(users.shown[number]), LONGEST_NAME),
        "text": "" if text is None else cut(str(text[number]), LONGEST_TEXT),
        "events": stop - start,
        "history": names.of(fold.history.item[max(start, stop - EVENTS) : stop][::-1]),
        "shown": names.of(lists.item[lists.indptr[place] : lists.indptr[place + 1]][:SHOWN]),
    }


def _outcome(data: ReportData, names: Names, user: int) -> dict[str, Any]:
    """Return the kind of a user, the targets and the ranks of the first relevant one."""
    rows = slice(*data.truth.indptr[user : user + 2].tolist())
    gains = data.truth.gain[rows]
    best = np.argsort(-gains, kind="stable")[:TARGETS]
    return {
        "kind": KINDS[data.kind[user]],
        "targets": names.of(data.truth.item[rows][best]),
        "n_targets": len(gains),
        "retrieved": int(data.retrieved[user]) or None,
        "rank": int(data.rank[user]) or None,
    }


def _reasons(data: ReportData, folder: Path, users: Longs) -> list[list[dict[str, Any]]]:
    """Return, for every user, the features that favour the first item most (over the target), by both contributions."""
    result, places = data.result, data.list_of_user[users]
    ranker, fold, lists = explainable_of(folder, result.experiment.ranker), result.split.fold, result.recommendations
    if ranker is None or not len(users):
        return [[] for _ in users]
    candidates = result.candidates.take(places)
    contributions = ranker.contributions(candidates, fold.history, fold.requests[places])
    reasons = []
    for n, (place, rank) in enumerate(zip(places.tolist(), data.rank[users].tolist(), strict=True)):
        shown = lists.item[lists.indptr[place] : lists.indptr[place + 1]]
        compared = shown[[0, rank - 1]] if rank > 1 else shown[:1]
        rows = slice(*candidates.indptr[n : n + 2].tolist())
        parts = contributions[rows][[int(np.flatnonzero(candidates.item[rows] == item)[0]) for item in compared]]
        of_target = parts[1].tolist() if rank > 1 else [None] * len(ranker.names)
        reach = -np.abs(parts[0] - parts[1] if rank > 1 else parts.sum(axis=0))
        strongest = np.argsort(reach, kind="stable")[:FEATURES].tolist() if len(shown) else []
        reasons.append(
            [{"feature": ranker.names[at], "first": float(parts[0, at]), "target": of_target[at]} for at in strongest]
        )
    return reasons


def cut(text: str, longest: int) -> str:
    """Return a text on one line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
