"""How far two systems show the same users the same items, whatever these are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

import numpy as np
from annotated_types import Interval

from recx.core.bounds import PositiveInt, coerce
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.ragged import first_rows, group_of_rows, has_twice, indptr_of, position_of_rows, rows_of_groups
from recx.core.types import Array, Doubles, Longs
from recx.evaluation.frames import Order, lists_of
from recx.evaluation.given_tables import frame_of
from recx.evaluation.grouped import Grouped, number

if TYPE_CHECKING:
    import pandas as pd

    from recx.evaluation.evaluate import Given

NAMES = ("one", "other")
Persistence = Annotated[float, Interval(gt=0, lt=1)]


@runtime_checkable
class WithLists(Protocol):
    """An object with lists, such as a saved run."""

    @property
    def recommendations(self) -> pd.DataFrame: ...


def agreement(
    one: Given | WithLists,
    other: Given | WithLists,
    k: int | None = 10,
    *,
    persistence: float = 0.9,
    order: Order = "auto",
    columns: Mapping[str, str] | None = None,
) -> Evaluation:
    """Compare the lists of two systems, user by user, without any ground truth.

    ``overlap`` is the number of items in both lists / the length of the longer one. ``rbo`` is the extrapolated
    rank-biased overlap: the mean share of items in common over the depths of the lists, of which depth d weighs
    (1 - p) · p^(d - 1), p the persistence; what lies below the lists is taken to agree as much as they do (Webber,
    Moffat, Zobel: A similarity measure for indefinite rankings, TOIS 2010, equation 32). With 0.9, the first ten
    ranks have 86 % of the weight. Both are 1 for equal lists, 0 for lists without an item in common, and the same
    whichever comes first.

    Args:
        one: A saved run, or a table of lists as ``recx.evaluate`` takes it.
        other: The same.
        k: How many of each list count; None: all.
        persistence: The chance to read on from one depth to the next.
        order: How tables are sorted (see ``recx.evaluate``).
        columns: Role -> its column in the tables.

    Returns:
        ``overlap_at_k`` and ``rbo_at_k`` of every user who has both lists; those who have one are counted.

    Raises:
        InputError: A table cannot be used, a list has an item twice, no user has both lists, or a setting is out of
            range.
    """
    k = coerce(k, PositiveInt | None, "k")
    persistence = coerce(persistence, Persistence, "persistence")
    pair = [_lists(given, name, order, columns) for given, name in zip((one, other), NAMES, strict=True)]
    users, places, notes = _common(pair)
    codes, item_ids = number(dict(zip(NAMES, (lists.numbered for lists in pair), strict=True)), "item")
    shown = [_shown(*of, k) for of in zip(pair, codes, places, strict=True)]
    depth = np.stack([np.diff(indptr) for indptr, _ in shown])
    keys = [group_of_rows(indptr) * len(item_ids) + item for indptr, item in shown]
    _, first, second = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    ranks = np.maximum(position_of_rows(shown[0][0])[first], position_of_rows(shown[1][0])[second]) + 1
    user = group_of_rows(shown[0][0])[first]
    at = "" if k is None else f"_at_{k}"
    values = {
        f"overlap{at}": np.bincount(user, minlength=len(users)) / depth.max(axis=0),
        f"rbo{at}": _rbo(user, ranks, depth, persistence),
    }
    return Evaluation(users, values, notes=notes, name="agreement", rules={"k": k, "persistence": persistence})


def _lists(given: Given | WithLists, name: str, order: Order, columns: Mapping[str, str] | None) -> Grouped:
    """Return the lists of a run, or those of a table.

    Raises:
        InputError: They cannot be used, or a list has an item twice.
    """
    of_run = isinstance(given, WithLists)
    frame = given.recommendations if isinstance(given, WithLists) else frame_of(given, "recommendations", columns)
    lists = lists_of(frame, "rank" if of_run else order, name)
    if has_twice(lists.item, lists.indptr):
        raise InputError(f"{name}: a list has an item twice: drop the later rows")
    return lists


def _common(pair: list[Grouped]) -> tuple[Array, list[Longs], dict[str, float]]:
    """Return the users with both lists, where these are on either side, and how many users have one alone."""
    import pandas as pd

    one, other = (pd.Index(lists.users) for lists in pair)
    place = other.get_indexer(one)
    both = np.flatnonzero(place >= 0)
    if not len(both):
        raise InputError(
            f"the two tables have no user in common (such as {one.tolist()[0]!r} and {other.tolist()[0]!r}): use lists "
            "of the same users, and read ids as text or as numbers in both"
        )
    counts = {f"users_only_in_{name}": len(lists.users) - len(both) for name, lists in zip(NAMES, pair, strict=True)}
    notes: dict[str, float] = {name: count for name, count in counts.items() if count}
    return pair[0].users[both], [both, place[both]], notes


def _shown(lists: Grouped, item: Array, users: Longs, k: int | None) -> tuple[Longs, Array]:
    """Return the borders and the items of these users' lists, cut at k."""
    indptr = indptr_of(lists.lengths[users])
    item = item[rows_of_groups(lists.indptr, users)]
    if k is None:
        return indptr, item
    rows, cut = first_rows(indptr, k)
    return cut, item[rows]


def _rbo(user: Longs, rank: Longs, depth: Longs, p: float) -> Doubles:
    """Return the extrapolated rank-biased overlap [n_users].

    Args:
        user: The user of every item that both lists have [n_common].
        rank: The depth from which on it is in both [n_common].
        depth: The lengths of the two lists [2, n_users], 1 or more.
        p: The persistence.
    """
    short, long = depth.min(axis=0), depth.max(axis=0)
    weights = p ** np.arange(1, int(long.max(initial=0)) + 1)
    summed = np.concatenate([[0.0], np.cumsum(weights)])
    over_depth = np.concatenate([[0.0], np.cumsum(weights / np.arange(1, len(weights) + 1))])
    n_users = depth.shape[1]
    shared = np.bincount(user, minlength=n_users)
    early = np.bincount(user[rank <= short[user]], minlength=n_users) / short
    agreed = np.bincount(user, weights=over_depth[long[user]] - over_depth[rank - 1], minlength=n_users)
    # Below the end of the shorter list, its unseen items agree as the seen ones do.
    unseen = early * ((summed[long] - summed[short]) - short * (over_depth[long] - over_depth[short]))
    rest = ((shared - early * short) / long + early) * p**long
    value: Doubles = np.clip((1 - p) / p * (agreed + unseen) + rest, 0.0, 1.0)
    return value
