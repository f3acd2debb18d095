"""For whom it works: figures by history length, popularity, age, hour and category, and who gained by the ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.entities import UNKNOWN_TIME
from recx.core.types import Array, Bools, Doubles
from recx.evaluation.compare import quarters
from recx.report.page.report_data import ReportData
from recx.report.page.section_figures import Ends

HOUR = 3_600_000
"""Milliseconds."""
HOURS_A_GROUP = 3
MOST_CATEGORIES = 8

TITLES = {
    "history_length": "Length of the history (events)",
    "item_popularity": "Popularity of the target (events of anyone before)",
    "item_age": "Age of the target at the request (hours)",
    "hour": "Hour of the request (UTC)",
    "category": "Category of the target",
}


Groups = Mapping[str, Mapping[str, Bools]]
"""Slice -> label of a group -> whether a user is one of it [n_users]."""


def groups_of(held: ReportData) -> Groups:
    """Return the slices that the data has and that tell at least two groups of users apart."""
    found: dict[str, Mapping[str, Bools]] = {name: quarters(values) for name, values in _values(held).items()}
    found |= {"hour": _hours(held), "category": _categories(held)}
    return {name: groups for name, groups in found.items() if len(groups) > 1}


def columns_of(held: ReportData, slices: Groups) -> list[Doubles]:
    """Return of every group, in order, the values whose intervals its row shows: ndcg, and what the ranker adds."""
    masks = [users for groups in slices.values() for users in groups.values()]
    return [np.where(users, values, np.nan) for users in masks for values in (held.ndcg, held.lift)]


def slices_of(held: ReportData, slices: Groups, intervals: Sequence[Ends]) -> list[dict[str, Any]]:
    """Return the slices with a row a group; intervals: of ``columns_of``."""
    ends = iter(intervals)
    return [
        {
            "name": name,
            "title": TITLES.get(name, name.replace("_", " ")),
            "groups": [_group(held, label, users, (next(ends), next(ends))) for label, users in groups.items()],
        }
        for name, groups in slices.items()
    ]


def _group(held: ReportData, label: str, users: Bools, ends: tuple[Ends, Ends]) -> dict[str, Any]:
    """Return the figures of some users [n_users, mask]; hit and ndcg are cut at k; ends: low and high of both."""
    lift = held.lift[users]
    return {
        "label": label,
        "users": len(lift),
        "retrieved": float((held.retrieved[users] > 0).mean()),
        "hit": float(held.is_shown[users].mean()),
        **dict(zip(("ndcg", "ndcg_low", "ndcg_high"), (float(held.ndcg[users].mean()), *ends[0]), strict=True)),
        **dict(zip(("lift", "lift_low", "lift_high"), (float(lift.mean()), *ends[1]), strict=True)),
        "higher": int((lift > 0).sum()),
        "lower": int((lift < 0).sum()),
    }


def _values(held: ReportData) -> dict[str, Doubles]:
    report = held.result.report
    assert report is not None
    values = dict(report.slices) if np.array_equal(report.users, held.truth.history.users.ids[held.truth.user]) else {}
    age = _age(held)
    return values if age is None else {**values, "item_age": age}


def _age(held: ReportData) -> Doubles | None:
    """Return how old every user's first target is at the request [n_users] hours, NaN where that is not known."""
    fold = held.result.split.fold
    if fold.requests.time is None:
        return None
    item, asked = _first_target(held), fold.requests.time[held.list_of_user]
    born = fold.history.items.table.get("created_at", fold.history.first_seen)[item]
    age = (asked - np.where(born == UNKNOWN_TIME, asked, born)) / HOUR
    return np.where((born == UNKNOWN_TIME) | (age < 0), np.nan, age.round(1))


def _hours(held: ReportData) -> dict[str, Bools]:
    time = held.result.split.fold.requests.time
    if time is None:
        return {}
    hour = time[held.list_of_user] // HOUR % 24 // HOURS_A_GROUP
    return {
        f"{HOURS_A_GROUP * place:02}–{HOURS_A_GROUP * (place + 1):02}": hour == place
        for place in np.unique(hour).tolist()
    }


def _categories(held: ReportData) -> dict[str, Bools]:
    """Return the users of the most frequent categories of their first targets, then those of all others."""
    column = held.result.split.fold.history.items.table.get("category")
    if column is None:
        return {}
    of_user = column[_first_target(held)]
    known = of_user >= 0 if of_user.dtype.kind in "iu" else of_user.astype(str) != ""
    names, counts = np.unique(of_user[known], return_counts=True)
    top = names[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]]
    groups = {f"category {name}": of_user == name for name in top.tolist()}
    others = known & ~np.isin(of_user, top)
    return {**groups, "all others": others} if others.any() else groups


def _first_target(held: ReportData) -> Array:
    return held.truth.item[held.truth.indptr[:-1]]
