"""A run's chain in use: recommendations for known users, for new or longer histories, and as of any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.errors import InputError
from recx.core.progress import Stages
from recx.core.types import Array, Fold, Interactions, Ints, Longs, Requests
from recx.experiment import build, protocol_card
from recx.experiment.model.folder import Kept, read
from recx.experiment.model.keep import known_of
from recx.experiment.model.population import before, extended, numbers_of, with_unknown
from recx.experiment.model.serving import serve_with

if TYPE_CHECKING:
    import pandas as pd

K = 10


@dataclass(frozen=True, eq=False)
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

    def recommend(
        self,
        users: Sequence[Any] | Array | None = None,
        *,
        history: pd.DataFrame | Interactions | None = None,
        k: int = K,
        at: int | None = None,
        items: Sequence[Any] | Array | None = None,
    ) -> pd.DataFrame:
        """Return the best items of each user.

        Args:
            users: Raw ids [n]; None: all users of ``history``, or else all who have an event. Of a user whom the model
                does not know, the chain knows no event.
            history: Events of users, known or new, with the columns user, item and, where the run's data has them,
                time and weight. A user in it has these events and no others; everybody else has those of the run.
            k: The length of the lists.
            at: The time of the requests in ms: only events before it are known; None: 1 ms after the user's last event.
            items: Raw ids of the items that may be shown; None: all.

        Returns:
            One row per user and item, users in the given order: user, rank from 1, item, score, known (whether the
            chain knows an event of the user).

        Raises:
            InputError: The data of the run is needed and missing, or an argument cannot be used.
        """
        import pandas as pd

        known, asked = self.known.history, users
        if history is not None:
            events = history if isinstance(history, Interactions) else Interactions.from_frame(history)
            known = extended(known, events).history
            asked = events.users.ids if users is None else users
        if at is not None:
            known = before(known, at)
        ids = known.users.ids[known.lengths > 0] if asked is None else pd.unique(np.asarray(asked))
        number = numbers_of(ids, known.users, "users")
        if (number < 0).any():
            known = _with_nobody(known)
            number[number < 0] = known.n_users - 1
        user, place = np.unique(number.astype(np.int32), return_inverse=True)
        requests = Requests(user, None if known.time is None else _times(known, user, at))
        lists = serve_with(self.kept.chain, known, requests, Stages(aloud=False)).top(k).take(place)
        return pd.DataFrame(
            {
                "user": ids[lists.list_of_row],
                "rank": lists.rank,
                "item": known.items.ids[lists.item],
                "score": lists.score,
                "known": (known.lengths[number] > 0)[lists.list_of_row],
            }
        )


def _with_nobody(history: Interactions) -> Interactions:
    """Return a history with one more user, who has no events: whoever is unknown."""
    ids = history.users.ids
    nobody = np.array([ids.min(initial=0) - 1 if ids.dtype.kind in "iu" else ""], dtype=ids.dtype)
    return replace(history, indptr=np.append(history.indptr, len(history)), users=with_unknown(history.users, nobody))


def _times(history: Interactions, user: Ints, at: int | None) -> Longs:
    """Return the time of each request [n]."""
    if at is not None:
        return np.full(len(user), at, dtype=np.int64)
    assert history.time is not None
    time = np.full(len(user), history.time.max(initial=0), dtype=np.int64)
    some = history.lengths[user] > 0
    time[some] = history.time[history.indptr[user[some] + 1] - 1]
    return time + 1
