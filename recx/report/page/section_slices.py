"""Figures by group of users (history length, popularity, age, hour, category), and what the ranker adds for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.entities import UNKNOWN_TIME
from recx.core.evaluation import Evaluation
from recx.core.types import Array, Bools, Doubles
from recx.evaluation.slices import quarters
from recx.report.page.report_data import ReportData
from recx.report.page.section_figures import Ends

HOUR = 3_600_000
"""Milliseconds."""
HOURS_PER_GROUP, MOST_CATEGORIES = 3, 8
TITLES = {
    "history_length": "Length of the history (events)",
    "item_popularity": "Popularity of the target (earlier events of all users)",
    "item_age": "Age of the target at the request (hours)",
    "hour": "Hour of the request (UTC)",
    "category": "Category of the target",
}

Groups = Mapping[str, Mapping[str, Bools]]
"""Slice -> label of a group -> whether a user belongs to it [n_users]."""


def groups_of(data: ReportData, evaluation: Evaluation) -> Groups:
    """Return the slices of the data that have at least two groups of users."""
    same = np.array_equal(evaluation.users, data.truth.history.users.ids[data.truth.user])
    values = {**(evaluation.slices if same else {}), **_age(data)}
    found: dict[str, Mapping[str, Bools]] = {name: quarters(column) for name, column in values.items()}
    found |= {"hour": _hours(data), "category": _categories(data)}
    return {name: groups for name, groups in found.items() if len(groups) > 1}


def columns_of(data: ReportData, slices: Groups) -> Iterator[Doubles]:
    """Yield, for every group in order, its values of NDCG and of what the ranker adds, NaN for other users."""
    masks = [users for groups in slices.values() for users in groups.values()]
    return (np.where(users, values, np.nan) for users in masks for values in (data.ndcg, data.lift))


def slices_of(data: ReportData, slices: Groups, intervals: Sequence[Ends]) -> list[dict[str, Any]]:
    """Return the slices with one row per group.

    Args:
        data: The judged lists.
        slices: The users of every group.
        intervals: Ends of the intervals of ``columns_of(data, slices)``.
    """
    ends = iter(intervals)
    return [
        {
            "name": name,
            "title": TITLES.get(name, name.replace("_", " ")),
            "groups": [_group(data, label, users, next(ends), next(ends)) for label, users in groups.items()],
        }
        for name, groups in slices.items()
    ]


def _group(data: ReportData, label: str, users: Bools, of_ndcg: Ends, of_lift: Ends) -> dict[str, Any]:
    """Return the figures of some users [n_users, mask]; hit and NDCG are cut at k."""
    lift = data.lift[users]
    return {
        "label": label,
        "users": len(lift),
        "retrieved": float((data.retrieved[users] > 0).mean()),
        "hit": float(data.is_shown[users].mean()),
        **dict(zip(("ndcg", "ndcg_low", "ndcg_high"), (float(data.ndcg[users].mean()), *of_ndcg), strict=True)),
        **dict(zip(("lift", "lift_low", "lift_high"), (float(lift.mean()), *of_lift), strict=True)),
        "higher": int((lift > 0).sum()),
        "lower": int((lift < 0).sum()),
    }


def _age(data: ReportData) -> dict[str, Doubles]:
    """Return the age of every user's first target at the request [n_users] in hours, NaN if it is unknown."""
    fold = data.result.split.fold
    if fold.requests.time is None:
        return {}
    time = fold.requests.time[data.list_of_user]
    born = fold.history.items.table.get("created_at", fold.history.first_seen)[_first_target(data)]
    age = (time - np.where(born == UNKNOWN_TIME, time, born)) / HOUR
    return {"item_age": np.where((born == UNKNOWN_TIME) | (age < 0), np.nan, age.round(1))}


def _hours(data: ReportData) -> dict[str, Bools]:
    time = data.result.split.fold.requests.time
    if time is None:
        return {}
    start = time[data.list_of_user] // HOUR % 24 // HOURS_PER_GROUP * HOURS_PER_GROUP
    return {f"{hour:02}–{hour + HOURS_PER_GROUP:02}": start == hour for hour in np.unique(start).tolist()}


def _categories(data: ReportData) -> dict[str, Bools]:
    """Return the users of the most frequent categories of their first targets, then those of all others."""
    column = data.result.split.fold.history.items.table.get("category")
    if column is None:
        return {}
    of_user = column[_first_target(data)]
    known = of_user >= 0 if of_user.dtype.kind in "iu" else of_user.astype(str) != ""
    names, counts = np.unique(of_user[known], return_counts=True)
    top = names[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]]
    groups = {f"category {name}": of_user == name for name in top.tolist()}
    others = known & ~np.isin(of_user, top)
    return {**groups, "all others": others} if others.any() else groups


def _first_target(data: ReportData) -> Array:
    return data.truth.item[data.truth.indptr[:-1]]
