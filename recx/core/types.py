"""What passes between the parts: plain arrays, grouped like a CSR matrix.

The rows of group ``g`` are ``indptr[g]:indptr[g + 1]``. No data frame travels between parts; frames stand at the two
borders (files in, results out). Times are unix milliseconds as int64 and are never cast to float.

Every type may carry ``notes``: named counts for the protocol card of what was dropped, mended or found odd.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recx.core.entities import UNKNOWN_TIME, Entities, numbered
from recx.core.errors import InputError, RecxError
from recx.core.ragged import group_of_rows, indptr_of, order_in_groups, position_of_rows, rows_of_groups

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


@dataclass(frozen=True, eq=False)
class Interactions:
    """Events grouped by user, each user's oldest first; equal times keep the file's order.

    indptr: int64 [n_users + 1]. item: int32 [n]. time: int64 [n] ms, or None where the data has no times.
    weight: float32 [n], the grade, rating or strength of the event (1 for a click).
    slates: lists that the data itself offers, or None.
    to_predict: int32 users that ``fold: predict`` asks for, in the file's order. In every other fold their events are
        history only. None: predict for every user.
    """

    indptr: Longs
    item: Ints
    time: Longs | None
    weight: Floats
    users: Entities
    items: Entities
    slates: RankedLists | None = None
    to_predict: Ints | None = None
    notes: Notes = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def lengths(self) -> Longs:
        """Number of events of every user [n_users]."""
        return np.diff(self.indptr)

    @cached_property
    def user(self) -> Ints:
        """The user of every event [n]."""
        return group_of_rows(self.indptr).astype(np.int32)

    @cached_property
    def clicks(self) -> Longs:
        """Number of events of every item [n_items]."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def first_seen(self) -> Longs:
        """When every item was first clicked [n_items] ms, ``UNKNOWN_TIME`` if never. Needs times."""
        first = np.full(self.n_items, UNKNOWN_TIME, dtype=np.int64)
        if self.time is not None:
            np.minimum.at(first, self.item, self.time)
        return first

    def unnamed(self) -> Interactions:
        """Return the same without names, which could tell a part the answer."""
        if self.users.names is None and self.items.names is None:
            return self
        return replace(self, users=replace(self.users, names=None), items=replace(self.items, names=None))

    def keep(self, rows: Bools) -> Interactions:
        """Return the events for which ``rows`` [n] is true; users and items keep their numbers."""
        return replace(
            self,
            indptr=indptr_of(np.bincount(self.user[rows], minlength=self.n_users)),
            item=self.item[rows],
            time=None if self.time is None else self.time[rows],
            weight=self.weight[rows],
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        users: Entities | None = None,
        items: Entities | None = None,
        notes: Notes | None = None,
    ) -> Interactions:
        """Build interactions from a frame with columns user, item and, optionally, time (int ms) and weight.

        Ids are numbered by first appearance (users) and in sorted order (items), unless ``users`` or ``items`` name
        them beforehand; an id that they lack is an error.

        Raises:
            InputError: an id is missing, or is not among the entities given; a time is not a whole number.
        """
        user, user_ids = numbered(frame["user"], "user", users, sort=False)
        item, item_ids = numbered(frame["item"], "item", items, sort=True)
        time = None
        if "time" in frame:
            if frame["time"].dtype.kind not in "iu":
                raise InputError("column 'time' must hold whole milliseconds: convert it before building Interactions")
            time = frame["time"].to_numpy(dtype=np.int64)
        order = np.argsort(user, kind="stable") if time is None else np.lexsort((time, user))
        weight = frame["weight"].to_numpy(dtype=np.float32) if "weight" in frame else np.ones(len(frame), np.float32)
        return cls(
            indptr=indptr_of(np.bincount(user, minlength=len(user_ids))),
            item=item[order],
            time=None if time is None else time[order],
            weight=weight[order],
            users=user_ids,
            items=item_ids,
            notes=dict(notes or {}),
        )


@dataclass(frozen=True, eq=False)
class Requests:
    """Who asks, and when: one request a user, users increasing.

    user: int32 [n_lists]. time: int64 [n_lists] ms, or None where the data has no times (requests then lie after all
    history). Whatever depends on "now" counts events strictly before ``time``; the asking user's own history is known
    whole, in its order, also where its last event has the very time of the request.
    """

    user: Ints
    time: Longs | None = None

    def __len__(self) -> int:
        return len(self.user)

    def __getitem__(self, lists: slice | Array) -> Requests:
        return Requests(self.user[lists], None if self.time is None else self.time[lists])


