"""From a history to packed batches: the network's inputs for every event, and the next events as targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from recx.plugin import HOUR, SECOND, Array, Interactions, Longs, Requests, blocks, position_of_rows
from recx_transformer.packing import Packing, pack, pieces

HOURS = 24
GAPS = 33
"""Classes of the time since the previous event: powers of two in seconds, and ``FIRST`` for a first event."""
FIRST = GAPS - 1

ROW = 64
"""Cells of a packed row; more if sequences may be longer."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Packed rows: int64 [n_rows, width] for every event, and [n] for the predictions.

    Attributes:
        item: The item's row in the table of items [n_rows, width].
        place: The place in the piece (see ``packing``) [n_rows, width].
        cell: The cells (row * width + column) whose next event is predicted [n].
        gap: The class of the time since the previous event [n_rows, width].
        hour: The hour of the event [n_rows, width].
        next_gap: The class of the time until the next event [n].
        next_hour: The hour of the next event [n].
        target: The next event's item [n].
        moment: The row of the recent clicks that count at the next event [n].
    """

    item: Tensor
    place: Tensor
    cell: Tensor
    gap: Tensor | None = None
    hour: Tensor | None = None
    next_gap: Tensor | None = None
    next_hour: Tensor | None = None
    target: Tensor | None = None
    moment: Tensor | None = None

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        there = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: tensor.to(device) for name, tensor in there.items() if tensor is not None})


def row_width(longest: int) -> int:
    """Return the width of a packed row for pieces of at most ``longest`` events."""
    return max(ROW, -(-longest // 16) * 16)


def gap_class(gap: Longs) -> Longs:
    """Return the class of times between two events in ms [n]."""
    return np.minimum(np.log2(np.maximum(gap, 0) / SECOND + 1), FIRST - 1).astype(np.int64)


def hour_class(time: Longs) -> Longs:
    """Return the hour of the day (UTC) of times in ms [n]."""
    return (time // HOUR) % HOURS


@dataclass(frozen=True, eq=False)
class Events:
    """The network's inputs for the events of a history, int64 [n_events]; None if not used.

    Attributes:
        item: The item's row in the table of items.
        gap: The class of the time since the user's previous event.
        hour: The hour of the event.
    """

    item: Longs
    gap: Longs | None
    hour: Longs | None

    @classmethod
    def of(cls, history: Interactions, item: Longs, *, gap: bool, hour: bool) -> Events:
        """Return the inputs for the events of a history.

        Args:
            history: The events.
            item: Their rows in the table of items.
            gap: Whether to use the time since the previous event, if the data has times.
            hour: Whether to use the hour, if the data has times.
        """
        gaps = hours = None
        if gap and history.time is not None:
            since = np.zeros(len(history), dtype=np.int64)
            since[1:] = np.diff(history.time)
            gaps = gap_class(since)
            gaps[position_of_rows(history.indptr) == 0] = FIRST
        if hour and history.time is not None:
            hours = hour_class(history.time)
        return cls(item, gaps, hours)


@dataclass(frozen=True, eq=False)
class Lessons:
    """All events that have a next one, which is to be predicted, packed.

    Attributes:
        events: The network's inputs for all events.
        packing: The places of the pieces.
        first: The number of each piece's first event, in the packing's order.
        moment: The row of the recent clicks that count when an event is predicted, int64 [n_events]; None if unused.
    """

    events: Events
    packing: Packing
    first: Longs
    moment: Longs | None

    @classmethod
    def of(cls, history: Interactions, events: Events, longest: int, moment: Longs | None = None) -> Lessons:
        """Return the lessons of a history; the last event of each user is only a target."""
        first, length = pieces(history.indptr[:-1], np.maximum(history.lengths - 1, 0), longest)
        packing, order = pack(length, row_width(longest))
        return cls(events, packing, first[order], moment)

    def __len__(self) -> int:
        return int(self.packing.length.sum())

    def steps(self, rows: int) -> int:
        """Return the number of batches in an epoch, given the rows of a batch."""
        return -(-self.packing.n_rows // rows)

    def epoch(self, rows: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield the batches of one epoch in random order, given the rows of a batch."""
        packing, order = self.packing.shuffled(rng)
        event, place = packing.grid(self.first[order])
        for start, stop in blocks(packing.n_rows, rows):
            yield self._batch(event[start:stop], place[start:stop])

    def _batch(self, event: Longs, place: Longs) -> Batch:
        batch = packed(self.events, event, place)
        following = event.ravel()[batch.cell.numpy()] + 1
        return replace(
            batch,
            next_gap=_chosen(self.events.gap, following),
            next_hour=_chosen(self.events.hour, following),
            target=torch.from_numpy(self.events.item[following]),
            moment=_chosen(self.moment, following),
        )


def packed(events: Events, event: Longs, place: Longs) -> Batch:
    """Return the batch of a grid of events (-1: empty cell), with a prediction after every event."""
    filled = np.maximum(event, 0)
    return Batch(
        item=torch.from_numpy(events.item[filled]),
        place=torch.from_numpy(place),
        cell=torch.from_numpy(np.flatnonzero(event.ravel() >= 0)),
        gap=_chosen(events.gap, filled),
        hour=_chosen(events.hour, filled),
    )


def last_events(events: Events, history: Interactions, requests: Requests, longest: int) -> Batch:
    """Return the batch of the requesting users' last events, with one prediction after each user's very last event.

    Every user must have an event. ``cell`` is in the requests' order.

    Args:
        events: The network's inputs for the history's events.
        history: The events known at the requests.
        requests: The users, and the times of their requests.
        longest: The maximum number of events per user.
    """
    length = np.minimum(history.lengths[requests.user], longest)
    packing, order = pack(length, row_width(longest))
    event, place = packing.grid((history.indptr[requests.user + 1] - length)[order])
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = packing.row * packing.width + packing.start + packing.length - 1
    batch = replace(packed(events, event, place), cell=torch.from_numpy(cell))
    if history.time is None or requests.time is None:
        return batch
    gap = gap_class(requests.time - history.time[history.indptr[requests.user + 1] - 1])
    return replace(
        batch,
        next_gap=None if events.gap is None else torch.from_numpy(gap),
        next_hour=None if events.hour is None else torch.from_numpy(hour_class(requests.time)),
    )


def _chosen(values: Longs | None, rows: Array) -> Tensor | None:
    return None if values is None else torch.from_numpy(values[rows])
