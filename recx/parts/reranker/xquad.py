"""xQuAD with the short head and the long tail of the items as aspects: room for both, as each user likes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.bounds import PositiveInt, Share, Unit, checked
from recx.core.compiled import compiled
from recx.core.ragged import blocks, indptr_of, rows_of_groups, sum_of_groups
from recx.core.system.threads import side_by_side
from recx.core.types import Doubles, Interactions, Longs, RankedLists, Requests
from recx.parts.reranker.places import LISTS, count_down
from recx.parts.reranker.popularity_groups import popularity_groups
from recx.parts.reranker.relevance import relevance
from recx.parts.shared.sequences import sequences


@dataclass(frozen=True)
@checked("reranker")
class XQuAD:
    """Fills the places one by one with the item v of the largest ``(1 - coverage) * r(v) + coverage * c(v)``.

    c(v) = P(d|u) · prod over the items i above of (1 - P(i|d)), where d is the group of v, the short head or the long
    tail, and P(d|u) its share of the user's events. In the ``binary`` variant P(i|d) is 1 for an item of d and 0 for
    others, so that only the first item of each group gains; in the ``smooth`` one it is the share of d in the s items
    above, the same for each, so that c(v) = P(d|u) · (1 - share)^s. r is the ranker's score as a share of its range in
    the list. Equal items keep the ranker's order, and so does the whole list of a user without events. Abdollahpouri,
    Burke, Mobasher: Managing popularity bias in recommender systems with personalized re-ranking, FLAIRS 2019; the
    model is that of Santos, Macdonald, Ounis, WWW 2010.

    The short head are the most popular items, by the clicks before the request, that together have the share ``head``
    of all clicks (see ``popularity_groups``). The score of an item is the number of places from its own to the end.

    Attributes:
        coverage: Share of the coverage of head and tail (lambda); 0: the ranker's order.
        variant: How the items above count.
        head: Share of all clicks that the short head has.
        top: Number of places that are filled so; the rest follow in the ranker's order.
    """

    coverage: Unit = 0.4
    variant: Literal["smooth", "binary"] = "smooth"
    head: Share = 0.8
    top: PositiveInt = 20

    def for_users(self, history: Interactions) -> XQuAD:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates with room for the head and for the tail.

        Raises:
            InputError: The history has no events.
        """
        had = sequences(history)
        own = indptr_of(had.lengths(requests.user))
        item = had.item[rows_of_groups(had.indptr, requests.user)]
        in_tail = popularity_groups(history, requests, item, own, self.head)
        tail = sum_of_groups(in_tail.astype(np.float64), own)
        events = np.diff(own)
        likes = np.column_stack([events - tail, tail]) / np.maximum(events, 1)[:, None]
        group = popularity_groups(history, requests, candidates.item, candidates.indptr, self.head)
        relevant, score = relevance(candidates), np.empty(len(candidates))

        def order(piece: tuple[int, int]) -> None:
            start, stop = piece
            borders = candidates.indptr[start : stop + 1]
            smooth = self.variant == "smooth"
            _order(borders, group, likes[start:stop], relevant, self.coverage, smooth, self.top, score)

        side_by_side(order, blocks(candidates.n_lists, LISTS))
        return candidates.reorder(score)


@compiled("score")
def _order(
    borders: Longs,
    group: Longs,
    likes: Doubles,
    relevant: Doubles,
    share: float,
    smooth: bool,
    top: int,
    score: Doubles,
) -> None:
    """Write the number of places from each item's to the end into ``score`` [n_rows].

    Args:
        borders: Borders of the lists [n_lists + 1].
        group: The group of each row, 0 or 1.
        likes: The share of each group in the events of each list's user [n_lists, 2].
        relevant: The relevance of each row, never rising within a list.
        share: Share of the coverage.
        smooth: Whether the variant is the smooth one.
        top: Number of places that are filled.
        score: Takes the scores.
    """
    shown, following = np.zeros(2), np.zeros(2, dtype=np.int64)
    for at in range(len(borders) - 1):
        start, stop = borders[at], borders[at + 1]
        done = np.zeros(stop - start, dtype=np.bool_)
        shown[:], following[:] = 0, start
        for place in range(min(top, stop - start)):
            best, most = -1, 0.0
            for kind in range(2):  # of a group, the first item that is left has the largest value
                row = following[kind]
                while row < stop and (group[row] != kind or done[row - start]):
                    row += 1
                following[kind] = row
                if row == stop:
                    continue
                covered = shown[kind] / max(place, 1) if smooth else np.sign(shown[kind])
                uncovered = (1 - covered) ** place
                value = (1 - share) * relevant[row] + share * likes[at, kind] * uncovered
                if best < 0 or value > most or (value == most and row < best):
                    best, most = row, value
            done[best - start] = True
            shown[group[best]] += 1
            score[best] = stop - start - place
        count_down(done, score[start:stop])
