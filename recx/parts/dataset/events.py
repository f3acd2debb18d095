"""What every dataset does with its columns: number the ids, sort the events, count and drop exact duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from recx.core.entities import Entities
from recx.core.event_frame import Duplicates, arrays_of
from recx.core.event_order import EventOrder
from recx.core.notes import MADE_UP
from recx.core.precision import Reals
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists


def interactions_of(
    columns: dict[str, Array],
    duplicates: Duplicates,
    items: Entities | None = None,
    order: EventOrder = "auto",
    seed: int = 0,
    relative_times: bool = False,
) -> Interactions:
    """Return the events of a table's columns.

    Rows of the same user, item and time are duplicates: the first is kept, ``duplicate_rows`` counts the others.
    Without times no row is a duplicate.

    Args:
        columns: ``user``, ``item`` and, optionally, ``time`` (ms, or ``datetime64``) and ``weight``, [n] each.
            They are taken out, so that their memory is free once they are converted.
        duplicates: ``drop`` or ``keep`` duplicates.
        items: the items, if they are known already.
        order: whether the rows are in the order of time (see ``Interactions.from_frame``), as ``seed``.
        seed: of a random order.
        relative_times: the times count from a start of their own, not from 1970.
    """
    import pandas as pd

    series = {name: pd.Series(columns.pop(name), copy=False) for name in list(columns)}
    return Interactions(**arrays_of(series, None, items, (order, seed), relative_times, duplicates))


def slates_of(user: Array, lengths: Array, item: Array, columns: Mapping[str, Reals] | None = None) -> RankedLists:
    """Return the lists that the data itself offers, without scores.

    Args:
        user: the user of every list [n_lists].
        lengths: number of items of every list [n_lists].
        item: the items of all lists, one list after the other [n].
        columns: name -> value of each of these items [n].
    """
    return RankedLists(
        user=user.astype(np.int32),
        indptr=indptr_of(lengths),
        item=item.astype(np.int32),
        score=np.zeros(len(item), dtype=np.float32),
        columns=columns or {},
    )


def made_up(events: Interactions) -> Interactions:
    """Return data that a generator has made, with the note that says so."""
    return replace(events, notes={**events.notes, MADE_UP: 1})


def text_array(texts: Iterable[str]) -> Array:
    """Return texts as objects [n]; as fixed-width text NumPy would pad each one to the longest."""
    return np.array(list(texts), dtype=object)
