"""Likelihood and expected counts against an enumeration of all that could have happened, and laws of the estimate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recx.evaluation.clicks.em import Counts, Parameters, Prior, best, counted, expected, maximise
from recx.evaluation.clicks.log import read_log

SHOWN = st.lists(st.integers(0, 4), unique=True, min_size=1, max_size=4)
CLICKED = SHOWN.flatmap(lambda items: st.tuples(*(st.tuples(st.just(item), st.integers(0, 1)) for item in items)))
LOGS = st.lists(CLICKED, max_size=8).filter(lambda lists: any(clicked for shown in lists for _, clicked in shown))
FEW = st.lists(CLICKED.map(lambda shown: shown[:3]), max_size=2).map(lambda lists: [((0, 1), (4, 0)), *lists])
CHANCE = st.floats(0.05, 0.95)


def enumerated(lists, weights, at, n_pairs):
    """Return what ``expected`` does from every course that the users' reading could have taken.

    A course says of each position whether the item would be clicked if looked at, would satisfy, and whether the user
    would move on.
    """
    of_pairs, moves, total = np.zeros((n_pairs, 4)), np.zeros(2), 0.0
    for shown, weight in zip(lists, weights, strict=True):
        n, whole, summed, moved = len(shown), 0.0, np.zeros((n_pairs, 4)), np.zeros(2)
        for course in product((0, 1), repeat=3 * n):
            draws = list(zip(course[:n], course[n : 2 * n], course[2 * n :], strict=True))
            chance, looking, clicks = 1.0, True, []
            seen, of_moves = np.zeros((n_pairs, 4)), np.zeros(2)
            for place, ((item, _), (attracted, satisfied, moves_on)) in enumerate(zip(shown, draws, strict=True)):
                a, s, g = at.attractiveness[item], at.satisfaction[item], at.continuation
                chance *= (a if attracted else 1 - a) * (s if satisfied else 1 - s) * (g if moves_on else 1 - g)
                click = looking and bool(attracted)
                clicks.append(click)
                seen[item] += [looking, click, click and place < n - 1, click and satisfied and place < n - 1]
                looking = looking and not (click and satisfied)
                if looking and place < n - 1:
                    of_moves += [1, moves_on]
                looking = looking and bool(moves_on)
            if clicks == [bool(clicked) for _, clicked in shown]:
                whole, summed, moved = whole + chance, summed + chance * seen, moved + chance * of_moves
        of_pairs += weight * summed / whole
        moves += weight * moved / whole
        total += weight * np.log(whole)
    return Counts(of_pairs, moves, total)


def equal(one, other):
    assert one.of_pairs == pytest.approx(other.of_pairs)
    assert one.moves == pytest.approx(other.moves)
    assert one.log_likelihood == pytest.approx(other.log_likelihood)


def numbered(log, lists):
    """Return the lists with the numbers of their items in the log."""
    of = {item: number for number, item in enumerate(log.item.tolist())}
    return [[(of[item], clicked) for item, clicked in shown] for shown in lists]


@settings(max_examples=20)
@given(lists=FEW, data=st.data())
def test_what_is_expected_is_that_of_all_courses(log_of, lists, data):
    log = read_log(log_of(lists))
    chances = st.lists(CHANCE, min_size=len(log.item), max_size=len(log.item)).map(np.array)
    at = Parameters(data.draw(chances), data.draw(chances), data.draw(CHANCE))
    weights = np.array(data.draw(st.lists(st.floats(0.1, 3), min_size=len(lists), max_size=len(lists))))
    equal(expected(log, weights, at), enumerated(numbered(log, lists), weights, at, len(log.item)))


LISTS_OF_THREE = [
    ((0, 0), (1, 1), (2, 0)),
    ((1, 0), (0, 1), (2, 1)),
    ((2, 1), (1, 0), (0, 0)),
    ((0, 1), (2, 0), (1, 0)),
    ((2, 0), (0, 0), (1, 0)),
    ((1, 1), (2, 1), (0, 1)),
]


@pytest.mark.parametrize("continuation", [None, 0.8, 1.0])
def test_the_estimate_is_that_of_a_slow_implementation(log_of, continuation):
    log = read_log(log_of(LISTS_OF_THREE))
    lists, weights, prior = numbered(log, LISTS_OF_THREE), np.ones(len(LISTS_OF_THREE)), Prior.of(1.0)
    start = Parameters(np.full(3, 0.5), np.full(3, 0.5), continuation or 0.5)
    slow = start
    for _ in range(5):
        slow = best(enumerated(lists, weights, slow, 3), prior, continuation)
    fast = maximise(log, weights, prior, start, continuation=continuation, tolerance=1e-15, iterations=5)
    assert not fast.converged
    for one, other in zip(fast.parameters, slow, strict=True):
        assert one == pytest.approx(other)


@given(lists=LOGS, smoothing=st.sampled_from([1e-3, 0.5, 1.0]), continuation=st.sampled_from([None, 0.7, 1.0]))
def test_no_iteration_lowers_what_is_maximised_and_the_order_of_lists_is_nothing(
    log_of, lists, smoothing, continuation
):
    log, prior = read_log(log_of(lists)), Prior.of(smoothing)
    how = {"continuation": continuation, "tolerance": 1e-7, "iterations": 300}
    weights = np.ones(len(log.last))
    start = best(counted(log, weights), Prior.of(1.0), continuation or 0.5)
    found = maximise(log, weights, prior, start, **how)
    assert (np.diff(found.trace) >= -1e-9 * np.abs(found.trace[1:])).all()
    turned = read_log(log_of(lists[::-1]))
    other = maximise(turned, weights, prior, best(counted(turned, weights), Prior.of(1.0), continuation or 0.5), **how)
    place = [turned.item.tolist().index(item) for item in log.item.tolist()]
    assert other.parameters.attractiveness[place] == pytest.approx(found.parameters.attractiveness, abs=1e-5)
    assert other.parameters.continuation == pytest.approx(found.parameters.continuation, abs=1e-5)


def test_the_simplification_counts_what_the_published_one_does(log_of):
    """Looks up to the last click, or of all without one; clicks; and of these the last ones satisfied."""
    log = read_log(log_of(LISTS_OF_THREE))
    counts = counted(log, np.ones(len(LISTS_OF_THREE))).of_pairs
    looked, clicked, last = np.zeros(3), np.zeros(3), np.zeros(3)
    for shown in numbered(log, LISTS_OF_THREE):
        clicks = [place for place, (_, of) in enumerate(shown) if of]
        for item, of in shown[: clicks[-1] + 1 if clicks else None]:
            looked[item] += 1
            clicked[item] += of
        if clicks:
            last[shown[clicks[-1]][0]] += 1
    np.testing.assert_allclose(counts.T, [looked, clicked, clicked, last])
