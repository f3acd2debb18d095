"""From judged pairs of query and document to interactions: every pair stands in a slate, the good ones are events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Bools, Doubles, Floats, Interactions, Ints, Longs, RankedLists

LARGEST = float(np.finfo(np.float32).max)  # of a grade, a score or a feature


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows in any order. user, item: numbers [n]. grade: [n]. columns: name -> float32 [n], what is known of each."""

    user: Longs
    item: Longs
    grade: Doubles
    columns: Mapping[str, Floats] = field(default_factory=dict)

    def take(self, rows: Longs | Bools) -> Pairs:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Pairs(self.user[rows], self.item[rows], self.grade[rows], columns)


def judged(pairs: Pairs, users: Entities, items: Entities, offered: Pairs | None = None) -> Interactions:
    """Return the pairs as slates, sorted by item, and those of a grade above 0 as events of that weight, without times.

    offered: what the slates hold in place of the judged pairs; their grades do not count.

    Queries of the part test are to be predicted where none of them has a grade above 0: their answers are unknown.
    A document that a query has twice counts once, with its highest grade (``documents_twice_in_a_query``). A grade
    below 0 counts as 0 (``negative_grades``).

    Raises:
        InputError: no grade is above 0.
    """
    negative = int((pairs.grade < 0).sum())
    pairs, twice = _once(pairs)
    good = pairs.grade > 0
    if not good.any():
        raise InputError(
            "dataset.path: no document has a grade above 0, so that there is nothing to learn and nothing to judge: "
            "correct the grades"
        )
    n_good = np.bincount(pairs.user[good], minlength=len(users))
    shown, shown_twice = (pairs, 0) if offered is None else _once(offered)
    slates = _slates(shown, len(users))
    answers = n_good[slates.user]
    return Interactions(
        indptr=indptr_of(n_good),
        item=pairs.item[good].astype(np.int32),
        time=None,
        weight=pairs.grade[good].astype(np.float32),
        users=users,
        items=items,
        slates=slates,
        to_predict=_unanswered(users, n_good),
        notes={
            "queries": len(users),
            "documents_offered": len(slates),
            "documents_twice_in_a_query": twice + shown_twice,
            "negative_grades": negative,
            "queries_without_relevant": int((n_good == 0).sum()),
            "queries_all_relevant": int(((answers >= slates.lengths) & (slates.lengths > 1)).sum()),
            "queries_with_one_document": int((slates.lengths == 1).sum()),
        },
    )


def _unanswered(users: Entities, n_good: Longs) -> Ints | None:
    """Return the queries of the part test if not one has an answer; else None."""
    test = np.flatnonzero(users.table.get("part", np.zeros(0)) == "test")
    return test.astype(np.int32) if len(test) and not n_good[test].any() else None


def _once(pairs: Pairs) -> tuple[Pairs, int]:
    """Return every pair of user and item once, sorted, with its highest grade, and how many rows were left out."""
    order = np.lexsort((-pairs.grade, pairs.item, pairs.user))
    user, item = pairs.user[order], pairs.item[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return pairs.take(order[first]), int((~first).sum())


def _slates(pairs: Pairs, n_users: int) -> RankedLists:
    lengths = np.bincount(pairs.user, minlength=n_users)
    offered = np.flatnonzero(lengths)
    return RankedLists(
        user=offered.astype(np.int32),
        indptr=indptr_of(lengths[offered]),
        item=pairs.item.astype(np.int32),
        score=np.zeros(len(pairs.item), dtype=np.float32),
        columns=pairs.columns,
    )