@dataclass(frozen=True, eq=False)
class Fold:
    """What is known (history), what is asked (requests) and the answers (target; None when predicting)."""

    history: Interactions
    target: Interactions | None
    requests: Requests


@dataclass(frozen=True, eq=False)
class Split:
    """The fold that is judged, and the fold one step earlier, whose targets train the ranker (None: no training).

    notes: counts for the protocol card (users left out and why, later events that a fit may see ...).
    """

    past: Fold | None
    fold: Fold
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RankedLists:
    """One list of items a request, best first. Lists may be empty and of any length; there is no padding.

    user: int32 [n_lists]. indptr: int64 [n_lists + 1]. item: int32 [n]. score: float32 [n], finite, never rising
    within a list. columns: name -> float32 [n], such as each source's score and rank in a union (NaN: not from there).
    """

    user: Ints
    indptr: Longs
    item: Ints
    score: Floats
    columns: Mapping[str, Floats] = field(default_factory=dict)
    notes: Notes = field(default_factory=dict)

    @classmethod
    def concat(cls, parts: Sequence[RankedLists]) -> RankedLists:
        """Return the lists of all parts, one part after the other, with the columns of the first.

        Notes that count requests add up; of any other note the last part's count stands.
        """
        notes: dict[str, float] = {}
        for part in parts:
            for name, count in part.notes.items():
                notes[name] = notes.get(name, 0) + count if "requests" in name else count
        return cls(
            user=np.concatenate([np.zeros(0, np.int32), *(part.user for part in parts)]),
            indptr=indptr_of(np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])),
            item=np.concatenate([np.zeros(0, np.int32), *(part.item for part in parts)]),
            score=np.concatenate([np.zeros(0, np.float32), *(part.score for part in parts)]),
            columns={
                name: np.concatenate([part.columns[name] for part in parts])
                for name in (parts[0].columns if parts else ())
            },
            notes=notes,
        )

    @property
    def n_lists(self) -> int:
        return len(self.user)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def lengths(self) -> Longs:
        """Number of items of every list [n_lists]."""
        return np.diff(self.indptr)

    @property
    def list_of_row(self) -> Longs:
        """The list that every row belongs to [n]."""
        return group_of_rows(self.indptr)

    @property
    def rank(self) -> Longs:
        """Every row's rank in its list, from 1 [n]."""
        return position_of_rows(self.indptr) + 1

    def __getitem__(self, lists: slice) -> RankedLists:
        """Return a run of consecutive lists, without copying."""
        start, stop, _ = lists.indices(self.n_lists)
        stop = max(start, stop)
        rows = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return replace(
            self,
            user=self.user[start:stop],
            indptr=self.indptr[start : stop + 1] - self.indptr[start],
            item=self.item[rows],
            score=self.score[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )

    def take(self, lists: Array) -> RankedLists:
        """Return the chosen lists (numbers or a mask [n_lists]) in the order asked for."""
        numbers = np.flatnonzero(lists) if lists.dtype == bool else lists
        if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (np.diff(numbers) == 1).all():
            return self[int(numbers[0]) : int(numbers[-1]) + 1]  # without copying
        return replace(
            self.picked(rows_of_groups(self.indptr, numbers)),
            user=self.user[numbers],
            indptr=indptr_of(self.lengths[numbers]),
        )

    def top(self, k: int) -> RankedLists:
        """Return the first ``k`` of every list."""
        keep = position_of_rows(self.indptr) < k
        return replace(self.picked(keep), indptr=indptr_of(np.minimum(self.lengths, k)))

    def reorder(self, score: Array) -> RankedLists:
        """Return the same pairs sorted by a new score [n], best first, ties in the present order.

        Raises:
            RecxError: a score is not finite, or there is not one score a row.
        """
        if score.shape != self.item.shape:
            raise RecxError(f"reorder needs one score for each of the {len(self)} rows, got an array of {score.shape}")
        new = score.astype(np.float32, copy=False)
        if not np.isfinite(new).all():
            row = int(np.argmax(~np.isfinite(new)))
            user = self.user[np.searchsorted(self.indptr, row, side="right") - 1]
            raise RecxError(f"the score of item {self.item[row]} for user {user} is {new[row]}: scores must be finite")
        order = order_in_groups(new, self.indptr)
        return replace(self.picked(order), score=new[order], indptr=self.indptr)

    def picked(self, rows: Array) -> RankedLists:
        """Return the chosen rows (numbers or a mask [n]) with the old borders, which the caller must renew."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, item=self.item[rows], score=self.score[rows], columns=columns)
