"""iALS beside implicit's ALS: `python benchmarks/run.py ials`, with a Python that has implicit.

Both learn from the same clicks, once each, and are judged by the last event of every user, all items ranked; the lists
are made from implicit's vectors by the same rules as from recx's own. The settings of both were chosen on `fold=valid`.
Figures are means over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from run import DATA
from scipy import sparse

import recx
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
    yield _row(f"{name}: ials ({_text(case.own)})", "implicit's", fold, lambda seed: _own(fold, seed, case.own))
    other = f"{name}: implicit's ALS ({_text(case.other)})"
    yield _row(other, "", fold, lambda seed: _of_implicit(fold, seed, case.other))


def _row(what: str, aim: str, fold: Fold, lists_of: Callable[[int], RankedLists]) -> tuple[str, str, str]:
    found = np.array([_ndcg_and_hit(lists_of(seed), fold) for seed in SEEDS])
    values = ", ".join(f"{value:.4f}" for value in found.mean(axis=0))
    return f"{what}, mean of three seeds: ndcg_at_10, hit_at_10", values, aim


def _own(fold: Fold, seed: int, settings: dict[str, Any]) -> RankedLists:
    return IALS(seed=seed, **settings).fit(fold.history).retrieve(fold.history, fold.requests, K)


def _of_implicit(fold: Fold, seed: int, settings: dict[str, Any]) -> RankedLists:
    from implicit.als import AlternatingLeastSquares

    history, clicks = fold.history, distinct_clicks(fold.history)
    ones, shape = np.ones(len(clicks.item), dtype=np.float32), (history.n_users, history.n_items)
    model = AlternatingLeastSquares(random_state=seed, **settings)
    model.fit(sparse.csr_matrix((ones, clicks.item, clicks.indptr), shape=shape), show_progress=False)
    known = np.flatnonzero(history.clicks)
    vectors = model.item_factors[known].T
    return top_k(
        lambda some: OfItems(model.user_factors[some.user] @ vectors, known), history, fold.requests, K, "drop"
    )


def _ndcg_and_hit(lists: RankedLists, fold: Fold) -> tuple[float, float]:
    """Return the figures of lists with one right item each."""
    assert fold.target is not None
    rank = np.arange(len(lists)) - lists.indptr[lists.list_of_row]
    hit = lists.item == fold.target.item[lists.list_of_row]
    n = len(fold.requests)
    return float((hit / np.log2(rank + 2)).sum() / n), float(hit.sum() / n)


def _text(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in settings.items())
