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
from recx.core.types import Array, Bools, Fold, Interactions, Ints, Longs, RankedLists, Requests
from recx.experiment import build, protocol_card
from recx.experiment.blocks import Serving, serve
from recx.experiment.engine.local import Local
from recx.experiment.model.folder import Kept, read
from recx.experiment.model.population import before, extended, numbers_of, with_unknown

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
        experiment = build.experiment({**kept.config, "engine": {"_target_": "recx.experiment.engine.local.Local"}})
        interactions = experiment.dataset.load()
        if protocol_card.data_hash(interactions) != kept.card["data_hash"]:
            raise InputError(
                f"{kept.folder}: the data of the run has changed since: restore it, give the histories yourself, or keep "
                "them with the model (model=full)"
            )
        return known_of(interactions, experiment)

    def recommend(
        self,
        users: Sequence[Any] | Array | None = None,
        *,
        history: pd.DataFrame | Interactions | None = None,
        k: int = K,
        at: Any = None,
        items: Sequence[Any] | Array | None = None,
    ) -> pd.DataFrame:
        """Return the best items of each user.

        Args:
            users: Raw ids [n]; None: all users of ``history``, or else all whom the run would serve with
                ``fold=predict``. Of a user whom the model does not know, the chain knows no event.
            history: Events of users, known or new, with the columns user, item and, where the run's data has them,
                time and weight. A user in it has these events and no others; everybody else has those of the run.
            k: The length of the lists.
            at: The time of the requests: only events before it are known; None: 1 ms after the user's last event.
            items: Raw ids of the items that may be shown; None: all.

        Returns:
            One row per user and item, users in the given order: user, rank from 1, item, score, known (whether the
            chain knows an event of the user).

        Raises:
            InputError: The data of the run is needed and missing, or an argument cannot be used.
        """
        raise NotImplementedError

    def serve(self, history: Interactions, requests: Requests, stage: Stages | None = None) -> tuple[RankedLists, ...]:
        """Return the candidates and the recommendations of requests, in blocks (see ``recx.experiment.blocks``)."""
        chain = self.kept.chain
        serving = Serving(chain.retriever, chain.ranker, history, chain.n_candidates)
        return serve(Local(), serving, requests, stage or Stages(aloud=False))
