"""The network's inputs: those of every event of a history, and batches of packed rows of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from recx.plugin import HOUR, SECOND, Array, Interactions, Longs, position_of_rows

HOURS = 24
GAPS = 33
"""Classes of the time since the previous event: powers of two in seconds, and ``FIRST`` for a first event."""
FIRST = GAPS - 1

ROW = 64
"""Cells of a packed row; more if sequences may be longer."""

MASK = -1
"""Stands in a batch for an item that is hidden."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Packed rows: int64 [n_rows, width] for every event, and [n] for the predictions.

    Attributes:
        item: The item's row in the table of items, or ``MASK`` [n_rows, width].
        place: The place in the piece (see ``packing``) [n_rows, width].
        cell: The cells (row * width + column) that predict an item: the next event's, or their own hidden one [n].
        gap: The class of the time since the previous event [n_rows, width].
        hour: The hour of the event [n_rows, width].
        next_gap: The class of the time until the next event, if that is predicted [n].
        next_hour: The hour of the next event, if that is predicted [n].
        target: The item to predict [n].
        moment: The row of the recent clicks that count at the predicted event [n].
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
        moment: The row of the recent clicks that count when the event is predicted.
    """

    item: Longs
    gap: Longs | None
    hour: Longs | None
    moment: Longs | None = None

    @classmethod
    def of(cls, history: Interactions, item: Longs, *, gap: bool, hour: bool, moment: Longs | None = None) -> Events:
        """Return the inputs for the events of a history.

        Args:
            history: The events.
            item: Their rows in the table of items.
            gap: Whether to use the time since the previous event, if the data has times.
            hour: Whether to use the hour, if the data has times.
            moment: The rows of the recent clicks that count when the events are predicted; None if they are not used.
        """
        gaps = hours = None
        if gap and history.time is not None:
            since = np.zeros(len(history), dtype=np.int64)
            since[1:] = np.diff(history.time)
            gaps = gap_class(since)
            gaps[position_of_rows(history.indptr) == 0] = FIRST
        if hour and history.time is not None:
            hours = hour_class(history.time)
        return cls(item, gaps, hours, moment)


def packed(events: Events, event: Longs, place: Longs) -> Batch:
    """Return the batch of a grid of events (-1: empty cell), with a prediction at every event."""
    filled = np.maximum(event, 0)
    return Batch(
        item=torch.from_numpy(events.item[filled]),
        place=torch.from_numpy(place),
        cell=torch.from_numpy(np.flatnonzero(event.ravel() >= 0)),
        gap=chosen(events.gap, filled),
        hour=chosen(events.hour, filled),
    )


def chosen(values: Longs | None, rows: Array) -> Tensor | None:
    """Return the values at some rows as a tensor; None if there are no values."""
    return None if values is None else torch.from_numpy(values[rows])
