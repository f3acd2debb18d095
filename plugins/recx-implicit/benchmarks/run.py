"""``als``, ``bpr`` and ``lmf`` beside implicit's own models, the README's table: ``python benchmarks/run.py [DATA]``.

The data is in RECX_DATA, or in ../shared/data next to recx's checkout. implicit's own models are fitted without recx on
the same events with the same settings, seed and threads (OMP_NUM_THREADS, else all cores), and judged by recx's
definitions. Both begin with the arrays of the history, so that each makes its matrix; both end with the lists of all
requests. They take turns, and every second turn implicit is first. Each ratio is the median of the turns' own: of the
seconds and of the processor time of fit and lists, and of the processor time of the lists alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from scipy import sparse

from recx.config.compose import compose, plain
from recx.experiment.build import plan
from recx.plugin import Interactions, RankedLists, Requests, available, indptr_of, one_blas_thread

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
HEAD = """\
| data | retriever | ndcg_at_10 | implicit's own | hit_at_10 | implicit's own | time | processor time | of the lists |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
NDCG, HIT = "end_to_end/ndcg_at_10", "end_to_end/hit_at_10"
K = 100
TURNS = 7
T = TypeVar("T")


class Cost(NamedTuple):
    """What fit and lists took: seconds, processor time, and the processor time of the lists alone."""

    seconds: float
    processor: float
    lists: float


def run(*overrides: str) -> Any:
    """Run an experiment with a retriever alone, without files and tracking."""
    config = plain(compose([*overrides, "ranker=identity", "tracker=console", "cache=off", f"n_candidates={K}"]))
    return plan(config).experiment.run()


def timed(fit: Callable[[], T], lists_of: Callable[[T], RankedLists]) -> tuple[Cost, RankedLists]:
    """Return what a fit and its lists cost, and the lists."""
    start, busy = time.perf_counter(), time.process_time()
    fitted = fit()
    between = time.process_time()
    lists = lists_of(fitted)
    end = time.process_time()
    return Cost(time.perf_counter() - start, end - busy, end - between), lists


class Own:
    """implicit's own model, with the settings of a retriever of recx."""

    def __init__(self, option: str, settings: Any, history: Interactions) -> None:
        names = ("factors", "regularization", "alpha", "learning_rate", "iterations")
        named = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
        users, self.items = np.flatnonzero(history.lengths), np.flatnonzero(history.clicks)
        self.row, column = np.cumsum(history.lengths > 0) - 1, np.cumsum(history.clicks > 0) - 1
        pairs = (self.row[history.user], column[history.item])
        ones = np.ones(len(history), np.float32)
        self.matrix = sparse.csr_matrix((ones, pairs), (len(users), len(self.items)))
        self.matrix.data[:] = 1
        threads = 1 if getattr(settings, "reproducible", False) else available()
        with one_blas_thread():
            self.model = MODELS[option](**named, random_state=settings.seed, num_threads=threads)
            self.model.fit(self.matrix, show_progress=False)

    def lists(self, requests: Requests) -> RankedLists:
        """Return the lists of all requests."""
        self.model.num_threads = available()
        asked = self.row[requests.user]
        with one_blas_thread():
            item, score = self.model.recommend(asked, self.matrix[asked], K)
        found = self.items[item].astype(np.int32)
        return RankedLists(requests.user, indptr_of(np.full(len(asked), K)), found.ravel(), score.ravel())


def line(data: str, option: str, words: list[str]) -> str:
    """Return the row of a retriever and of implicit's own model."""
    result = run(*SETS[data], f"retriever={option}", *words)
    retriever, fold, found = result.experiment.retriever, result.split.fold, result.metrics
    history, requests = fold.history, fold.requests

    def ours() -> tuple[Cost, RankedLists]:
        return timed(lambda: retriever.fit(history), lambda fitted: fitted.retrieve(history, requests, K))

    def theirs() -> tuple[Cost, RankedLists]:
        return timed(lambda: Own(option, retriever, history), lambda own: own.lists(requests))

    ratios = []
    for turn in range(TURNS):
        if turn % 2:
            (other, lists), (one, _) = theirs(), ours()
        else:
            (one, _), (other, lists) = ours(), theirs()
        ratios.append([mine / its for mine, its in zip(one, other, strict=True)])
    own = result.experiment.evaluator.evaluate(lists, lists, fold).means
    figures = [f"{means[name]:.4f}" for name in (NDCG, HIT) for means in (found, own)]
    quotients = [f"{median(column):.2f}" for column in zip(*ratios, strict=True)]
    settings = f" `{' '.join(word.removeprefix('retriever.') for word in words)}`" if words else ""
    return f"| {data} | {option}{settings} | {' | '.join(figures + quotients)} |"


def main() -> None:
    """Print a table with a row per data set and retriever."""
    if unknown := set(sys.argv[1:]) - set(SETS):
        sys.exit(f"no such data: {', '.join(sorted(unknown))}; choose from {', '.join(SETS)}")
    print(HEAD)
    for data, where in SETS.items():
        if sys.argv[1:] and data not in sys.argv[1:]:
            continue
        knn = run(*where, "retriever=item_knn").metrics
        for option in MODELS:
            print(line(data, option, []), flush=True)
            if chosen := CHOSEN.get((data, option)):
                print(line(data, option, [f"retriever.{name}={value}" for name, value in chosen.items()]), flush=True)
        print(f"| {data} | item_knn | {knn[NDCG]:.4f} | | {knn[HIT]:.4f} | | | | |", flush=True)


if __name__ == "__main__":
    main()
