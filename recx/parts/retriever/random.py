"""Random items: the lower bound for every other retriever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recx.core.bounds import Seed, checked
from recx.core.protocols import Seen
from recx.core.types import Array, Floats, Interactions, RankedLists, Requests
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
    pair = user.astype(np.uint64) << np.uint64(32) | item.astype(np.uint64)
    return (_mixed(pair + _mixed(np.array([seed], dtype=np.uint64))) >> np.uint64(40)).astype(np.float32)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the SplitMix64 hash of each number (Steele, Lea and Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
