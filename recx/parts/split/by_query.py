"""Split by query: some queries are held out, and the ranker is trained on all others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.bounds import PositiveInt, Seed, Share, checked
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import STEPS, Past, RequestTime, deal, may_be_target, split_by_steps

PARTS = ("test", "valid", "train")
"""The values of ``users.table["part"]``, by the step in which they are held out."""


@dataclass(frozen=True)
@checked("split")
class ByQuery:
    """One step is a part that the data defines (train, valid, test), or else a random share of the queries.

    The targets of a query are its events at its last time (all events, if there are no times); its earlier events are
    the history. The past of a fold consists of all parts before it, so that the ranker is trained on all of them.

    Attributes:
        share: Share of the queries in test, and in valid, if the data defines no parts.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of queries that are evaluated, drawn at random; None: all. The history and the past
            fold are the same whichever is drawn.
        seed: Seed of the draws.
    """

    share: Share = 0.2
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed = 0

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the answers of the queries of that part.

        Raises:
            InputError: The data defines other parts or lacks this fold's part, or none of its queries has an answer.
        """
        part_of, last = self._parts(interactions, fold), _at_last_time(interactions)
        part = np.repeat(part_of.astype(np.int8), interactions.lengths)
        if fold != "predict" and not (part == STEPS[fold]).any():
            raise InputError(
                f"fold={fold}: no query of this part has an answer: correct its grades, or choose fold=predict; data "
                "without parts may be too small for this split"
            )

        def step(back: int) -> tuple[Bools, Bools]:
            now = back == STEPS[fold]
            held_out = part == back if now else (part >= back) & (part <= len(PARTS))
            return ((part > back) & now) | (held_out & ~last), held_out & last

        return split_by_steps(interactions, fold, step, self.request_time, self.past, self)

    def _parts(self, interactions: Interactions, fold: FoldName) -> Longs:
        """Return the step, from 1, in which each query is held out [n_users]."""
        if "part" in interactions.users.table:
            part_of = _named(interactions.users.table["part"].tolist(), fold)
        else:
            part_of = np.minimum(deal(interactions.n_users, self.share, self.seed), len(PARTS))
        part_of[~may_be_target(interactions)] = len(PARTS) + 1
        return part_of


def _named(parts: list[str], fold: FoldName) -> Longs:
    for part in dict.fromkeys(parts):
        if part not in PARTS:
            raise InputError(f"the data has a part {part!r}: a part must be one of train, valid and test")
    if fold != "predict" and fold not in parts:
        raise InputError(f"fold={fold}: the data has no part {fold}: choose one of {', '.join(sorted(set(parts)))}")
    return np.array([1 + PARTS.index(part) for part in parts], dtype=np.int64)


def _at_last_time(interactions: Interactions) -> Bools:
    """Return which events are at their user's last time [n]; all events, if there are no times."""
    if interactions.time is None:
        return np.ones(len(interactions), dtype=bool)
    active = interactions.lengths > 0
    last = interactions.time[interactions.indptr[1:][active] - 1]
    return np.asarray(interactions.time == np.repeat(last, interactions.lengths[active]))
