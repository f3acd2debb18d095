"""What popular and what random items would score on a run's own requests: the lines that its figures stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recx.core.errors import InputError
from recx.core.protocols import Seen, retrieves_slates
from recx.core.types import RankedLists
from recx.evaluation.ground_truth import GroundTruth
from recx.experiment.experiment import Result
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.random import Random, noise

MOST_USERS, FEWEST_USERS, PAIRS = 5_000, 200, 20_000_000
"""Judged users who are drawn at most and at least, and pairs of user and item that random scores are drawn for."""
MOST_EVENTS = 5_000_000
"""Events beyond which no popular items are found: sorting them by time for this alone takes as much as a chain."""
SEED = 0
LINES = ("retrieval/", "end_to_end/")
"""Prefixes of the figures that lists of another retriever can be compared by."""


@dataclass(frozen=True)
class ReferenceLines:
    """The means of simple lists, as long as the run's own, over judged users drawn at random.

    Attributes:
        popularity: Metric -> mean of the most clicked items as of the request, as ``retriever=popularity`` finds them;
            {} where the data itself gives the candidates, nothing was clicked before, or a metric needs probabilities.
        random: Metric -> mean of random eligible items, or of the given candidates in a random order; {} likewise.
        users: How many users were drawn.
    """

    popularity: Mapping[str, float]
    random: Mapping[str, float]
    users: int


def reference_lines(result: Result, seen: Seen = "drop") -> ReferenceLines:
    """Return the reference lines of a run that was evaluated, for its metrics of retrieval and end to end.

    Args:
        result: The run.
        seen: Whether items that a user has clicked are dropped or kept, as in the run.
    """
    fold, experiment = result.split.fold, result.experiment
    judged = GroundTruth.for_evaluator(experiment.evaluator, fold).user
    judged = judged[np.isin(judged, fold.requests.user)]
    most = int(np.clip(PAIRS // max(fold.history.n_items, 1), FEWEST_USERS, MOST_USERS))
    drawn = np.sort(np.random.default_rng(SEED).permutation(judged)[:most])
    if retrieves_slates(experiment.retriever):
        lists = result.candidates.take(np.searchsorted(result.candidates.user, drawn))
        shuffled = lists.reorder(noise(np.repeat(lists.user, lists.lengths), lists.item, SEED))
        return ReferenceLines({}, _means(result, shuffled), len(drawn))
    requests = fold.requests[np.searchsorted(fold.requests.user, drawn)]
    depth, popular = experiment.n_candidates, dict[str, float]()
    if len(fold.history) <= MOST_EVENTS:
        lists = Popularity(seen=seen).retrieve(fold.history, requests, depth)
        popular = _means(result, lists) if len(lists.item) else popular
    some = Random(seed=SEED, seen=seen).retrieve(fold.history, requests, depth)
    return ReferenceLines(popular, _means(result, some), len(drawn))


def _means(result: Result, lists: RankedLists) -> dict[str, float]:
    """Return the means of lists by the run's own evaluator, over those of their users whom a metric counts.

    {} if a metric cannot judge such lists, as those that need probabilities.
    """
    fold = result.split.fold
    assert fold.target is not None  # the run was evaluated
    asked = np.zeros(fold.target.n_users, dtype=bool)
    asked[lists.user] = True
    target = fold.target.keep(asked[fold.target.user])  # of few users, since figures of all would take much memory
    try:
        found = result.experiment.evaluator.evaluate(lists, lists, replace(fold, target=target))
    except InputError:
        return {}
    of_lists = {name: values for name, values in found.values.items() if name.startswith(LINES)}
    return {name: float(np.nanmean(values)) for name, values in of_lists.items() if not np.isnan(values).all()}
