"""SLIM beside scikit-learn's elastic net, column by column: `python benchmarks/run.py slim`.

Both minimise the same function on the same clicks of ml-100k, once each, with the settings of `retriever=slim`, and are
judged by the last event of every user, all items ranked. Times are those of the fits, the medians of three in turn. On
Beauty, with seven times as many items, only recx's own is fitted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from ials import CASES, ndcg_and_hit
from run import DATA
from scipy import sparse
from sklearn.linear_model import ElasticNet

import recx
from recx.core.system.threads import one_blas_thread
from recx.core.types import Fold, Interactions
from recx.parts.retriever.slim import SLIM
from recx.parts.shared.item_weights import ItemWeights, distinct_clicks

ROUNDS = 3
K = 10


def figures() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of both data sets."""
    for name, beside in (("ml-100k", True), ("beauty", False)):
        path = DATA / CASES[name].file
        if not path.is_file():
            yield name, "not measured", f"no {path}"
            continue
        chain = ("retriever=popularity", "ranker=identity", "tracker=console", "cache=off")
        fold = recx.run([*CASES[name].words, f"dataset.path={path}", *chain]).split.fold
        yield from of_fold(name, fold, beside=beside)


def of_fold(name: str, fold: Fold, *, beside: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a fold, with scikit-learn's beside recx's own if asked for."""
    settings = SLIM()
    settings.fit(fold.history)  # compiles, or loads what was compiled before
    seconds: dict[str, list[float]] = {"own": [], "other": []}
    for _ in range(ROUNDS):
        start = time.perf_counter()
        own = settings.fit(fold.history)
        seconds["own"].append(time.perf_counter() - start)
        if beside:
            start = time.perf_counter()
            other = elastic_nets(settings, fold.history)
            seconds["other"].append(time.perf_counter() - start)
    yield f"{name}: slim: ndcg_at_10, hit_at_10; fit", _text(own, fold, seconds["own"]), ""
    if beside:
        what = f"{name}: scikit-learn's ElasticNet, positive, one thread: the same"
        yield what, _text(other, fold, seconds["other"]), ""
        apart = abs(own.weights - other.weights).max()
        yield f"{name}: slim, largest difference of a weight from scikit-learn's", f"{apart:.1e}", ""


def elastic_nets(of: SLIM, history: Interactions) -> ItemWeights:
    """Return the weights found by scikit-learn, which divides the squared error by the number of users."""
    clicks, n_users = distinct_clicks(history), history.n_users
    ones, shape = np.ones(len(clicks.item)), (n_users, history.n_items)
    matrix = sparse.csc_array(sparse.csr_array((ones, clicks.item, clicks.indptr.astype(np.int32)), shape=shape))
    alpha = (of.l1 + of.l2) / n_users
    net = ElasticNet(
        alpha=alpha, l1_ratio=of.l1 / (of.l1 + of.l2), positive=True, fit_intercept=False, max_iter=1000, tol=1e-6
    )
    columns = []
    with one_blas_thread():
        for item in range(history.n_items):
            entries = slice(matrix.indptr[item], matrix.indptr[item + 1])
            target = np.zeros(n_users)
            target[matrix.indices[entries]] = 1
            kept: Any = matrix.data[entries].copy()
            matrix.data[entries] = 0  # the item itself explains nothing
            columns.append(sparse.csc_array(net.fit(matrix, target).coef_[:, None]) if len(kept) else None)
            matrix.data[entries] = kept
    nothing = sparse.csc_array((history.n_items, 1))
    table = sparse.hstack([nothing if column is None else column for column in columns], format="csr")
    return ItemWeights("retriever=slim", sparse.csr_array(table.astype(np.float32)), of.seen)


def _text(fitted: ItemWeights, fold: Fold, seconds: list[float]) -> str:
    lists = fitted.retrieve(fold.history, fold.requests, K)
    ndcg, hit = ndcg_and_hit(lists, fold)
    return f"{ndcg:.4f}, {hit:.4f}; {statistics.median(seconds):.2f} s"
