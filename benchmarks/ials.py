"""iALS beside implicit's ALS: `python benchmarks/run.py ials`, with a Python that has implicit.

Both learn from the same clicks, once each, and are judged by the last event of every user, all items ranked; the lists
are made from implicit's vectors by the same rules as from recx's own. The settings of both were chosen on `fold=valid`.
Figures are means over the seeds; times are medians of the fits with the lists of all requests, the two in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from run import DATA
from scipy import sparse

import recx
from recx.core.system.threads import available, one_blas_thread
from recx.core.types import Fold, RankedLists
from recx.parts.retriever.ials import IALS
from recx.parts.shared.item_weights import distinct_clicks
from recx.parts.shared.top_k import OfItems, top_k

SEEDS = (0, 1, 2)
K = 10


class Case(NamedTuple):
    """A data set with the settings of both: words that choose it, file, recx's settings, implicit's."""

    words: tuple[str, ...]
    file: str
    own: dict[str, Any]
    other: dict[str, Any]


CASES = {
    "ml-100k": Case(
        ("+experiment=table", "dataset=recbole"),
        "ml-100k/ml-100k.inter.gz",
        {"factors": 32, "unobserved": 1.0},
        {"factors": 32, "alpha": 1.0},
    ),
    "beauty": Case(
        ("+experiment=sequences",),
        "beauty/Beauty.txt.gz",
        {"factors": 256, "unobserved": 0.03, "l2": 0.001, "iterations": 8},
        {"factors": 256, "alpha": 30.0, "regularization": 10.0},
    ),
}


def figures() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of all data sets."""
    for name in CASES:
        yield from of_data(name)


def of_data(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of one data set."""
    case = CASES[name]
    path = DATA / case.file
    if not path.is_file():
        yield name, "not measured", f"no {path}"
        return
    chain = ("retriever=popularity", "ranker=identity", "tracker=console", "cache=off")
    fold = recx.run([*case.words, f"dataset.path={path}", *chain]).split.fold
    found: dict[str, list[tuple[float, float, float]]] = {"own": [], "other": []}
    _own(fold, SEEDS[0], case.own)  # compiles, or loads what was compiled before
    for seed in SEEDS:  # in turn, so that both have the same machine
        for side, make, settings in (("own", _own, case.own), ("other", _of_implicit, case.other)):
            start = time.perf_counter()
            lists = make(fold, seed, settings)
            seconds = time.perf_counter() - start
            found[side].append((*ndcg_and_hit(lists, fold), seconds))
    yield _row(f"{name}: ials ({_text(case.own)})", "implicit's", found["own"])
    yield _row(f"{name}: implicit's ALS ({_text(case.other)})", "", found["other"])


def _row(what: str, aim: str, found: list[tuple[float, float, float]]) -> tuple[str, str, str]:
    ndcg, hit, _ = np.mean(found, axis=0)
    seconds = statistics.median(one[2] for one in found)
    what = f"{what}, mean of three seeds: ndcg_at_10, hit_at_10; fit and lists"
    return what, f"{ndcg:.4f}, {hit:.4f}; {seconds:.2f} s", aim


def _own(fold: Fold, seed: int, settings: dict[str, Any]) -> RankedLists:
    return IALS(seed=seed, **settings).fit(fold.history).retrieve(fold.history, fold.requests, K)


def _of_implicit(fold: Fold, seed: int, settings: dict[str, Any]) -> RankedLists:
    from implicit.als import AlternatingLeastSquares

    history, clicks = fold.history, distinct_clicks(fold.history)
    ones, shape = np.ones(len(clicks.item), dtype=np.float32), (history.n_users, history.n_items)
    with one_blas_thread():
        model = AlternatingLeastSquares(random_state=seed, num_threads=available(), **settings)
        model.fit(sparse.csr_matrix((ones, clicks.item, clicks.indptr), shape=shape), show_progress=False)
    known = np.flatnonzero(history.clicks)
    vectors = model.item_factors[known].T
    return top_k(
        lambda some: OfItems(model.user_factors[some.user] @ vectors, known), history, fold.requests, K, "drop"
    )


def ndcg_and_hit(lists: RankedLists, fold: Fold) -> tuple[float, float]:
    """Return the figures of lists with one right item each."""
    assert fold.target is not None
    rank = np.arange(len(lists)) - lists.indptr[lists.list_of_row]
    hit = lists.item == fold.target.item[lists.list_of_row]
    n = len(fold.requests)
    return float((hit / np.log2(rank + 2)).sum() / n), float(hit.sum() / n)


def _text(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in settings.items())
