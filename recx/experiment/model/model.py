"""A run's chain in use: recommendations for known users, for new or longer histories, and as of any time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.clock import dates_in
from recx.core.errors import InputError
from recx.core.types import Array, Bools, Fold, Interactions
from recx.experiment import build, protocol_card
from recx.experiment.model.asking import Asked, Population
from recx.experiment.model.counted import last_time
from recx.experiment.model.folder import Kept, read
from recx.experiment.model.keep import known_of
from recx.experiment.model.moments import milliseconds_of
from recx.experiment.model.population import numbers_of, raw_ids

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.model.moments import Moment

K = 10


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """The chain of a run.

    Attributes:
        kept: What the run kept.
    """

    kept: Kept

    @classmethod
    def of(cls, folder: Path) -> Model:
        """Return the model in a folder ``model/`` (raises as ``recx.experiment.model.folder.read`` does)."""
        return cls(read(folder))

    @cached_property
    def known(self) -> Fold:
        """All events that the run has read, and the requests of its users after them.

        Raises:
            InputError: The run did not keep them, and its data is missing or has changed.
        """
        kept = self.kept
        if kept.chain.known is not None:
            return kept.chain.known
        experiment = build.experiment(kept.config)
        interactions = experiment.dataset.load()
        if protocol_card.data_hash(interactions) != kept.card["data_hash"]:
            raise InputError(
                f"{kept.folder}: the data of the run has changed since: restore it, give the histories yourself, or "
                "keep them with the model (model=full)"
            )
        return known_of(interactions, experiment.splitter)

    @cached_property
    def population(self) -> Population:
        """All users that the model knows (raises as ``known`` does)."""
        return Population(self.kept.chain, self.known.history)

    def recommend(
        self,
        users: Sequence[Any] | Array | None = None,
        *,
        history: pd.DataFrame | Interactions | None = None,
        k: int = K,
        at: Moment | None = None,
        items: Sequence[Any] | Array | None = None,
    ) -> pd.DataFrame:
        """Return the best items of each user.

        Args:
            users: Raw ids [n], of which each counts once; None: all users of ``history``, or else all who have an
                event. Of a user whom the model does not know, the chain knows no event.
            history: Events of users, known or new, with the columns user, item and, where the run's data has them,
                time and weight. A user in it has these events and no others; everybody else has those of the run.
                What is counted over all users, such as an item's clicks, does not count them.
            k: The length of the lists: at most the run's ``n_candidates``.
            at: The time of the requests: only events before it are known (milliseconds, or a date: see
                ``recx.experiment.model.moments``); None: 1 ms after the user's last event, and for a user without
                events 1 ms after the last of all.
            items: Raw ids of the items that may be shown; None: all. The lists are those of a model that could show
                these items only.

        Returns:
            One row per user and item, users in the given order: user, rank from 1, item, score, known (whether the
            chain knows an event of the user). Its ``attrs`` count ``unknown_items``, given events and allowed items
            that the model does not know and that were left out.

        Raises:
            InputError: The data of the run is needed and missing, or an argument cannot be used.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"k={k!r}: it must be a whole number from 1")
        allowed, unknown = (None, 0) if items is None else self._allowed(items)
        asked = self._asked(users, history, at, allowed)
        if asked.unknown_items + unknown:
            warnings.warn(
                f"{asked.unknown_items} events of the history and {unknown} of the allowed items are left out: the "
                "model does not know their items",
                stacklevel=2,
            )
        return _frame(asked, int(k), asked.unknown_items + unknown)

    def _asked(
        self,
        users: Sequence[Any] | Array | None,
        history: pd.DataFrame | Interactions | None,
        at: Moment | None,
        allowed: Bools | None = None,
    ) -> Asked:
        known = self.known.history
        events = history
        if history is not None and not isinstance(history, Interactions):
            relative = known.time is not None and len(known) > 0 and not dates_in(last_time(known), "ms")
            events = Interactions.from_frame(history, order="given", relative_times=relative)
        ids = None if users is None else raw_ids(users, "users")
        moment = None if at is None else milliseconds_of(at, known)
        return self.population.asked(ids, events, moment, allowed)

    def _allowed(self, items: Sequence[Any] | Array) -> tuple[Bools, int]:
        """Return which items may be shown [n_items], and how many of the ids are unknown."""
        known = self.known.history.items
        number = numbers_of(raw_ids(items, "items"), known, "items")
        allowed = np.zeros(len(known), dtype=bool)
        allowed[number[number >= 0]] = True
        return allowed, int((number < 0).sum())


def _frame(asked: Asked, k: int, unknown: int) -> pd.DataFrame:
    import pandas as pd

    lists = asked.answers(k)
    of_row = lists.list_of_row
    columns = {
        "user": asked.ids[of_row],
        "rank": lists.rank,
        "item": asked.history.items.ids[lists.item],
        "score": lists.score,
        "known": asked.known[of_row],
    }
    frame = pd.DataFrame(columns, copy=False)
    frame.attrs["unknown_items"] = unknown
    return frame
