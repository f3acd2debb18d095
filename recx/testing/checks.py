"""Contract checks of retrievers, rankers, features and metrics: each names the rule that is broken.

    from recx.testing import check_retriever, tiny_world

    def test_my_retriever_keeps_its_contract():
        check_retriever(MyRetriever())

The rules are those of ``recx.core.protocols`` and the laws: valid lists, no knowledge of the future, independent
requests, reproducible results. The other kinds are in ``checks_of_data``, ``checks_of_options``, ``checks_of_trackers``
and ``checks_of_training``. All checks raise AssertionError; none needs pytest.
"""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np

from recx.core.protocols import Feature, FittedRanker, FittedRetriever, Metric, Ranker, Retriever, is_trained
from recx.core.ragged import position_of_rows
from recx.core.total import Total
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth
from recx.parts.shared.top_k import Eligibility
from recx.testing.elsewhere import result_elsewhere
from recx.testing.rules import NEAR, arrays_of, declares_what_counts, expect, same_lists, valid_lists
from recx.testing.tiny_dataset import everyone_asks, last_out, other_future, some_candidates, tiny_world


def check_retriever(retriever: Retriever, interactions: Interactions | None = None, k: int = 7) -> None:
    """Raise AssertionError unless the retriever keeps its contract.

    The setting ``seen=drop`` is enforced. If the data has slates, lists may be as long as the user's slate, and the
    items of a slate need not have been created or clicked before.

    Args:
        retriever: The part to check.
        interactions: The data to check it with; default: ``tiny_world()``.
        k: The length of the lists.
    """
    declares_what_counts(retriever)
    world = tiny_world() if interactions is None else interactions
    history, requests = everyone_asks(world)
    name = type(retriever).__name__
    before = [array.copy() for array in arrays_of(history)]
    fitted = retriever.fit(history)
    lists = _retrieved(fitted, history, requests, k, name)
    expect(same_lists(lists, fitted.retrieve(history, requests, k)), f"{name} must return the same twice")
    again = retriever.fit(history).retrieve(history, requests, k)
    expect(same_lists(lists, again), f"{name} must return the same after another fit on the same history")
    expect(all(map(np.array_equal, before, arrays_of(history))), f"{name} must not change the history")
    _check_eligibility(retriever, lists, history, requests)
    _check_later_events(fitted, history, requests, k, name)
    for chosen in (slice(0, None, 2), slice(0, 1), slice(0, 0)):
        alone = _retrieved(fitted, history, requests[chosen], k, name)
        rest = lists.take(np.arange(len(requests))[chosen])
        expect(_near(alone, rest), f"{name}: the list of a request must not depend on the other requests")
    _retrieved(fitted, history, requests, 3 * world.n_items, name)
    first_half = position_of_rows(history.indptr) < history.lengths[history.user] // 2 + 1
    _retrieved(retriever.fit(history.keep(first_half)), history, requests, k, name)
    elsewhere = result_elsewhere(fitted, "retrieve", history, requests, k)
    expect(same_lists(lists, elsewhere), f"{name} must return the same when it was kept and read in another process")


def _retrieved(fitted: FittedRetriever, history: Interactions, requests: Requests, k: int, name: str) -> RankedLists:
    lists = valid_lists(fitted.retrieve(history, requests, k), requests, history.n_items, name)
    most = np.full(history.n_users, k)
    if history.slates is not None:
        most[history.slates.user] = np.maximum(k, history.slates.lengths)
    expect((lists.lengths <= most[requests.user]).all(), f"{name} must return at most k={k} items per request")
    return lists


def _check_eligibility(retriever: Retriever, lists: RankedLists, history: Interactions, requests: Requests) -> None:
    """Check that no item is shown before it existed nor, with ``seen=drop``, one that the user has seen."""
    if history.slates is not None:
        return
    name = type(retriever).__name__
    pairs = lists.list_of_row, lists.item
    too_early = Eligibility(history, "keep").hidden(requests)[pairs].any()
    expect(not too_early, f"{name} must not show an item that was neither created nor clicked before the request")
    if getattr(retriever, "seen", "keep") == "drop":
        seen = Eligibility(history, "drop").hidden(requests)[pairs].any()
        expect(not seen, f"{name} must not show what the user has seen if seen=drop")


def _check_later_events(fitted: FittedRetriever, history: Interactions, requests: Requests, k: int, name: str) -> None:
    if history.time is None:
        return
    changed, earlier = other_future(history, requests)
    lists = fitted.retrieve(history, requests, k).take(earlier)
    other = fitted.retrieve(changed, requests, k).take(earlier)
    expect(same_lists(lists, other), f"{name}: events at or after a request must not change its list")


def check_ranker(ranker: Ranker | FittedRanker, interactions: Interactions | None = None) -> None:
    """Raise AssertionError unless the ranker, fitted on the fold one step earlier, keeps its contract.

    Args:
        ranker: The part to check.
        interactions: The data to check it with; default: ``tiny_world()``.
    """
    declares_what_counts(ranker)
    world = tiny_world() if interactions is None else interactions
    now = last_out(world)
    past = last_out(now.history)
    candidates, name = some_candidates(now), type(ranker).__name__
    fitted = _fitted(ranker, past)
    ranked = valid_lists(fitted.rank(candidates, now.history, now.requests), now.requests, world.n_items, name)
    same = same_lists(_by_item(ranked), _by_item(candidates))
    expect(same, f"{name} must return exactly the candidates, with their columns")
    for other in (fitted, _fitted(ranker, past)):
        again = other.rank(candidates, now.history, now.requests)
        expect(same_lists(ranked, again), f"{name} must return the same twice, and after another fit")
    if world.time is not None:
        changed, earlier = other_future(now.history, now.requests)
        other_list = fitted.rank(candidates, changed, now.requests).take(earlier)
        same = same_lists(ranked.take(earlier), other_list)
        expect(same, f"{name}: events at or after a request must not change its list")
    for chosen in (np.arange(0, len(now.requests), 2), np.arange(1), np.arange(0)):
        alone = fitted.rank(candidates.take(chosen), now.history, now.requests[chosen])
        expect(_near(alone, ranked.take(chosen)), f"{name}: the order of a list must not depend on the other lists")
    elsewhere = result_elsewhere(fitted, "rank", candidates, now.history, now.requests)
    # A network rounds otherwise in another process.
    expect(_near(ranked, elsewhere), f"{name} must return the same when it was kept and read in another process")


