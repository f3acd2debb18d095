"""What a network learns to predict, and how it is asked: the next item, or items hidden behind a mask (Cloze task)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
import torch

from recx.plugin import Bools, Interactions, Longs, Requests, indptr_of, position_of_rows
from recx_transformer.packing import pack
from recx_transformer.sequences import MASK, Batch, Events, chosen, gap_class, hour_class, packed, row_width


class Objective(Protocol):
    """What a network learns to predict.

    Attributes:
        causal: Whether an event attends to no later one.
    """

    @property
    def causal(self) -> bool: ...

    def inputs(self, lengths: Longs) -> Longs:
        """Return how many of each user's events, from the first on, are inputs in training, given their numbers."""
        ...

    def predicted(self, history: Interactions) -> Bools:
        """Return which events are predicted in training [n_events]."""
        ...

    def batch(self, events: Events, event: Longs, place: Longs, rng: np.random.Generator) -> Batch:
        """Return a batch to learn from.

        Args:
            events: The network's inputs for the history's events.
            event: The number of the event in each cell, -1 in an empty one [n_rows, width].
            place: The cell's place in its piece [n_rows, width].
            rng: The source of random draws.
        """
        ...

    def at_requests(self, events: Events, history: Interactions, requests: Requests, longest: int) -> Batch:
        """Return the batch of the requesting users' last events, which predicts what each one chooses next.

        Every user must have an event. ``cell`` is in the requests' order.

        Args:
            events: The network's inputs for the history's events.
            history: The events known at the requests.
            requests: The users, and the times of their requests.
            longest: The maximum length of a piece.
        """
        ...


@dataclass(frozen=True)
class NextItem:
    """Every event predicts the item of the next one (Kang and McAuley 2018)."""

    causal: ClassVar[bool] = True

    def inputs(self, lengths: Longs) -> Longs:
        """Return all but each user's last event, which is only a target."""
        return np.maximum(lengths - 1, 0)

    def predicted(self, history: Interactions) -> Bools:
        """Return which events have an earlier one."""
        return position_of_rows(history.indptr) > 0

    def batch(self, events: Events, event: Longs, place: Longs, rng: np.random.Generator) -> Batch:
        """Return a batch in which every event predicts the next one; nothing is drawn."""
        batch = packed(events, event, place)
        following = event.ravel()[batch.cell.numpy()] + 1
        return replace(
            batch,
            next_gap=chosen(events.gap, following),
            next_hour=chosen(events.hour, following),
            target=torch.from_numpy(events.item[following]),
            moment=chosen(events.moment, following),
        )

    def at_requests(self, events: Events, history: Interactions, requests: Requests, longest: int) -> Batch:
        """Return the last ``longest`` events of each user, of which the very last one predicts."""
        stop = history.indptr[requests.user + 1]
        length = np.minimum(history.lengths[requests.user], longest)
        packing, order = pack(length, row_width(longest))
        batch = packed(events, *packing.grid((stop - length)[order]))
        batch = replace(batch, cell=torch.from_numpy(packing.last(order)))
        if history.time is None or requests.time is None:
            return batch
        return replace(
            batch,
            next_gap=None
            if events.gap is None
            else torch.from_numpy(gap_class(requests.time - history.time[stop - 1])),
            next_hour=None if events.hour is None else torch.from_numpy(hour_class(requests.time)),
        )


@dataclass(frozen=True)
class MaskedItems:
    """Some items of a piece are hidden and predicted from those before and after them (Sun et al. 2019, BERT4Rec).

    The time of a hidden event stays visible, as that of the next event is to ``NextItem``.

    Attributes:
        mask_prob: The share of a piece's items that is hidden, rounded; at least one, and never all of two or more.
        mask_last: The share of pieces of which the last item alone is hidden, as it is when the network is asked.
    """

    mask_prob: float
    mask_last: float
    causal: ClassVar[bool] = False

    def inputs(self, lengths: Longs) -> Longs:
        """Return all events; none of users who have one only, from which nothing could be predicted."""
        return np.where(lengths > 1, lengths, 0)

    def predicted(self, history: Interactions) -> Bools:
        """Return which events are of users who have others."""
        return np.repeat(history.lengths > 1, history.lengths)

    def batch(self, events: Events, event: Longs, place: Longs, rng: np.random.Generator) -> Batch:
        """Return a batch with hidden items."""
        batch = packed(events, event, place)
        filled = batch.cell.numpy()
        cell = filled[self._hidden(filled - place.ravel()[filled], rng)]
        return replace(
            _masked(batch, cell),
            target=torch.from_numpy(events.item[event.ravel()[cell]]),
            moment=chosen(events.moment, event.ravel()[cell]),
        )

    def _hidden(self, start: Longs, rng: np.random.Generator) -> Longs:
        """Return which events are hidden, in ascending order, given the first cell of the piece of each [n_events]."""
        first = np.flatnonzero(np.diff(start, prepend=-1))
        length = np.diff(first, append=len(start))
        number = np.clip(np.rint(self.mask_prob * length).astype(np.int64), 1, np.maximum(length - 1, 1))
        key = rng.random(len(start))  # those with the smallest keys of a piece are hidden
        alone = rng.random(len(length)) < self.mask_last
        key[(first + length - 1)[alone]], number[alone] = -1.0, 1
        order = np.lexsort((key, start))
        return np.sort(order[position_of_rows(indptr_of(length)) < np.repeat(number, length)])

    def at_requests(self, events: Events, history: Interactions, requests: Requests, longest: int) -> Batch:
        """Return the last ``longest - 1`` events of each user, and after them a mask, which predicts.

        Without the times of the requests, each one counts as made at the time of the user's last event.
        """
        stop = history.indptr[requests.user + 1]
        length = np.minimum(history.lengths[requests.user], longest - 1) + 1
        packing, order = pack(length, row_width(longest))
        event, place = packing.grid((stop + 1 - length)[order])
        cell = packing.last(order)
        event.reshape(-1)[cell] = stop - 1  # any event: what the mask does not hide is set below
        batch, at = _masked(packed(events, event, place), cell), torch.from_numpy(cell)
        if history.time is not None:
            before = history.time[stop - 1]
            now = before if requests.time is None else requests.time
            if batch.gap is not None:
                batch.gap.view(-1)[at] = torch.from_numpy(gap_class(now - before))
            if batch.hour is not None:
                batch.hour.view(-1)[at] = torch.from_numpy(hour_class(now))
        return batch


def _masked(batch: Batch, cell: Longs) -> Batch:
    """Return the batch with the items at these cells hidden and to be predicted."""
    at = torch.from_numpy(cell)
    return replace(batch, item=batch.item.view(-1).index_fill(0, at, MASK).view(batch.item.shape), cell=at)
