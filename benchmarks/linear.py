"""Measures one fit of the linear ranker against a Python loop over the groups: `python benchmarks/linear.py`.

A million candidates with twenty independent features in 20,000 groups of 50. The aim: the fit in under 3 s and 1 GB, to
a gradient of norm 1e-6, and at least a hundred times as fast as a loop over groups that does 100 epochs of gradient
descent. Prints one Markdown table.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from recx.config.compose import compose, plain
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array, Doubles, Floats, Fold, Interactions, RankedLists, Requests
from recx.experiment import build
from recx.parts.ranker.linear import Linear
from recx.parts.ranker.optimizers import by_gradient_descent, by_lbfgs
from recx.parts.ranker.softmax import Objective
from recx.parts.shared.design_matrix import design_matrix

GROUPS, SIZE, FEATURES, EPOCHS, RATE, L2 = 20_000, 50, 20, 100, 0.01, 1e-4


@dataclass(frozen=True)
class Column:
    """One column of a table in memory, in the order of the candidates."""

    name: str

    def fit(self, history: Interactions) -> Column:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return candidates.columns[self.name]


def problem() -> tuple[RankedLists, Fold, Floats, Doubles]:
    """Return candidates, the fold, the features [n_rows, n_features] and the gains, 1 for targets [n_rows]."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((GROUPS * SIZE, FEATURES), dtype=np.float32)
    drawn = table @ rng.normal(size=FEATURES).astype(np.float32) / 2 + rng.gumbel(size=len(table))
    place = drawn.reshape(GROUPS, SIZE).argmax(axis=1)
    gain = np.zeros(len(table))
    gain[np.arange(GROUPS) * SIZE + place] = 1
    user, indptr = np.arange(GROUPS, dtype=np.int32), indptr_of(np.full(GROUPS, SIZE))
    item = np.tile(np.arange(SIZE, dtype=np.int32), GROUPS)
    columns = {f"x{number}": column for number, column in enumerate(np.ascontiguousarray(table.T))}
    lists = RankedLists(user, indptr, item, np.zeros(len(item), dtype=np.float32), columns)
    users, items = Entities(np.arange(GROUPS)), Entities(np.arange(SIZE))
    ones = np.ones(GROUPS, dtype=np.float32)
    target = Interactions(np.arange(GROUPS + 1), place.astype(np.int32), None, ones, users, items)
    nothing = Interactions(
        np.zeros(GROUPS + 1, dtype=np.int64), place[:0].astype(np.int32), None, ones[:0], users, items
    )
    return lists, Fold(nothing, target, Requests(user)), table, gain


def loop(table: Floats, gain: Doubles, epochs: int) -> Doubles:
    """Return the weights after full gradient steps, summed group by group in Python."""
    groups = [(table[at : at + SIZE].astype(float), gain[at : at + SIZE]) for at in range(0, len(table), SIZE)]
    weights = np.zeros(FEATURES)
    for _ in range(epochs):
        loss, total = 0.0, np.zeros(FEATURES)
        for rows, gains in groups:
            score = rows @ weights
            score = score - score.max()
            odds = np.exp(score)
            loss += gains.sum() * np.log(odds.sum()) - gains @ score
            total += rows.T @ (gains.sum() * odds / odds.sum() - gains)
        weights -= RATE * (total / len(groups) + 2 * L2 * weights)
    return weights


def timed(task: Callable[[], Array]) -> tuple[float, Array]:
    """Return the seconds that a task took, and its result."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def news_features() -> tuple[int, float]:
    """Return how many features of news there are, and the seconds of all of them for 20,000 users x 50 candidates."""
    sizes = ["dataset.readers=40000", "dataset.articles=4000", "retriever=popularity", "n_candidates=50"]
    experiment = build.experiment(plain(compose(["+experiment=news", *sizes])))
    assert isinstance(experiment.ranker, Linear)
    fold = experiment.splitter.split(experiment.dataset.load(), "test").fold
    candidates = experiment.retriever.fit(fold.history).retrieve(fold.history, fold.requests, 50)[:GROUPS]
    start = time.perf_counter()
    design_matrix(experiment.ranker.features, candidates, fold.history, fold.requests[:GROUPS])
    return len(experiment.ranker.features), time.perf_counter() - start


def main() -> None:
    """Print the table."""
    with threadpool_limits(1, user_api="blas"):  # like the ranker
        measure()


def measure() -> None:
    lists, fold, table, gain = problem()
    features = {f"x{number}": Column(f"x{number}") for number in range(FEATURES)}
    ranker = Linear(features, l2=L2, resamples=0)
    start = time.perf_counter()
    fitted = ranker.fit(lists, fold)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    standardised = ((table - fitted.mean) / fitted.deviation).astype(np.float32)
    objective = Objective(standardised, gain, lists.indptr, L2)
    norm = np.linalg.norm(objective.value_and_gradient(fitted.weight)[1])
    with_intervals, _ = timed(lambda: Linear(features, l2=L2).fit(lists, fold).weight)
    minimum, _ = timed(lambda: by_lbfgs(objective).weights)
    descent, ours = timed(lambda: by_gradient_descent(objective, RATE, EPOCHS).weights)
    slow, theirs = timed(lambda: loop(standardised, gain, EPOCHS))
    print("| what | measured | aim |\n| --- | --- | --- |")
    count, seconds_of_features = news_features()
    print(f"| {count} features of news, 20,000 users x 50 candidates | {seconds_of_features:.1f} s | < 5 s for 20 |")
    print(f"| one fit of linear, 1,000,000 x 20 in 20,000 groups | {seconds:.2f} s, {gigabytes:.2f} GB | < 3 s, 1 GB |")
    print(f"| norm of its gradient | {norm:.1e} | 1e-06 |")
    print(f"| the same with bootstrap intervals of the weights | {with_intervals:.2f} s | |")
    print(f"| from the standardised table to the optimum, by L-BFGS | {minimum:.2f} s | |")
    print(f"| a Python loop over groups, {EPOCHS} epochs of gradient descent | {slow:.1f} s | |")
    print(f"| L-BFGS against the loop | {slow / minimum:.0f} times | >= 100 times |")
    print(f"| the whole fit against the loop | {slow / seconds:.0f} times | |")
    print(f"| optimizer=gd, {EPOCHS} epochs, against the loop | {descent:.2f} s, {slow / descent:.0f} times | |")
    print(f"| largest difference of the weights of gd and the loop | {np.abs(ours - theirs).max():.1e} | 0 |")


if __name__ == "__main__":
    main()
