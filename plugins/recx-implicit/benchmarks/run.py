"""``als``, ``bpr`` and ``lmf`` beside implicit's own models and ``item_knn``: ``python benchmarks/run.py [DATA]``.

The data is in RECX_DATA, or in ../shared/data next to recx's checkout. implicit's own models are fitted on the same
history with the same settings and threads, without recx, and judged by recx's definitions. A time is that of the fit
and the lists of all requests: the medians of five of each, in turn, and of the five quotients.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from scipy import sparse

from recx.config.compose import compose, plain
from recx.experiment.build import plan
from recx.plugin import Array, RankedLists, available, indptr_of, one_blas_thread

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
SETS = {
    "ml-100k": ("+experiment=table", "dataset=recbole", f"dataset.path={DATA / 'ml-100k' / 'ml-100k.inter.gz'}"),
    "beauty": ("+experiment=sequences", f"dataset.path={DATA / 'beauty' / 'Beauty.txt.gz'}"),
}
CHOSEN: dict[tuple[str, str], dict[str, float]] = {
    ("ml-100k", "als"): {"factors": 32},
    ("beauty", "als"): {"factors": 256, "alpha": 10, "regularization": 1},
    ("beauty", "bpr"): {"learning_rate": 0.05},
}
"""Data and option -> settings chosen on fold=valid, where they beat the defaults."""
MODELS = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking, "lmf": LogisticMatrixFactorization}
NDCG, HIT = "end_to_end/ndcg_at_10", "end_to_end/hit_at_10"
K = 100
ROUNDS = 5
T = TypeVar("T")


def run(*overrides: str) -> Any:
    """Run an experiment with a retriever alone, without files and tracking."""
    config = plain(compose([*overrides, "ranker=identity", "tracker=console", "cache=off", f"n_candidates={K}"]))
    return plan(config).experiment.run()


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of a computation, and its result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def own_lists(option: str, result: Any) -> tuple[Array, Array, Array]:
    """Return users, items and scores of implicit's own model, fitted with the settings of recx's."""
    settings, fold = result.experiment.retriever, result.split.fold
    named = {
        name: getattr(settings, name)
        for name in ("factors", "regularization", "alpha", "learning_rate", "iterations")
        if hasattr(settings, name)
    }
    history = fold.history
    users, items = np.flatnonzero(history.lengths), np.flatnonzero(history.clicks)
    column = np.cumsum(history.clicks > 0) - 1
    row = np.cumsum(history.lengths > 0) - 1
    shape = (len(users), len(items))
    matrix = sparse.csr_matrix((np.ones(len(history), np.float32), (row[history.user], column[history.item])), shape)
    matrix.data[:] = 1
    threads = 1 if getattr(settings, "reproducible", False) else available()
    with one_blas_thread():
        model = MODELS[option](**named, random_state=settings.seed, num_threads=threads)
        model.fit(matrix, show_progress=False)
        model.num_threads = available()
        asked = row[fold.requests.user]
        item, score = model.recommend(asked, matrix[asked], K)
    return fold.requests.user, items[item].astype(np.int32), score


def line(data: str, option: str, words: list[str]) -> str:
    """Return the figures and times of a retriever and of implicit's own model."""
    result = run(*SETS[data], f"retriever={option}", *words)
    retriever, fold, found = result.experiment.retriever, result.split.fold, result.metrics
    pairs = []
    for _ in range(ROUNDS):
        seconds, _lists = timed(lambda: retriever.fit(fold.history).retrieve(fold.history, fold.requests, K))
        own_seconds, (user, item, score) = timed(lambda: own_lists(option, result))
        pairs.append((seconds, own_seconds))
    seconds, own_seconds = (median(column) for column in zip(*pairs, strict=True))
    quotient = median(one / other for one, other in pairs)
    lists = RankedLists(user, indptr_of(np.full(len(user), K)), item.ravel(), score.ravel())
    own = result.experiment.evaluator.evaluate(lists, lists, fold).means
    return (
        f"{data} {' '.join([option, *words])}: ndcg_at_10 {found[NDCG]:.4f}, implicit's own {own[NDCG]:.4f}, "
        f"hit_at_10 {found[HIT]:.4f}, {own[HIT]:.4f}, {seconds:.2f} s, {own_seconds:.2f} s, {quotient:.3f} times"
    )


def main() -> None:
    """Print one line per data set and retriever."""
    if unknown := set(sys.argv[1:]) - set(SETS):
        sys.exit(f"no such data: {', '.join(sorted(unknown))}; choose from {', '.join(SETS)}")
    for data, where in SETS.items():
        if sys.argv[1:] and data not in sys.argv[1:]:
            continue
        knn = run(*where, "retriever=item_knn").metrics
        print(f"{data} item_knn: ndcg_at_10 {knn[NDCG]:.4f}, hit_at_10 {knn[HIT]:.4f}")
        for option in MODELS:
            print(line(data, option, []))
            if chosen := CHOSEN.get((data, option)):
                print(line(data, option, [f"retriever.{name}={value}" for name, value in chosen.items()]))


if __name__ == "__main__":
    main()
