"""Split by query: some queries are asked, the ranker learns from all others, and no query knows another's answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import Seed, Share, checked
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.types import Bools, Interactions, Longs, Split
from recx.parts.split.folds import STEPS, Past, RequestTime, deal, may_be_target, split_by_steps

PARTS = ("test", "valid", "train")
"""The parts of ``users.table["part"]``, by how many steps back they lie."""


@dataclass(frozen=True)
@checked("split")
class ByQuery:
    """A step is a part of the data where it says so (train, valid, test), else a share of the queries, seeded.

    A query's targets are its events of its last moment (all, where there are no times); what it has before is known.
    The past of a fold is every part before it: its ranker learns from all of them.

    share: how large a part of the queries test is, and valid, where the data has no parts of its own.
    """

    share: Share = 0.2
    request_time: RequestTime = "target"
    past: Past = "step"
    seed: Seed = 0

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the answers of the queries of that part.

        Raises:
            InputError: the data names other parts, or has none of this fold's, or no query of it has an answer.
        """
        part_of, last = self._parts(interactions, fold), _of_last_moment(interactions)
        part = part_of[interactions.user]
        if fold != "predict" and not (part == STEPS[fold]).any():
            raise InputError(
                f"fold={fold}: no query of this part has an answer: correct its grades, or choose fold=predict; data "
                "that has no parts may be too small for this split"
            )

        def step(back: int) -> tuple[Bools, Bools]:
            now = back == STEPS[fold]
            asked = part == back if now else (part >= back) & (part <= len(PARTS))
            known = part > back if now else np.zeros(len(part), dtype=bool)
            return known | (asked & ~last), asked & last

        return split_by_steps(interactions, fold, step, request_time=self.request_time, past=self.past)

    def _parts(self, interactions: Interactions, fold: FoldName) -> Longs:
        """Return the step, from 1, that every query is asked in [n_users]."""
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


def _of_last_moment(interactions: Interactions) -> Bools:
    """Return which events are of their user's last moment [n]: all, where there are no times."""
    if interactions.time is None:
        return np.ones(len(interactions), dtype=bool)
    last = np.repeat(interactions.indptr[1:] - 1, interactions.lengths)
    of_last: Bools = interactions.time == interactions.time[last]
    return of_last
