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
        every_item = np.arange(history.n_items, dtype=np.int32)[None]

        def score(block: Requests) -> Floats:
            found = np.empty((len(block), history.n_items), dtype=np.float32)
            _noise(block.user, every_item, self.seed, found)
            return found

        return top_k(score, history, requests, k, self.seen)


def noise(user: Array, item: Array, seed: int) -> Floats:
    """Return a whole number below 2 ** 24 for each pair of user and item: a hash, independent of the other pairs.

    Args:
        user: The user of each pair [n], or that of all [1].
        item: The item of each pair [n].
        seed: Seed of the hash.
    """
    found = np.empty((len(item), 1), dtype=np.float32)
    _noise(np.broadcast_to(user, item.shape), item[:, None], seed, found)
    return found[:, 0]


@compiled("found")
def _noise(user: Ints, item: Ints, seed: int, found: Floats) -> None:
    """Write the hashes of each user [n] and the items of its row [n, m], or of the only row, into ``found`` [n, m]."""
    of_seed = _mixed(np.uint64(seed))
    for row in range(found.shape[0]):
        of_user = np.uint64(user[row]) << np.uint64(32)
        own = item[row if len(item) == len(found) else 0]
        for at in range(found.shape[1]):
            found[row, at] = _mixed((of_user | np.uint64(own[at])) + of_seed) >> np.uint64(40)


@compiled()
def _mixed(bits: np.uint64) -> np.uint64:
    """Return the SplitMix64 hash of a number (Steele, Lea and Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
