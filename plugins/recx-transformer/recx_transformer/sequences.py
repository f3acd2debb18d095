"""From a history to packed batches: what the network is told of every event, and what it must foresee."""

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
"""Classes of the time since the event before: by powers of two of seconds, and ``FIRST`` for a first event."""
FIRST = GAPS - 1

ROW = 64
"""Cells of a packed row, or more where sequences may be longer."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Packed rows. ``item``, ``place``, ``gap`` and ``hour`` are int64 [n_rows, width], the others [n].

    item: number in the table of items. place: place in its piece (see ``packing``). gap, hour: classes of when it
    happened. cell: the cells (row * width + column) whose next event is asked for. next_gap, next_hour: classes of
    when that is. target: its item. moment: number of the moment as of which recent clicks count.
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
    """Return the class of a time between two events, ms [n]."""
    return np.minimum(np.log2(np.maximum(gap, 0) / SECOND + 1), FIRST - 1).astype(np.int64)


def hour_class(time: Longs) -> Longs:
    """Return the hour of the day (UTC) of times in ms [n]."""
    return (time // HOUR) % HOURS


@dataclass(frozen=True, eq=False)
class Events:
    """What is told of every event of a history; all int64 [n_events], None where it is not told."""

    item: Longs
    gap: Longs | None
    hour: Longs | None

    @classmethod
    def of(cls, history: Interactions, item: Longs, *, gap: bool, hour: bool) -> Events:
        """Return the events' classes; ``gap`` and ``hour`` need times. item: numbers in the table of items."""
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
    """All events that have a next one, which is to be foreseen, packed.

    first: number of every piece's first event, in the packing's order. moment: int64 [n_events], the moment as of which
    recent clicks count when an event is foreseen; None where they do not.
    """

    events: Events
    packing: Packing
    first: Longs
    moment: Longs | None

    @classmethod
    def of(cls, history: Interactions, events: Events, longest: int, moment: Longs | None = None) -> Lessons:
        """Return the lessons of a history; the last event of each user is foreseen only."""
        first, length = pieces(history.indptr[:-1], np.maximum(history.lengths - 1, 0), longest)
        packing, order = pack(length, row_width(longest))
        return cls(events, packing, first[order], moment)

    def __len__(self) -> int:
        return int(self.packing.length.sum())

    def steps(self, rows: int) -> int:
        """Return the number of batches of so many rows in an epoch."""
        return -(-self.packing.n_rows // rows)

    def epoch(self, rows: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield the batches of one epoch, of so many rows each, in an order of its own."""
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
    """Return the batch of a grid of events (-1: empty cell), every event's next one asked for."""
    filled = np.maximum(event, 0)
    return Batch(
        item=torch.from_numpy(events.item[filled]),
        place=torch.from_numpy(place),
        cell=torch.from_numpy(np.flatnonzero(event.ravel() >= 0)),
        gap=_chosen(events.gap, filled),
        hour=_chosen(events.hour, filled),
    )


def last_events(events: Events, history: Interactions, requests: Requests, longest: int) -> Batch:
    """Return the batch of the requesters' last events, at most ``longest`` each, the very last one asked for.

    Every requester must have an event. ``cell`` is in the requests' order.
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
