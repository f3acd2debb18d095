"""Metrics of lists that hold a user's target and N sampled items, and what they would be over the whole catalogue.

They are computed only where their names are asked for (``hit_at_10_sampled_100``), and never compared with others: a
sampled metric puts systems in another order than the metric that it is called after. Krichene, Rendle: On sampled
metrics for item recommendation, KDD 2020, whose correction stands beside (``hit_at_10_sampled_100_corrected``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import blocks
from recx.core.types import Doubles, Longs

FIGURES = ("hit", "recall", "ndcg", "mrr")
"""Figures that follow from the rank of one target."""
NAME = re.compile(r"(?P<figure>\w+?)(?:_at_(?P<k>[1-9][0-9]*))?_sampled_(?P<n>[1-9][0-9]*)(?P<corrected>_corrected)?")
TRADE = 0.1
"""How much variance counts against bias in the correction: gamma in the paper, which takes 0.1."""
CELLS = 2_000_000
"""Chances computed at once."""
MOST = 1_000
"""The largest number of sampled items that a correction is computed for."""


@dataclass(frozen=True)
class SampledMetric:
    """A figure of lists of one target and ``n`` sampled items.

    Attributes:
        figure: One of ``FIGURES``.
        n: How many sampled items every list holds.
        k: The cut; None: none.
        corrected: Whether it is an estimate of the figure over the whole catalogue: of the rank of a target there, the
            sampled rank is only a noisy measurement. Each value is the one, for its sampled rank, with the least sum of
            0.9 × squared bias and 0.1 × variance over all ranks, which count alike (Krichene and Rendle, section 5.3).
            A single value means nothing, and may be below 0; the mean over users is the estimate.
        catalogue: How many items are sampled from, with the target; None: all items.

    Raises:
        InputError: There is no such figure.
    """

    figure: str
    n: int
    k: int | None = None
    corrected: bool = False
    catalogue: int | None = None

    def __post_init__(self) -> None:
        if self.figure not in FIGURES:
            raise InputError(f"the metric {self.name!r}: only {', '.join(FIGURES)} can be sampled: choose one of them")
        if self.corrected and self.n > MOST:
            raise InputError(f"the metric {self.name!r}: a correction is for {MOST:,} sampled items at most")

    @property
    def name(self) -> str:
        cut = "" if self.k is None else f"_at_{self.k}"
        return f"{self.figure}{cut}_sampled_{self.n}{'_corrected' * self.corrected}"

    def __call__(self, judged: JudgedLists) -> Doubles:
        """Return one value per user [n_users]; 0 for a user without a list.

        Raises:
            InputError: A user has several targets, or a list is not that of the target and ``n`` other items.
        """
        users, first = judged.first_hits(None)
        self.check_targets(judged)
        self._check(judged, users)
        return self.of_ranks(judged, users, judged.hit_rank[first])

    def of_ranks(self, judged: JudgedLists, users: Longs, rank: Longs) -> Doubles:
        """Return one value per user [n_users], 0 for all but the given ones, whose target has these sampled ranks.

        Raises:
            InputError: A correction is asked for, and the catalogue has no more items than are sampled.
        """
        value = np.zeros(judged.n_users)
        if not self.corrected:
            value[users] = of_rank(self.figure, self.k, rank)
            return value
        n_items = len(judged.items) if self.catalogue is None else self.catalogue
        if self.n >= n_items:
            raise InputError(
                f"the metric {self.name!r} corrects for a catalogue, which has {n_items:,} items, no more than were "
                "sampled: give all its items (items= in recx.evaluate)"
            )
        value[users] = corrections(self.figure, self.k, self.n, n_items)[rank - 1]
        return value

    def check_targets(self, judged: JudgedLists) -> None:
        """Raise InputError if a user has several targets."""
        if (judged.n_targets != 1).any():
            count = int(np.count_nonzero(judged.n_targets != 1))
            raise InputError(
                f"the metric {self.name!r} is defined for one target a user, and {count:,} users have more: keep one "
                "of them, as split=leave_last does, or leave the metric out"
            )

    def _check(self, judged: JudgedLists, with_target: Longs) -> None:
        lengths = judged.lists.lengths
        wrong = (lengths > 0) & (lengths != self.n + 1)
        wrong |= (lengths > 0) & ~np.isin(np.arange(judged.n_users), with_target)
        if wrong.any():
            raise InputError(
                f"the metric {self.name!r} is of lists of the target and {self.n:,} sampled items, and "
                f"{int(wrong.sum()):,} of {judged.n_users:,} lists are not such lists: sample {self.n:,} items for "
                "each user (in a run, evaluator.negatives=uniform draws them), or use "
                f"{self.figure if self.k is None else f'{self.figure}_at_{self.k}'}"
            )


def parse(name: str) -> SampledMetric | None:
    """Return the sampled metric of this name; None if it is none.

    Raises:
        InputError: Its figure cannot be sampled.
    """
    found = NAME.fullmatch(name)
    if found is None:
        return None
    k = None if found["k"] is None else int(found["k"])
    return SampledMetric(found["figure"], int(found["n"]), k, found["corrected"] is not None)


def of_rank(figure: str, k: int | None, rank: Longs) -> Doubles:
    """Return the figure of lists whose one target has these ranks, from 1."""
    within = np.ones(len(rank), dtype=bool) if k is None else rank <= k
    value = {"ndcg": 1 / np.log2(rank + 1), "mrr": 1 / rank}.get(figure, np.ones(len(rank)))
    return np.where(within, value, 0.0)


@cache
def corrections(figure: str, k: int | None, n_sampled: int, n_items: int) -> Doubles:
    """Return the corrected figure of every sampled rank [n_sampled + 1].

    The sampled rank of a target whose rank among ``n_items`` is r is 1 + Binomial(n_sampled, (r - 1) / (n_items - 1)).
    The figures are ((1 - g) AᵀA + g diag(c))⁻¹ Aᵀb, where A [n_items, n_sampled + 1] has the chances of each sampled
    rank, b [n_items] the figure of each rank, c the mean chances, and every rank has the same weight.
    """
    from scipy.stats import binom

    size = n_sampled + 1
    squares, products, chances = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for start, stop in blocks(n_items, CELLS // size):
        rank = np.arange(start + 1, stop + 1)
        a = binom.pmf(np.arange(size), n_sampled, ((rank - 1) / (n_items - 1))[:, None])
        squares += a.T @ a
        products += a.T @ of_rank(figure, k, rank)
        chances += a.sum(axis=0)
    found = np.linalg.solve((1 - TRADE) * squares + TRADE * np.diag(chances), products)
    return np.asarray(found, dtype=np.float64)
