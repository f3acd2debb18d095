"""Calibrated lists: items in the proportions that the user's history has, of categories or of popular items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.bounds import PositiveInt, Share, Unit, check
from recx.core.compiled import compiled
from recx.core.entities import ClassLists
from recx.core.errors import InputError
from recx.core.ragged import blocks, indptr_of, rows_of_groups
from recx.core.system.threads import side_by_side
from recx.core.types import Array, Bools, Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.evaluation.metrics.miscalibration import SMOOTHING
from recx.parts.reranker.places import LISTS, count_down
from recx.parts.reranker.popularity_groups import popularity_groups
from recx.parts.reranker.relevance import relevance
from recx.parts.shared.classes import main_classes
from recx.parts.shared.sequences import sequences


@dataclass(frozen=True)
class Calibrated:
    """Fills the places one by one with the item of the largest ``(1 - calibration) * r - calibration * D(p, q)``.

    p are the shares of the groups in the user's events and q those in the items shown up to this place, where an item
    of m groups, such as genres, counts 1/m in each. An item without a group changes nothing. D is, in nats,
    ``kl``: the sum over groups of p · ln(p / q'), q' = 0.99 q + 0.01 p (Steck: Calibrated recommendations, RecSys
    2018, alpha = 0.01); ``js``: the Jensen-Shannon divergence, the mean of KL(p | m) and KL(q | m), m = (p + q) / 2,
    with which Abdollahpouri, Mansoury, Burke, Mobasher, Malthouse calibrate popularity (User-centered evaluation of
    popularity bias in recommender systems, UMAP 2021): ``by: popularity``, in three groups of items by the clicks
    before the request (see ``popularity_groups``). r is the ranker's score as a share of its range in the list. Equal
    items keep the ranker's order, and so does the whole list of a user without an event of a known group.

    The score of an item is the number of places from its own to the end. The metric ``miscalibration`` is D with
    ``kl`` for items of one category.

    Attributes:
        calibration: Share of the divergence (lambda); 0: the ranker's order.
        by: What the groups are: ``category``, the data's categories of the items or else their first lists of classes;
            ``popularity``.
        divergence: The divergence D.
        head: Share of all clicks that the most popular items have, which are the first group by popularity.
        tail: Share of all clicks of the least popular items, the last group.
        top: Number of places that are filled so; the rest follow in the ranker's order.
    """

    calibration: Unit = 0.5
    by: Literal["category", "popularity"] = "category"
    divergence: Literal["kl", "js"] = "kl"
    head: Share = 0.2
    tail: Share = 0.2
    top: PositiveInt = 20

    def __post_init__(self) -> None:
        check(self, "reranker")
        if self.head + self.tail > 1:
            raise InputError(
                f"reranker.head={self.head:g}, reranker.tail={self.tail:g}: they are shares of all clicks, and more "
                "than 1 together: lower one of them"
            )

    def for_users(self, history: Interactions) -> Calibrated:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the proportions of their user's history.

        Raises:
            InputError: No item has a category, or, by popularity, the history has no events.
        """
        had = sequences(history)
        own = indptr_of(had.lengths(requests.user))
        liked = self._groups(had.item[rows_of_groups(had.indptr, requests.user)], own, history, requests)
        offered = self._groups(candidates.item, candidates.indptr, history, requests)
        n_groups = 1 + max(int(liked.code.max(initial=0)), int(offered.code.max(initial=0)))
        relevant, score = relevance(candidates), np.empty(len(candidates))

        def order(piece: tuple[int, int]) -> None:
            borders = slice(piece[0], piece[1] + 1)
            groups = (liked.indptr, liked.code, offered.indptr, offered.code, n_groups)
            smoothing = 0.0 if self.divergence == "js" else SMOOTHING
            _order(
                own[borders],
                candidates.indptr[borders],
                *groups,
                relevant,
                self.calibration,
                smoothing,
                self.top,
                score,
            )

        side_by_side(order, blocks(candidates.n_lists, LISTS))
        return candidates.reorder(score)

    def _groups(self, item: Ints, indptr: Longs, history: Interactions, requests: Requests) -> ClassLists:
        """Return the groups of each row's item."""
        if self.by == "popularity":
            code = popularity_groups(history, requests, item, indptr, self.head, 1 - self.tail)
            return ClassLists(np.arange(len(item) + 1), code.astype(np.int32))
        classes = main_classes(history.items)
        if classes is None or not len(classes.code):
            raise InputError(
                "reranker.by=category, and no item of this data has a category: write reranker.by=popularity, or "
                "choose another reranker (`python -m recx list reranker`)"
            )
        return classes.take(item.astype(np.int64))


@compiled("score")
def _order(
    own: Longs,
    borders: Longs,
    liked_indptr: Longs,
    liked: Array,
    offered_indptr: Longs,
    offered: Array,
    n_groups: int,
    relevant: Doubles,
    share: float,
    smoothing: float,
    top: int,
    score: Doubles,
) -> None:
    """Write the number of places from each item's to the end into ``score`` [n_rows].

    Args:
        own: Borders of the events of each list's user [n_lists + 1].
        borders: Borders of the lists [n_lists + 1].
        liked_indptr: Borders of the groups of each event.
        liked: These groups.
        offered_indptr: Borders of the groups of each row.
        offered: These groups.
        n_groups: The number of groups.
        relevant: The relevance of each row.
        share: Share of the divergence.
        smoothing: The share of p in q'; 0: the divergence is that of Jensen and Shannon.
        top: Number of places that are filled.
        score: Takes the scores.
    """
    p, q, apart = np.zeros(n_groups), np.zeros(n_groups), np.zeros(n_groups)
    met, known = np.empty(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.bool_)
    for at in range(len(borders) - 1):
        start, stop = borders[at], borders[at + 1]
        done = np.zeros(stop - start, dtype=np.bool_)
        n_met = _add(own[at], own[at + 1], liked_indptr, liked, p, known, met, 0)
        total = 0.0
        for place in range(n_met):
            total += p[met[place]]
        if total > 0:
            for place in range(n_met):
                p[met[place]] /= total
            for row in range(start, stop):
                for entry in range(offered_indptr[row], offered_indptr[row + 1]):
                    if not known[offered[entry]]:
                        known[offered[entry]] = True
                        met[n_met] = offered[entry]
                        n_met += 1
            n_shown = 0
            for place in range(min(top, stop - start)):
                # The divergence as it is, the largest if nothing is shown, and its terms once a further item counts.
                unchanged, changed = np.log(2) / 2 if smoothing == 0 and n_shown == 0 else 0.0, 0.0
                for m in range(n_met):
                    g = met[m]
                    unchanged += _term(p[g], q[g] / max(n_shown, 1), smoothing)
                    apart[g] = _term(p[g], q[g] / (n_shown + 1), smoothing)
                    changed += apart[g]
                best, most = -1, 0.0
                for row in range(start, stop):
                    if done[row - start]:
                        continue
                    first, last = offered_indptr[row], offered_indptr[row + 1]
                    divergence = unchanged if first == last else changed
                    for entry in range(first, last):
                        g = offered[entry]
                        divergence += _term(p[g], (q[g] + 1 / (last - first)) / (n_shown + 1), smoothing) - apart[g]
                    value = (1 - share) * relevant[row] - share * divergence
                    if best < 0 or value > most:
                        best, most = row, value
                done[best - start] = True
                score[best] = stop - start - place
                first, last = offered_indptr[best], offered_indptr[best + 1]
                for entry in range(first, last):
                    q[offered[entry]] += 1 / (last - first)
                n_shown += last > first
        count_down(done, score[start:stop])
        for place in range(n_met):
            p[met[place]] = q[met[place]] = 0
            known[met[place]] = False


@compiled("total", "known", "met")
def _add(
    start: int, stop: int, indptr: Longs, code: Array, total: Doubles, known: Bools, met: Longs, n_met: int
) -> int:
    """Add the groups of some rows, 1 a row, to their totals; note those met, and return how many were."""
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        for entry in range(first, last):
            g = code[entry]
            if not known[g]:
                known[g] = True
                met[n_met] = g
                n_met += 1
            total[g] += 1 / (last - first)
    return n_met


@compiled()
def _term(p: float, q: float, smoothing: float) -> float:
    """Return what a group with the shares p and q adds to the divergence (see ``_order``)."""
    value = 0.0
    if smoothing == 0:
        if p > 0:
            value += p / 2 * np.log(2 * p / (p + q))
        if q > 0:
            value += q / 2 * np.log(2 * q / (p + q))
    elif p > 0:
        value = p * np.log(p / ((1 - smoothing) * q + smoothing * p))
    return value
