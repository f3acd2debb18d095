"""Random items: the lower bound for every other retriever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.compiled import compiled
from recx.core.protocols import Seen
from recx.core.types import Array, Floats, Interactions, Ints, RankedLists, Requests
from recx.parts.shared.top_k import top_k


@dataclass(frozen=True)
@checked("retriever")
class Random:
    """Scores each pair of user and item by a hash of the pair and the seed, so that requests are independent.

    Attributes:
        seed: Seed of the hash.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> Random:
        """Return this retriever, which learns nothing."""
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return ``k`` random eligible items."""

        def score(block: Requests) -> Floats:
            return noise(block.user[:, None], np.arange(history.n_items), self.seed)

        return top_k(score, history, requests, k, self.seen)


def noise(user: Array, item: Array, seed: int) -> Floats:
    """Return a whole number below 2 ** 24 for each pair of user and item: a hash, independent of the other pairs."""
    users, items = np.broadcast_arrays(user, item)
    found = np.empty(users.shape, dtype=np.float32)
    _noise(np.ravel(users), np.ravel(items), np.uint64(seed), found.ravel())
    return found


@compiled("found")
def _noise(user: Ints, item: Ints, seed: np.uint64, found: Floats) -> None:
    """Write the hash of each pair into ``found`` [n_pairs]."""
    of_seed = _mixed(seed)
    for at in range(len(user)):
        pair = np.uint64(user[at]) << np.uint64(32) | np.uint64(item[at])
        found[at] = _mixed(pair + of_seed) >> np.uint64(40)


@compiled()
def _mixed(bits: np.uint64) -> np.uint64:
    """Return the SplitMix64 hash of a number (Steele, Lea and Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
