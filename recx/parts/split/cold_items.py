"""Split by items: those that are held out have no event in the history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed, Share, check
from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.protocols import FoldName
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Fold, Interactions, Longs, Split
from recx.parts.split.cold_users import starts, steps_of_newest
from recx.parts.split.folds import STEPS, Past, deal, may_be_target, noting_left_out, split_by_steps


@dataclass(frozen=True)
class ColdItems:
    """One step is a share of the items, and their events are the targets: nobody is known to have chosen any of them.

    Requests are made after all history, at which time all of these items are there.

    Attributes:
        share: Share of the items with events in one step.
        which: ``newest``: those whose first event came last; the history ends before it, so that no fit sees an event
            later than a target. ``random``: any, and the history is all events of the other items.
        compete: ``cold``: lists show items of the step only, as the literature on cold items evaluates; ``all``: items
            of the history too, as in use.
        min_history: Number of events that a user needs in the history; 0: new users have requests too.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draws; None where nothing is drawn.
    """

    share: Share = 0.2
    which: Literal["newest", "random"] = "newest"
    compete: Literal["cold", "all"] = "cold"
    min_history: NonNegativeInt = 1
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check(self, "split")
        if self.which == "newest" and self.max_users is None:
            object.__setattr__(self, "seed", None)

    @property
    def ignores_time(self) -> bool:
        """Whether targets may be older than what is known of their users."""
        return self.which == "random"

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the events of the items of that step.

        Raises:
            InputError: The newest are asked for, and the data has no times; or the fold has no requests.
        """
        step_of, allowed = self._steps(interactions), may_be_target(interactions)
        of_event = step_of[interactions.item]

        def step(back: int) -> tuple[Bools, Bools]:
            if interactions.time is None or self.which == "random":
                history, before = of_event > back, np.ones(len(of_event), dtype=bool)
            else:
                since = interactions.first_seen
                history = interactions.time < starts(since, step_of, back)
                before = interactions.time < starts(since, step_of, back - 1)
            enough = allowed & (count_in_groups(history, interactions.indptr) >= self.min_history)
            return history, (of_event == back) & before & np.repeat(enough, interactions.lengths)

        def meant(back: int) -> Bools:
            return (count_in_groups(of_event == back, interactions.indptr) > 0) & allowed

        split = split_by_steps(interactions, fold, step, "end", self.past, self)
        split, back = noting_left_out(split, fold, meant, "little_history"), STEPS[fold]
        past = split.past and self._showing(split.past, step_of == back + 1)
        if fold == "predict":
            return replace(split, past=past)
        notes = {**split.notes, "items_held_out": int((step_of == back).sum())}
        return replace(split, past=past, fold=self._showing(split.fold, step_of == back), notes=notes)

    def _steps(self, interactions: Interactions) -> Longs:
        """Return the step, from 1, in which each item is held out [n_items]; 0: it has no events."""
        with_events = interactions.clicks > 0
        if self.which == "newest":
            if interactions.time is None:
                raise InputError(
                    "split=cold_items holds out the newest items, and this data has no times: set split.which=random"
                )
            return steps_of_newest(interactions.first_seen, with_events, self.share)
        step_of = np.zeros(interactions.n_items, dtype=np.int64)
        step_of[with_events] = deal(int(with_events.sum()), self.share, self.seed or 0)
        return step_of

    def _showing(self, fold: Fold, cold: Bools) -> Fold:
        """Return a fold in which the cold items may be shown: they are there since the end of the history."""
        history, requests = fold.history, fold.requests
        if self.compete == "cold":
            requests = replace(requests, allowed=cold)
        if history.time is not None:
            created = history.items.table.get("created_at", np.full(len(cold), UNKNOWN_TIME))
            since = np.where(created == UNKNOWN_TIME, history.first_seen, created)
            since[cold] = np.minimum(since[cold], history.time.max(initial=0))
            items = replace(history.items, table={**history.items.table, "created_at": since})
            history = replace(history, items=items)
        return Fold(history, fold.target, requests)
