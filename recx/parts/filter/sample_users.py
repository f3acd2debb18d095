"""A random sample of the users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveInt, Seed, checked
from recx.core.subset import with_only
from recx.core.types import Interactions


@dataclass(frozen=True)
@checked("filter.sample_users")
class SampleUsers:
    """Keeps the events of at most so many users, drawn at random. All items still compete.

    Of the same data and seed, a smaller sample is part of a larger one.

    Attributes:
        most: Number of users who are drawn; if there are no more, all are kept.
        seed: Seed of the draw. It is not that of the run, so that runs with other seeds use the same data.
    """

    most: PositiveInt = 10_000
    seed: Seed = 0

    def apply(self, interactions: Interactions) -> Interactions:
        """Return the data of the users who are drawn, without any who have no events."""
        active = np.flatnonzero(interactions.lengths)
        if len(active) <= self.most:
            return interactions
        drawn = np.zeros(interactions.n_users, dtype=bool)
        drawn[np.random.default_rng(self.seed).permutation(active)[: self.most]] = True
        return with_only(interactions, users=drawn)
