"""From judged pairs of query and document to interactions: all pairs are slates, the relevant ones are events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.precision import Reals, narrowed
from recx.core.ragged import indptr_of
from recx.core.types import Bools, Doubles, Interactions, Ints, Longs, RankedLists
from recx.parts.dataset.events import slates_of

WithoutClick = Literal["drop", "keep"]

LARGEST = float(np.finfo(np.float32).max)
"""Largest absolute value of a grade, a score or a feature."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of user and item in any order.

    Attributes:
        user: numbers of the users [n].
        item: numbers of the items [n].
        grade: relevance of the item for the user [n].
        columns: name -> further values of each pair [n].
        worth: how good a first search found each pair [n]; None: it does not say.
    """

    user: Longs
    item: Longs
    grade: Doubles
    columns: Mapping[str, Reals] = field(default_factory=dict)
    worth: Reals | None = None

    def take(self, rows: Longs | Bools) -> Pairs:
        """Return the chosen rows (numbers or a mask [n])."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        worth = None if self.worth is None else self.worth[rows]
        return Pairs(self.user[rows], self.item[rows], self.grade[rows], columns, worth)


def judged(pairs: Pairs, users: Entities, items: Entities, offered: Pairs | None = None) -> Interactions:
    """Return the pairs as slates, sorted by item, and those of a grade above 0 as events of that weight, without times.

    Queries of the part ``test`` are to be predicted if none of them has a grade above 0: their answers are unknown.
    If a query has a document twice, its highest grade counts (``documents_twice_in_a_query``). Negative grades count
    as 0 (``negative_grades``).

    Args:
        pairs: the judged pairs.
        users: the queries.
        items: the documents.
        offered: the pairs of the slates, whose grades are ignored; None: the judged pairs.

    Raises:
        InputError: no grade is above 0.
    """
    negative = int((pairs.grade < 0).sum())
    pairs, twice = once(pairs)
    good = pairs.take(pairs.grade > 0)
    if not len(good.user):
        raise InputError(
            "dataset.path: no document has a grade above 0, so there is nothing to learn from or to evaluate: "
            "correct the grades"
        )
    n_good = np.bincount(good.user, minlength=len(users))
    shown, shown_twice = (pairs, 0) if offered is None else once(offered)
    lists = slates(shown, len(users))
    return Interactions(
        indptr=indptr_of(n_good),
        item=good.item.astype(np.int32),
        time=None,
        weight=narrowed(good.grade),
        users=users,
        items=items,
        slates=lists,
        to_predict=_unanswered(users, n_good),
        notes={
            "queries": len(users),
            "documents_offered": len(lists),
            "documents_twice_in_a_query": twice + shown_twice,
            "negative_grades": negative,
            "queries_without_relevant": int((n_good == 0).sum()),
            "queries_all_relevant": int(((n_good[lists.user] >= lists.lengths) & (lists.lengths > 1)).sum()),
            "queries_with_one_document": int((lists.lengths == 1).sum()),
        },
    )


def _unanswered(users: Entities, n_good: Longs) -> Ints | None:
    """Return the queries of the part test if none of them has an answer, else None."""
    test = np.flatnonzero(users.table.get("part", np.zeros(0)) == "test")
    return test.astype(np.int32) if len(test) and not n_good[test].any() else None


def answers(pairs: Pairs, unanswered: Longs) -> Pairs:
    """Return the pairs of a grade above 0 and, for users who chose nothing, one pair of grade 0.

    As an event of weight 0 it says that its user asked, and when: it is a target that no item has, and never history.

    Args:
        pairs: pairs sorted by user.
        unanswered: the users for whom there is to be such a pair; none has a pair of a grade above 0.
    """
    first = np.flatnonzero(np.diff(pairs.user, prepend=-1))
    rows = pairs.grade > 0
    rows[first[np.isin(pairs.user[first], unanswered)]] = True
    return pairs.take(rows)


def once(pairs: Pairs) -> tuple[Pairs, int]:
    """Return the distinct pairs, sorted by user and item, and the number of rows dropped.

    The highest grade of a pair is kept, and of equal grades the row that the first search found best.
    """
    worth = np.zeros(len(pairs.user)) if pairs.worth is None else pairs.worth
    order = np.lexsort((-worth, -pairs.grade, pairs.item, pairs.user))
    user, item = pairs.user[order], pairs.item[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return pairs.take(order[first]), int((~first).sum())


def slates(pairs: Pairs, n_users: int) -> RankedLists:
    """Return one list for each user who has any pairs, which must be sorted by user, in the first search's order."""
    lengths = np.bincount(pairs.user, minlength=n_users)
    offered = np.flatnonzero(lengths)
    lists = slates_of(offered, lengths[offered], pairs.item, pairs.columns)
    return lists if pairs.worth is None else lists.reorder(pairs.worth)
