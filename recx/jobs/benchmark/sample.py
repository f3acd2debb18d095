"""A seeded sample of the queries of a fold, with their targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recx.core.protocols import FoldName
from recx.core.types import Interactions, Split


def sampled(split: Split, sample: Mapping[str, int] | None) -> Split:
    """Return the split with a sample of the fold's requests; the notes say how many there were.

    Args:
        split: The split, whose fold is sampled.
        sample: ``queries``, the size of the sample, and its ``seed``; None keeps all requests.
    """
    fold = split.fold
    n = len(fold.requests)
    notes = {**split.notes, "queries_in_all": n, "queries_sampled": n}
    if sample is None or sample["queries"] >= n:
        return replace(split, notes=notes)
    chosen = np.sort(np.random.default_rng(sample["seed"]).choice(n, sample["queries"], replace=False))
    requests, target = fold.requests[chosen], fold.target
    if target is not None:
        target = target.keep(np.isin(target.user, requests.user))
    fold = replace(fold, requests=requests, target=target)
    return replace(split, fold=fold, notes={**notes, "queries_sampled": len(chosen)})


@dataclass(frozen=True, eq=False)
class Loaded:
    """Takes the place of a dataset and a splitter whose work is done.

    Attributes:
        interactions: What the dataset loaded.
        done: What the splitter returned.
    """

    interactions: Interactions
    done: Split

    def load(self) -> Interactions:
        """Return the interactions."""
        return self.interactions

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the split."""
        return self.done
