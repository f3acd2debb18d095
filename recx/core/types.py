"""What passes between the parts: plain arrays, grouped like a CSR matrix.

The rows of group ``g`` are ``indptr[g]:indptr[g + 1]``. Frames appear only where files are read and results handed out.
Times are unix milliseconds as int64, never cast to float. ``notes`` are counts for the protocol card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.entities import UNKNOWN_TIME, Entities, without_context
from recx.core.errors import RecxError
from recx.core.event_frame import Duplicates, arrays_of, kept
from recx.core.event_order import EventOrder
from recx.core.precision import Reals, floats_of
from recx.core.ragged import first_rows, group_of_rows, indptr_of, position_of_rows, rows_of_groups, sorted_in_groups

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Vectors = Any
"""float32 [n, d]: a NumPy array, or a SciPy CSR array where most numbers are 0 (see ``recx.parts.shared.texts``)."""
Notes = Mapping[str, float]
"""Name -> count of what was dropped, repaired or is unusual; a run shows them as ``data/…``."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Events grouped by user, each user's oldest first; equal times keep the file's order.

    Attributes:
        indptr: Borders of the users' events [n_users + 1].
        item: The item of each event [n].
        time: The time of each event [n] in ms, or None if the data has no times.
        weight: The grade, rating or strength of each event [n] (1 for a click).
        users: The users.
        items: The items.
        slates: Lists offered by the data itself, or None.
        to_predict: Users of ``fold: predict``, in the file's order (None: all); in other folds they are history only.
        given_fold: The fold that the data itself gives each event [n], a code of ``recx.core.given_folds``, or None.
        notes: Counts of what was dropped, repaired or is unusual.
    """

    indptr: Longs
    item: Ints
    time: Longs | None
    weight: Reals
    users: Entities
    items: Entities
    slates: RankedLists | None = None
    to_predict: Ints | None = None
    given_fold: npt.NDArray[np.int8] | None = None
    notes: Notes = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.indptr) - 1

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)

    @cached_property
    def lengths(self) -> Longs:
        """Number of events per user [n_users]."""
        return np.diff(self.indptr)

    @cached_property
    def user(self) -> Ints:
        """The user of every event [n]."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.lengths)

    @cached_property
    def clicks(self) -> Longs:
        """Number of events per item [n_items]."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def first_seen(self) -> Longs:
        """When each item was first clicked [n_items] in ms, ``UNKNOWN_TIME`` if never or if there are no times."""
        first = np.full(self.n_items, UNKNOWN_TIME, dtype=np.int64)
        if self.time is not None:
            np.minimum.at(first, self.item, self.time)
        return first

    def unnamed(self) -> Interactions:
        """Return the same without names, which could reveal the answer to a part."""
        if self.users.names is None and self.items.names is None:
            return self
        return replace(self, users=replace(self.users, names=None), items=replace(self.items, names=None))

    def keep(self, rows: Bools) -> Interactions:
        """Return the events for which ``rows`` [n] is true; users keep their numbers, but no lost context."""
        users = without_context(self.users, self.indptr, rows)
        return replace(self, users=users, **kept(rows, self.indptr, self.item, self.time, self.weight, self.given_fold))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        users: Entities | None = None,
        items: Entities | None = None,
        notes: Notes | None = None,
        order: EventOrder = "auto",
        seed: int = 0,
        relative_times: bool = False,
        duplicates: Duplicates = "keep",
    ) -> Interactions:
        """Build interactions from a frame with columns user, item and, optionally, time, weight and fold.

        Events are sorted, and duplicates recognised, by the times as they are; only then they are cut to milliseconds.
        Rows with a weight of 0 or less (shown, but not chosen) are left out and counted (``rows_of_weight_0``).

        Args:
            frame: One row per event; times are ms since 1970 or dates (``datetime64``), a fold train, valid or test.
            users: The users, if they are known beforehand; otherwise they are numbered by first appearance.
            items: The items, if they are known beforehand; otherwise they are numbered in sorted order.
            notes: Counts for the protocol card.
            order: Of rows without times: ``given``, ``none`` (a random one), ``auto`` (an error if sorted by item).
            seed: Seed of the random order.
            relative_times: The times count from a start of their own, not from 1970.
            duplicates: ``drop`` leaves out rows that repeat user, item and time, and counts them (``duplicate_rows``).

        Raises:
            InputError: An id, a time, a weight or a column cannot be used, or the rows are sorted by item.
        """
        made = arrays_of(dict(frame.items()), users, items, (order, seed), relative_times, duplicates)
        return cls(**{**made, "notes": {**(notes or {}), **made["notes"]}})


@dataclass(frozen=True, eq=False)
class Requests:
    """Which users get a list, when, and among which items: one request per user, users increasing.

    What depends on the present counts only events strictly before ``time``; the user's own events are known in full.

    Attributes:
        user: The users [n_lists].
        time: The time of each request [n_lists] in ms, or None without times: requests then follow all history.
        allowed: Which items may be shown [n_items]; None: all.
    """

    user: Ints
    time: Longs | None = None
    allowed: Bools | None = None

    def __len__(self) -> int:
        return len(self.user)

    def __getitem__(self, lists: slice | Array) -> Requests:
        if isinstance(lists, slice) and lists.indices(len(self)) == (0, len(self), 1):
            return self
        return Requests(self.user[lists], None if self.time is None else self.time[lists], self.allowed)


@dataclass(frozen=True, eq=False)
class Fold:
    """A question to a chain, with the answers.

    Attributes:
        history: The events that are known.
        target: The events to predict; None when predicting.
        requests: The users who get a list, and when.
        learned: The events of the history that a retriever learns from, where these are fewer; None: all.
    """

    history: Interactions
    target: Interactions | None
    requests: Requests
    learned: Interactions | None = None

    @property
    def learnable(self) -> Interactions:
        """The events that a retriever learns from; it is asked with the whole history."""
        return self.history if self.learned is None else self.learned


@dataclass(frozen=True, eq=False)
class Split:
    """The folds of a run.

    Attributes:
        past: The fold one step earlier, whose targets train the ranker (None: no training).
        fold: The fold that is evaluated.
        notes: Counts for the protocol card (users left out and why, later events that a fit may see ...).
    """

    past: Fold | None
    fold: Fold
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RankedLists:
    """One list of items per request, best first. Lists may be empty and of any length; there is no padding.

    Attributes:
        user: The users [n_lists].
        indptr: Borders of the lists [n_lists + 1].
        item: The item of each row [n].
        score: The score of each row [n], finite, never increasing within a list.
        columns: Name -> further values [n], such as each source's score and rank in a union (NaN: not from there).
        notes: Counts for the protocol card.
    """

    user: Ints
    indptr: Longs
    item: Ints
    score: Reals
    columns: Mapping[str, Reals] = field(default_factory=dict)
    notes: Notes = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.user)

    @property
    def lengths(self) -> Longs:
        """Number of items per list [n_lists]."""
        return self.indptr[1:] - self.indptr[:-1]

    @property
    def list_of_row(self) -> Longs:
        """The list that every row belongs to [n]."""
        return group_of_rows(self.indptr)

    @property
    def rank(self) -> Longs:
        """Every row's rank in its list, from 1 [n]."""
        return position_of_rows(self.indptr) + 1

    def __getitem__(self, lists: slice) -> RankedLists:
        """Return consecutive lists, without copying."""
        start, stop, _ = lists.indices(self.n_lists)
        if start == 0 and stop == self.n_lists:
            return self
        stop = max(start, stop)
        rows = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return self.picked(rows, user=self.user[start:stop], indptr=self.indptr[start : stop + 1] - self.indptr[start])

    def take(self, lists: Array) -> RankedLists:
        """Return the chosen lists (numbers or a mask [n_lists]) in the given order."""
        numbers = np.flatnonzero(lists) if lists.dtype == bool else lists
        if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (numbers[1:] - numbers[:-1] == 1).all():
            return self[int(numbers[0]) : int(numbers[-1]) + 1]  # without copying
        rows = np.repeat(lists, self.lengths) if lists.dtype == bool else rows_of_groups(self.indptr, numbers)
        return self.picked(rows, user=self.user[numbers], indptr=indptr_of(self.lengths[numbers]))

    def top(self, k: int) -> RankedLists:
        """Return the first ``k`` of every list."""
        rows, indptr = first_rows(self.indptr, k)
        return self if isinstance(rows, slice) else self.picked(rows, indptr=indptr)

    def reorder(self, score: Array) -> RankedLists:
        """Return the same pairs sorted by a new score [n] (float32, or else float64), best first, ties in their order.

        Raises:
            RecxError: A score is not finite or not held by float64, or there is not one score per row.
        """
        if score.shape != self.item.shape:
            raise RecxError(f"reorder needs one score for each of the {len(self)} rows, got an array of {score.shape}")
        new = floats_of(score, "scores")
        if not np.isfinite(new).all():
            row = int(np.argmax(~np.isfinite(new)))
            pair = f"item {self.item[row]} for user {self.user[self.list_of_row[row]]}"
            raise RecxError(f"the score of {pair} is {new[row]}: scores must be finite")
        new, item, *columns = sorted_in_groups(new, self.indptr, self.item, *self.columns.values())
        return replace(self, item=item, score=new, columns=dict(zip(self.columns, columns, strict=True)))

    def picked(self, rows: Array | slice, **lists: Any) -> RankedLists:
        """Return chosen rows (numbers, a slice or a mask [n]); ``lists`` are ``user`` and ``indptr`` if they change."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, item=self.item[rows], score=self.score[rows], columns=columns, **lists)
