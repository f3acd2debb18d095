"""Candidate lists from a file of their own: user, item and, optionally, score or rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.precision import Reals, floats_of
from recx.core.ragged import indptr_of, repeats
from recx.core.row_order import borders_and_rows
from recx.core.types import Array, Interactions, Longs, RankedLists
from recx.parts.dataset.own_ids import alike
from recx.storage.readers import lists


def with_slates(events: Interactions, path: Path) -> Interactions:
    """Return the events with the lists of a file; items of the lists that nobody has clicked become items of the data.

    Lists of users without events are left out and counted (``slate_users_unknown``). So are users without a list
    (``users_without_slate``) and items that the events lack (``slate_items_without_events``).

    Args:
        events: The events.
        path: The file: columns user and item, in any of the forms that ``recx evaluate`` reads; with a score or a rank
            the lists have an order.

    Raises:
        InputError: The file cannot be used, no user of it is known, or a list has an item twice.
    """
    frame = lists.read(path, "recommendations")
    where, left_out = f"dataset.slates={path}", frame.attrs["notes"]
    user_ids, odd = alike(frame["user"].to_numpy(), events.users.ids)
    user = np.where(odd, -1, _numbers(events.users.ids, user_ids))
    unknown = len(set(frame["user"][user < 0]))
    frame = frame[user >= 0]
    if not len(frame):
        raise InputError(
            f"{where}: none of its {unknown:,} users has events, as {events.users.ids[0]} does: give lists of users of "
            "this data"
        )
    item_ids, odd = alike(frame["item"].to_numpy(), events.items.ids)
    if odd.any():
        text = frame["item"].iloc[int(np.argmax(odd))]
        raise InputError(
            f"{where}: the items are texts, such as {text!r}, and those of the events whole numbers, as "
            f"{events.items.ids[0]} is: write both in one way"
        )
    events, new = _with_items(events, item_ids)
    found = np.zeros(events.n_users, dtype=bool)
    found[user[user >= 0]] = True
    score = _scores(frame.columns.tolist(), {name: frame[name].to_numpy() for name in frame.columns[2:]}, where)
    slates = _grouped(user[user >= 0], _numbers(events.items.ids, item_ids), score, events.n_users)
    twice = repeats(slates.item, slates.indptr)
    if twice.any():
        row = int(np.argmax(twice))
        whose = events.users.ids[slates.user[slates.list_of_row[row]]]
        raise InputError(
            f"{where}: the list of user {whose} has item {events.items.ids[slates.item[row]]} twice: keep one of them"
        )
    notes = {
        "slate_users_unknown": unknown,
        "users_without_slate": int((~found & (events.lengths > 0)).sum()),
        "slate_items_without_events": new,
        **{name: events.notes.get(name, 0) + n for name, n in left_out.items()},
    }
    return replace(events, slates=slates, notes={**events.notes, **notes})


def _numbers(known: Array, ids: Array) -> Longs:
    """Return the number of each id [n] among those that are known; -1: it is none of them."""
    import pandas as pd

    found: Longs = pd.Index(known).get_indexer(pd.Index(ids))
    return found


def _with_items(events: Interactions, ids: Array) -> tuple[Interactions, int]:
    """Return the events with further items, in the sorted order of all, and how many there are."""
    import pandas as pd

    number, everything = pd.factorize(np.concatenate([events.items.ids, ids]), sort=True)
    n_new = len(everything) - events.n_items
    if not n_new:
        return events, 0
    place = number[: events.n_items].astype(np.int32)
    before = np.full(len(everything), -1, dtype=np.int64)
    before[place] = np.arange(events.n_items)
    items = events.items.renumbered(before, np.asarray(everything))
    return replace(events, item=place[events.item], items=items), n_new


def _scores(names: list[str], columns: dict[str, Array], where: str) -> Reals | None:
    """Return a score for each row; None: the lists have no order.

    Raises:
        InputError: There are both score and rank, a value is missing, or another column could be either.
    """
    if "score" in columns and "rank" in columns:
        raise InputError(f"{where}: there are both score and rank, which may say different things: keep one of them")
    named = next((name for name in ("score", "rank") if name in columns), None)
    if named is None:
        if len(names) > 2:
            raise InputError(
                f"{where}: the column {names[2]!r} could order the lists: call it score or rank, or drop it"
            )
        return None
    values = columns[named]
    if not np.isfinite(values.astype(np.float64)).all():
        row = int(np.argmin(np.isfinite(values.astype(np.float64))))
        raise InputError(f"{where}, row {row + 1}: the {named} is missing or infinite: fill it in or drop the row")
    return floats_of(values if named == "score" else -values, f"{where}: the column {named!r}")


def _grouped(user: Longs, item: Longs, score: Reals | None, n_users: int) -> RankedLists:
    """Return rows as lists, best first; rows of one score keep their order, which ``retriever=given`` shuffles."""
    indptr, rows = borders_and_rows(user.astype(np.int32), n_users)
    some = np.flatnonzero(np.diff(indptr)).astype(np.int32)
    values = np.zeros(len(rows), np.float32) if score is None else score[rows]
    made = RankedLists(some, indptr_of(np.diff(indptr)[some]), item[rows].astype(np.int32), values)
    return made if score is None else replace(made, score=np.zeros_like(values)).reorder(values)