def _fitted(ranker: Ranker | FittedRanker, past: Fold) -> FittedRanker:
    return ranker.fit(some_candidates(past), past) if is_trained(ranker) else ranker


def check_feature(feature: Feature, interactions: Interactions | None = None) -> None:
    """Raise AssertionError unless the feature returns one finite number per row, from what was known at the request.

    Args:
        feature: The part to check.
        interactions: The data to check it with; default: ``tiny_world()``.

    Raises:
        AssertionError: A law of features is violated.
    """
    declares_what_counts(feature)
    world = tiny_world() if interactions is None else interactions
    fold, name = last_out(world), type(feature).__name__
    candidates = some_candidates(fold)
    fitted = feature.fit(fold.history)
    values = fitted(candidates, fold.requests)
    expect(values.shape == (len(candidates),), f"{name} must return one number per candidate")
    expect(np.isfinite(values).all(), f"{name} must be finite")
    if world.time is not None:
        changed, earlier = other_future(fold.history, fold.requests)
        rows = np.isin(candidates.list_of_row, earlier)
        other = feature.fit(changed)(candidates, fold.requests)
        expect(np.array_equal(values[rows], other[rows]), f"{name} must not depend on events at or after the request")
    some = slice(5, 12)
    alone = fitted(candidates[some], fold.requests[some])
    rows = np.isin(candidates.list_of_row, np.arange(5, 12))
    expect(np.allclose(values[rows], alone, rtol=NEAR, atol=NEAR), f"{name} must not depend on others' rows")
    try:
        copy = pickle.loads(pickle.dumps(fitted))
    except Exception as error:  # which it is depends on the object that cannot be pickled
        raise AssertionError(f"{name} must consist of arrays and settings when fitted: {error}") from error
    same = np.array_equal(values, copy(candidates, fold.requests))
    expect(same, f"{name} must return the same in another process")
    other_history = replace(fold.history)
    fitted, gone = feature.fit(other_history), weakref.ref(other_history)
    del other_history
    gc.collect()
    expect(gone() is None, f"{name} must hold arrays of the history when fitted, not the history itself")
    elsewhere = result_elsewhere(fitted, "__call__", candidates, fold.requests)
    same = np.array_equal(values, elsewhere)
    expect(same, f"{name} must return the same when it was kept and read in another process")


def check_metric(metric: Metric, interactions: Interactions | None = None) -> None:
    """Raise AssertionError unless the metric returns one number, or one per user that only depends on that user.

    A ``Total`` must add up: those of two halves of the users to that of all.

    Args:
        metric: The part to check.
        interactions: The data to check it with; default: ``tiny_world()``.
    """
    declares_what_counts(metric)
    fold = last_out(tiny_world() if interactions is None else interactions)
    candidates = some_candidates(fold)
    truth = GroundTruth.of(fold)
    values = metric(truth.judge(candidates))
    valid = metric.name.replace("_", "").isalnum()
    expect(valid, f"the name {metric.name!r} of the metric may only contain letters, digits and _")
    if isinstance(values, Total):
        half = len(truth.user) // 2
        one, other = (metric(truth.of_users(some).match(candidates)) for some in (slice(half), slice(half, None)))
        joined = isinstance(one, Total) and isinstance(other, Total) and float(one + other)
        adds_up = np.isclose(joined, float(values), rtol=1e-12, equal_nan=True)
        expect(bool(adds_up), f"{metric.name} of two halves of the users must add up to that of all")
        return
    if not isinstance(values, np.ndarray):
        expect(np.isscalar(values), f"{metric.name} must return an array or one number")
        return
    expect(values.shape == truth.user.shape, f"{metric.name} must return one value per user")
    without = np.isin(truth.user, candidates.user[candidates.lengths == 0])
    nothing = (values[without] == 0).all() or np.isnan(values[without]).all()
    expect(nothing, f"{metric.name} must be 0 for a user without a list")
    some = metric(truth.judge(candidates.take(np.arange(candidates.n_lists // 2, candidates.n_lists))))
    unchanged = np.isin(truth.user, candidates.user[candidates.n_lists // 2 :])
    same = isinstance(some, np.ndarray) and np.array_equal(values[unchanged], some[unchanged], equal_nan=True)
    expect(same, f"{metric.name} of a user must not depend on other users' lists")


def _by_item(lists: RankedLists) -> RankedLists:
    order = np.lexsort((lists.item, lists.list_of_row))
    columns = {name: column[order] for name, column in lists.columns.items()}
    return replace(lists, item=lists.item[order], score=lists.score[order] * 0, columns=columns)


def _near(one: RankedLists, other: RankedLists) -> bool:
    """Whether two lists are the same except for the order of nearly equal scores."""
    return np.array_equal(one.indptr, other.indptr) and bool(np.allclose(one.score, other.score, rtol=NEAR, atol=NEAR))
