"""A Markov chain of the first order: what users clicked after an item that the user has clicked last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from recx.core.bounds import NonNegativeFloat, PositiveInt, checked
from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.protocols import Seen
from recx.core.similar import Similar
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Doubles, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.co_clicks import co_clicks
from recx.parts.shared.heap import push, sort_heap
from recx.parts.shared.top_k import Eligibility, Rules, lists_by_pieces

LISTS = 10_000  # requests answered by one thread at a time


@dataclass(frozen=True)
@checked("retriever")
class Markov:
    """Scores items by the probability that they follow the user's last click.

    The probability of j after i is ``(n_ij + smoothing * p_j) / (n_i + smoothing)``, where n_ij is the weight of the
    clicks on j after i, n_i that of all clicks after i, and p_j the share of all clicks after others that are on j: a
    Dirichlet prior (Zhai and Lafferty 2004). A click d places later weighs 1 / d or 1, times ``2 ** (-gap /
    half_life)``. The same item again is no transition.

    With ``distance=10`` these are the sequential rules of Kamehkhosh et al. 2017 (SR in Ludewig and Jannach 2018).

    Attributes:
        distance: Largest distance of two clicks in a user's sequence; 1: only what follows next.
        decay: Weight by distance: ``div`` is 1 / distance, ``same`` is 1.
        half_life: Gap in time that halves the weight of a transition; None: the gap has no influence.
        neighbours: Number of transitions stored for each item, the largest.
        smoothing: Weight of p; 0: only transitions that occurred.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    distance: PositiveInt = 1
    decay: Literal["div", "same"] = "div"
    half_life: Duration | None = None
    neighbours: PositiveInt = 200
    smoothing: NonNegativeFloat = 1.0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedMarkov:
        """Count the transitions of all users.

        Raises:
            InputError: ``half_life`` is set, and the data has no times.
        """
        if self.half_life is not None and history.time is None:
            raise InputError(
                f"retriever.half_life={self.half_life} needs the times of the clicks, and this data has none: write "
                "retriever.half_life=null"
            )
        half_life = None if self.half_life is None else milliseconds(self.half_life, "retriever.half_life")
        distance = np.arange(1, self.distance + 1)
        near = (1 / distance if self.decay == "div" else np.ones(self.distance)).astype(np.float32)
        counts = co_clicks(history, near, half_life, 1.0, 0.0, np.ones(history.n_items, np.float32), self.neighbours)
        leaving, arriving = _totals(history, near, half_life)
        return FittedMarkov(self, counts, leaving, arriving / max(arriving.sum(), 1e-300))


@dataclass(frozen=True, eq=False)
class FittedMarkov:
    """The fitted retriever.

    Attributes:
        settings: The settings of the fit.
        counts: CSR [n_items, n_items] of weights; row: the clicked item, column: what was clicked after it.
        leaving: The weight of all clicks after each item [n_items].
        share: The share of all clicks after others that are on each item [n_items].
    """

    settings: Markov
    counts: Any
    leaving: Doubles
    share: Doubles

    def check_read(self) -> None:
        n_items = len(self.leaving)
        if self.counts.shape != (n_items, n_items) or self.share.shape != (n_items,):
            raise ValueError("transitions of other items")

    def for_users(self, history: Interactions) -> FittedMarkov:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items that were clicked after this one the most."""
        row = slice(self.counts.indptr[item], self.counts.indptr[item + 1])
        return Similar.best(self.counts.indices[row], self.counts.data[row], k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items of the largest probabilities.

        Raises:
            InputError: The history has other items than that of the fit.
        """
        if history.n_items != len(self.leaving):
            raise InputError(
                f"retriever=markov was fitted on {len(self.leaving)} items, and this history has {history.n_items}: "
                "use one of the same items"
            )
        smoothing = self.settings.smoothing
        usual = np.flatnonzero(self.share) if smoothing else np.zeros(0, dtype=np.int64)
        usual = usual[np.argsort(-self.share[usual], kind="stable")]
        table = (self.counts.indptr.astype(np.int64), self.counts.indices, self.counts.data)
        chain = (*table, self.leaving, self.share, smoothing, usual, history.indptr, history.item)
        eligibility = Eligibility(history, self.settings.seen)

        def write(some: slice, item: Ints, score: Floats, length: Longs) -> None:
            _retrieve(*chain, eligibility.rules(requests[some]), item, score, length)

        return lists_by_pieces(requests.user, k, LISTS, write)


def _totals(history: Interactions, near: Floats, half_life: int | None) -> tuple[Doubles, Doubles]:
    """Return the weight of all transitions from each item, and to each item [n_items]."""
    n_items = history.n_items
    leaving, arriving = np.zeros(n_items), np.zeros(n_items)
    for distance, weight in enumerate(near, start=1):
        before, after = history.item[:-distance], history.item[distance:]
        one = (history.user[:-distance] == history.user[distance:]) & (before != after)
        worth = np.full(int(one.sum()), float(weight))
        if half_life is not None and history.time is not None:
            worth *= 2.0 ** (-(history.time[distance:] - history.time[:-distance])[one] / half_life)
        leaving += np.bincount(before[one], worth, n_items)
        arriving += np.bincount(after[one], worth, n_items)
    return leaving, arriving


@compiled("item", "score", "length")
def _retrieve(
    borders: Longs,
    following: Ints,
    weight: Floats,
    leaving: Doubles,
    share: Doubles,
    smoothing: float,
    usual: Longs,
    indptr: Longs,
    clicked: Ints,
    rules: Rules,
    item: Ints,
    score: Floats,
    length: Longs,
) -> None:
    """Write the best items of each request into ``item`` and ``score`` [n_lists, k], their number into ``length``.

    Args:
        borders: Where the transitions from each item begin [n_items + 1].
        following: The items that they lead to [n].
        weight: Their weights [n].
        leaving: The weight of all transitions from each item [n_items].
        share: The share of all transitions that lead to each item [n_items].
        smoothing: Weight of the share.
        usual: The items with a share, largest first; none without smoothing.
        indptr: Borders of the users' clicks [n_users + 1].
        clicked: The items of those clicks.
        rules: Which items may be shown.
        item: The items found, to write into.
        score: Their scores, to write into.
        length: The number of items of each list, to write into [n_lists].
    """
    k = item.shape[1]
    hidden = np.full(len(share), -1, dtype=np.int64)  # the last request that has no more use for an item
    for at in range(len(length)):
        user = rules.user[at]
        best, best_item, size = score[at], item[at], 0
        for event in range(rules.indptr[user], rules.indptr[user + 1]):
            hidden[rules.seen[event]] = at
        total = smoothing
        if indptr[user + 1] > indptr[user]:
            last = clicked[indptr[user + 1] - 1]
            total += leaving[last]
            for place in range(borders[last], borders[last + 1]):
                other = following[place]
                if hidden[other] != at:
                    hidden[other] = at
                    if len(rules.now) == 0 or rules.since[other] < rules.now[at]:
                        value = float(np.float32((weight[place] + smoothing * share[other]) / total))
                        size = push(best, best_item, size, k, value, other)
        for other in usual:
            value = float(np.float32(smoothing * share[other] / total))
            if size == k and value < best[0]:
                break
            if hidden[other] != at and (len(rules.now) == 0 or rules.since[other] < rules.now[at]):
                size = push(best, best_item, size, k, value, other)
        sort_heap(best, best_item, size)
        length[at] = size
