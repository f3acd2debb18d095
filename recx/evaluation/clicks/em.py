"""The dynamic Bayesian network of clicks: its likelihood, and expectation maximisation over whole lists.

A user looks at the first item. An item u that is looked at is clicked with the chance a_u (its attractiveness), and
after a click satisfies with the chance s_u. Who is not satisfied looks at the next item with the chance γ
(continuation), and leaves otherwise. So everything up to the last click was looked at and did not satisfy, and only
what happened after it is unknown: satisfied, gone, or looking on without a click. Chapelle, Zhang: A dynamic Bayesian
network click model for web search ranking, WWW 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recx.core.compiled import compiled
from recx.core.types import Bools, Doubles, Ints, Longs
from recx.evaluation.clicks.log import ClickLog


class Parameters(NamedTuple):
    """Attributes: attractiveness and satisfaction of each pair [n_pairs], and continuation."""

    attractiveness: Doubles
    satisfaction: Doubles
    continuation: float


@dataclass(frozen=True)
class Counts:
    """What lists say of the parameters, each list with its weight.

    Attributes:
        of_pairs: How often each pair was looked at and clicked, how often a click of it was followed by something, and
            how often it then had satisfied: in expectation, doubles [n_pairs, 4].
        moves: How often a user who was not satisfied could look at a next item, and how often did [2].
        log_likelihood: The logarithm of the chance of the clicks.
    """

    of_pairs: Doubles
    moves: Doubles
    log_likelihood: float = np.nan


@dataclass(frozen=True)
class Prior:
    """Clicks that are added to those counted, which are those of Beta distributions less 1.

    Attributes:
        attractiveness: Clicks and looks without one [2, n_pairs], or one number for all.
        satisfaction: Satisfied and other clicks [2, n_pairs], or one number for all.
        continuation: Moves and stops [2].
    """

    attractiveness: Doubles
    satisfaction: Doubles
    continuation: Doubles

    @classmethod
    def of(cls, smoothing: float) -> Prior:
        """Return that of so many clicks, and as many others, of every parameter."""
        both = np.full((2, 1), smoothing)
        return cls(both, both, both[:, 0])

    @classmethod
    def drawn(cls, smoothing: float, n_pairs: int, rng: np.random.Generator) -> Prior:
        """Return that of so many clicks with weights of their own, as a resample has of lists."""
        of_looks, of_clicks = rng.gamma(smoothing, size=(2, 2, n_pairs))
        return cls(of_looks, of_clicks, rng.gamma(smoothing, size=2))

    def log_density(self, at: Parameters) -> float:
        """Return the logarithm of the prior density, up to a constant."""
        return sum(
            float((added[0] * np.log(value) + added[1] * np.log1p(-np.asarray(value))).sum())
            for value, added in ((at.attractiveness, self.attractiveness), (at.satisfaction, self.satisfaction))
        )

    def log_density_of_moves(self, continuation: float) -> float:
        """Return the same of the continuation."""
        return float(self.continuation @ np.log([continuation, 1 - continuation]))


@dataclass(frozen=True)
class Estimate:
    """What expectation maximisation came to.

    Attributes:
        parameters: The parameters.
        counts: What the lists say at them.
        trace: The logarithm of likelihood times prior before each iteration and after the last [n_iterations + 1].
        converged: Whether no parameter changed by more than the tolerance in the last iteration.
    """

    parameters: Parameters
    counts: Counts
    trace: Doubles
    converged: bool


def expected(log: ClickLog, weight: Doubles, at: Parameters) -> Counts:
    """Return what the lists say, with the weight of each list [n_lists], if the parameters are these."""
    of_pairs, moves = np.zeros((len(log.item), 4)), np.zeros(2)
    value = _expect(log.indptr, log.pair, log.clicked, log.last, weight, *at, of_pairs, moves, np.empty(len(log.pair)))
    return Counts(of_pairs, moves, float(value))


def counted(log: ClickLog, weight: Doubles) -> Counts:
    """Return what the lists say if every user reads on until the last click, which satisfies, or else to the end."""
    n_pairs, of_row = len(log.item), weight[log.list_of_row]
    read = (np.arange(len(log.pair)) <= log.last[log.list_of_row]) | (log.last < log.indptr[:-1])[log.list_of_row]
    last = log.last[log.last >= log.indptr[:-1]]
    chosen = (read, log.clicked, log.clicked, last)
    columns = [np.bincount(log.pair[rows], weights=of_row[rows], minlength=n_pairs) for rows in chosen]
    return Counts(np.stack(columns, axis=1), np.zeros(2))


def best(counts: Counts, prior: Prior, continuation: float | None) -> Parameters:
    """Return the most likely parameters if what was counted is known; ``continuation``: a fixed one."""
    looked, clicked, judged, satisfied = counts.of_pairs.T
    added, of_clicks, of_moves = prior.attractiveness, prior.satisfaction, prior.continuation
    return Parameters(
        (clicked + added[0]) / (looked + added.sum(axis=0)),
        (satisfied + of_clicks[0]) / (judged + of_clicks.sum(axis=0)),
        float((counts.moves[1] + of_moves[0]) / (counts.moves[0] + of_moves.sum()))
        if continuation is None
        else continuation,
    )


def maximise(
    log: ClickLog,
    weight: Doubles,
    prior: Prior,
    start: Parameters,
    *,
    continuation: float | None,
    tolerance: float,
    iterations: int,
) -> Estimate:
    """Estimate the parameters by expectation maximisation, which never lowers likelihood times prior.

    Args:
        log: The log.
        weight: The weight of each list [n_lists].
        prior: What is added to the counts.
        start: The parameters to start from, none of them 0 or 1 but a fixed continuation.
        continuation: A fixed continuation; None: it is estimated.
        tolerance: The change of the parameters below which it stops.
        iterations: The most iterations.
    """
    at, trace, converged = start, [], False
    counts = expected(log, weight, at)
    for _ in range(iterations):
        trace.append(_objective(counts, prior, at, continuation))
        new = best(counts, prior, continuation)
        change = max(float(np.abs(np.asarray(one) - other).max()) for one, other in zip(new, at, strict=True))
        at, counts = new, expected(log, weight, new)
        if change < tolerance:
            converged = True
            break
    trace.append(_objective(counts, prior, at, continuation))
    return Estimate(at, counts, np.array(trace), converged)


def _objective(counts: Counts, prior: Prior, at: Parameters, continuation: float | None) -> float:
    of_moves = prior.log_density_of_moves(at.continuation) if continuation is None else 0.0
    return counts.log_likelihood + prior.log_density(at) + of_moves


@compiled("of_pairs", "moves", "onwards")
def _expect(
    indptr: Longs,
    pair: Ints,
    clicked: Bools,
    last: Longs,
    weight: Doubles,
    attractiveness: Doubles,
    satisfaction: Doubles,
    continuation: float,
    of_pairs: Doubles,
    moves: Doubles,
    onwards: Doubles,
) -> float:
    """Add up the expected counts of all lists, and return their log-likelihood.

    ``onwards`` [n] is for each row after the last click the chance that who looked at it looked at the next one.
    """
    total, read_on = 0.0, np.log(continuation)
    log_click, log_none, log_more = np.log(attractiveness), np.log(1 - attractiveness), np.log(1 - satisfaction)
    for one in range(len(weight)):
        stop, click, of_list = indptr[one + 1], last[one], weight[one]
        silent = 1.0  # the chance of no click from here on, for who looks at this row
        for row in range(stop - 1, click, -1):
            stays = 1.0
            if row < stop - 1:
                stays = 1 - continuation + continuation * silent
                onwards[row] = continuation * silent / stays
            silent = (1 - attractiveness[pair[row]]) * stays
        likelihood, looking = 0.0, 1.0
        for row in range(indptr[one], click + 1):
            of = pair[row]
            of_pairs[of, 0] += of_list
            if clicked[row]:
                of_pairs[of, 1] += of_list
                likelihood += log_click[of]
            else:
                likelihood += log_none[of]
            if row < click:
                moves[0] += of_list
                moves[1] += of_list
                likelihood += read_on
                if clicked[row]:
                    of_pairs[of, 2] += of_list
                    likelihood += log_more[of]
        if click < indptr[one]:
            likelihood += np.log(silent)
        elif click < stop - 1:  # a click on the last item is followed by nothing that could tell
            of = pair[click]
            stays = 1 - continuation + continuation * silent
            whole = satisfaction[of] + (1 - satisfaction[of]) * stays
            looking = (1 - satisfaction[of]) * continuation * silent / whole
            of_pairs[of, 2] += of_list
            of_pairs[of, 3] += of_list * satisfaction[of] / whole
            moves[0] += of_list * (1 - satisfaction[of]) * stays / whole
            moves[1] += of_list * looking
            likelihood += np.log(whole)
        for row in range(click + 1, stop):
            of_pairs[pair[row], 0] += of_list * looking
            if row < stop - 1:
                moves[0] += of_list * looking
                looking *= onwards[row]
                moves[1] += of_list * looking
        total += of_list * likelihood
    return total
