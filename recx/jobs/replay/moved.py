"""How far scores, features and what is clicked have moved from a window of reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recx.core.protocols import Feature, Featured, FeatureSet
from recx.core.types import Array, Interactions, Longs
from recx.evaluation.drift import BINS, Bins, Drift, drift, of_counts
from recx.jobs.replay.asked import Answers
from recx.jobs.replay.windows import Window
from recx.parts.reranker.reranked import Reranked
from recx.parts.shared.design_matrix import design_matrix, names_of

SAMPLE, SEED = 500, 0
"""Most users of a window the features of whose candidates are read."""
SCORE, FEATURE, POPULARITY = "top_score", "feature/", "popularity"


def features_of(ranker: object) -> Mapping[str, Feature | FeatureSet]:
    """Return the features by which a fitted ranker ranks; {} if it has none."""
    if isinstance(ranker, Reranked):
        return features_of(ranker.ranker)
    return ranker.features if isinstance(ranker, Featured) else {}


@dataclass(frozen=True, eq=False)
class Seen:
    """What is compared of a window.

    Attributes:
        numbers: Name -> its values [n each], and how many users they are of.
        items: The item of each event.
        users: How many users have an event.
    """

    numbers: Mapping[str, tuple[Array, int]]
    items: Array
    users: int

    @classmethod
    def of(cls, answers: Answers, ranker: object, events: Interactions, window: Window) -> Seen:
        """Return what is seen in a window.

        Args:
            answers: Its lists.
            ranker: The fitted ranker that made them.
            events: All events of the log.
            window: The window.
        """
        lists = answers.recommendations
        first = lists.indptr[:-1][lists.lengths > 0]
        numbers: dict[str, tuple[Array, int]] = {SCORE: (lists.score[first], len(first))}
        inside = rows_of(events, window)
        return cls(
            numbers | _features(answers, features_of(ranker)),
            events.item[inside],
            len(np.unique(events.user[inside])),
        )


def rows_of(events: Interactions, window: Window) -> Array:
    """Return which events lie in a window [n]."""
    assert events.time is not None
    return np.asarray((events.time >= window.start) & (events.time < window.stop))


def _features(answers: Answers, features: Mapping[str, Feature | FeatureSet]) -> dict[str, tuple[Array, int]]:
    """Return the features of all candidates of at most ``SAMPLE`` users, drawn with a seed."""
    n_lists = answers.candidates.n_lists
    if not features or not n_lists:
        return {}
    some = np.sort(np.random.default_rng(SEED).permutation(n_lists)[:SAMPLE])
    candidates, requests = answers.candidates.take(some), answers.fold.requests[some]
    table = design_matrix(features, candidates, answers.history, requests)
    users = int((candidates.lengths > 0).sum())
    return {
        f"{FEATURE}{name}": (column, users)
        for name, column in zip(names_of(features, candidates), table.T, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Reference:
    """The distributions of a window, from which others are told apart.

    Attributes:
        window: The window.
        of_fit: Whether the chain has learned from it.
        numbers: Name -> its bins.
        place: The bin of popularity of each item [n_items]; -1 for items without an event until its end.
        popular: The bins of popularity.
    """

    window: Window
    of_fit: bool
    numbers: Mapping[str, Bins]
    place: Longs
    popular: Bins

    @classmethod
    def of(cls, seen: Seen, events: Interactions, window: Window, *, of_fit: bool) -> Reference:
        """Return the distributions of a window."""
        assert events.time is not None
        numbers = {name: Bins.of(values, users) for name, (values, users) in seen.numbers.items()}
        earlier = np.bincount(events.item[events.time < window.stop], minlength=events.n_items)
        place = tenths(np.bincount(seen.items, minlength=events.n_items), earlier)
        counts = np.bincount(place[seen.items], minlength=int(place.max(initial=-1)) + 1)
        popular = Bins(np.arange(0.5, len(counts) - 1), counts, seen.users)
        return cls(window, of_fit, numbers, place, popular)

    def moved(self, seen: Seen) -> dict[str, Drift]:
        """Return how far a window is from this one, by name; popularity counts the events on items known by then."""
        found = {name: drift(self.numbers[name], *seen.numbers[name]) for name in self.numbers if name in seen.numbers}
        place = self.place[seen.items]
        counts = np.bincount(place[place >= 0], minlength=len(self.popular.counts))
        return {**found, POPULARITY: of_counts(self.popular, counts, seen.users)}


def tenths(clicks: Longs, earlier: Longs) -> Longs:
    """Return the bin of each item [n_items]: the most clicked ones that have a tenth of a window's events, and so on.

    Items that were clicked before and not in the window come last, and so share the last bin with the least clicked.

    Args:
        clicks: Events of each item in the window [n_items].
        earlier: Its events until the end of the window [n_items]; an item without any gets -1.
    """
    order = np.lexsort((-earlier, -clicks))
    before = np.cumsum(clicks[order]) - clicks[order]
    place = np.full(len(clicks), -1, dtype=np.int64)
    place[order] = np.minimum(BINS * before // max(int(clicks.sum()), 1), BINS - 1)
    known = earlier > 0
    place[~known] = -1
    place[known] = np.unique(place[known], return_inverse=True)[1]
    return place
