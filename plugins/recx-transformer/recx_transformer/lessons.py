"""The events that a network learns from, packed, and the batches of an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recx.plugin import Interactions, Longs, blocks
from recx_transformer.objectives import Objective
from recx_transformer.packing import Packing, pack, pieces
from recx_transformer.sequences import Batch, Events, row_width


@dataclass(frozen=True, eq=False)
class Lessons:
    """The events that stand in a network's inputs in training, packed.

    Attributes:
        objective: What is to be predicted.
        events: The network's inputs for all events.
        packing: The places of the pieces.
        first: The number of each piece's first event, in the packing's order.
    """

    objective: Objective
    events: Events
    packing: Packing
    first: Longs

    @classmethod
    def of(cls, history: Interactions, events: Events, objective: Objective, longest: int) -> Lessons:
        """Return the lessons of a history, in pieces of at most ``longest`` events."""
        first, length = pieces(history.indptr[:-1], objective.inputs(history.lengths), longest)
        packing, order = pack(length, row_width(longest))
        return cls(objective, events, packing, first[order])

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
            yield self.objective.batch(self.events, event[start:stop], place[start:stop], rng)
