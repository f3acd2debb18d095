"""Times `recx.evaluate` against its peers on the same frames, in one process: `python benchmarks/evaluation.py NAME`.

The data: users with 50 items shown each, about 10 relevant ones of which 3 are shown, 20,000 items, 12 metrics.
The time of every library includes building its own structures. Figures are medians of several calls after a first
one that does not count (ranx compiles). Each name prints one line of JSON; `benchmarks/run.py` turns them into a table.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import recx
from recx.config import factory
from recx.config.compose import compose, plain
from recx.core.entities import Entities
from recx.core.ragged import blocks, indptr_of
from recx.core.resampling import MANY, bootstrap
from recx.core.stored_lists import StoredLists
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.blocks import Blocks
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.inputs import inputs_of
from recx.parts.shared.top_k import top_k
from recx.report.page.report_data import outcomes

SHOWN, RELEVANT, FOUND, CUTS = 50, 10, 3, (10, 50)
FIGURES = {  # recx's name -> ranx's, pytrec_eval's
    "ndcg": ("ndcg", "ndcg_cut"),
    "recall": ("recall", "recall"),
    "precision": ("precision", "P"),
    "hit": ("hit_rate", "success"),
    "map_trec": ("map", "map_cut"),
    "mrr": ("mrr", "recip_rank"),
}
METRICS = [f"{figure}_at_{k}" for figure in FIGURES for k in CUTS]


def generated(users: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return lists (scores in no order) and truth, both grouped by user, ids whole numbers."""
    rng = np.random.default_rng(seed)
    blocks = np.argsort(rng.random((users, 200)), axis=1)[:, : SHOWN + RELEVANT - FOUND]  # no item twice in a row
    item = blocks * 100 + rng.integers(0, 100, blocks.shape)
    found = np.take_along_axis(item[:, :SHOWN], np.argsort(rng.random((users, SHOWN)), axis=1)[:, :FOUND], axis=1)
    relevant = np.concatenate([found, item[:, SHOWN:]], axis=1)
    lists = {"user": np.repeat(np.arange(users), SHOWN), "item": item[:, :SHOWN].ravel()}
    truth = {"user": np.repeat(np.arange(users), RELEVANT), "item": relevant.ravel()}
    return pd.DataFrame({**lists, "score": rng.random(users * SHOWN)}), pd.DataFrame({**truth, "grade": 1})


def median(job: Callable[[], Any], times: int) -> float:
    """Return the median seconds of several calls, after one that does not count."""
    job()
    seconds = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def by_recx(lists: pd.DataFrame, truth: pd.DataFrame) -> dict[str, float]:
    return recx.evaluate(lists, truth, METRICS).means


def by_ranx(lists: pd.DataFrame, truth: pd.DataFrame) -> dict[str, float]:
    import ranx

    def text(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{column: frame[column].astype(str).astype(object) for column in ("user", "item")})

    qrels = ranx.Qrels.from_df(text(truth), q_id_col="user", doc_id_col="item", score_col="grade")
    run = ranx.Run.from_df(text(lists), q_id_col="user", doc_id_col="item", score_col="score")
    names = {f"{figure}_at_{k}": f"{theirs}@{k}" for figure, (theirs, _) in FIGURES.items() for k in CUTS}
    means = ranx.evaluate(qrels, run, list(names.values()), make_comparable=True)
    return {ours: float(means[theirs]) for ours, theirs in names.items()}


def by_pytrec_eval(lists: pd.DataFrame, truth: pd.DataFrame) -> dict[str, float]:
    import pytrec_eval

    def nested(frame: pd.DataFrame, value: str) -> dict[str, dict[str, Any]]:
        users, starts = np.unique(frame["user"].to_numpy(), return_index=True)
        stops = [*starts[1:].tolist(), len(frame)]
        items, values = frame["item"].astype(str).tolist(), frame[value].tolist()
        groups = zip(users.astype(str).tolist(), starts.tolist(), stops, strict=True)
        return {user: dict(zip(items[a:b], values[a:b], strict=True)) for user, a, b in groups}

    cuts = ",".join(str(k) for k in CUTS)
    measures = {theirs if theirs == "recip_rank" else f"{theirs}.{cuts}" for _, theirs in FIGURES.values()}
    evaluator = pytrec_eval.RelevanceEvaluator(nested(truth, "grade"), measures)
    per_user = list(evaluator.evaluate(nested(lists, "score")).values())
    return {name: float(np.mean([values[name] for values in per_user])) for name in per_user[0]}


def peers(users: int = 50_000) -> dict[str, float]:
    """Frames to means: recx (frames grouped by user, shuffled frames, its own arrays), ranx, pytrec_eval."""
    lists, truth = generated(users)
    ours, theirs, trec = by_recx(lists, truth), by_ranx(lists, truth), by_pytrec_eval(lists, truth)
    assert all(abs(ours[name] - theirs[name]) < 1e-9 for name in METRICS), "recx and ranx differ"
    assert abs(ours["ndcg_at_10"] - trec["ndcg_cut_10"]) < 1e-9, "recx and pytrec_eval differ"
    shuffled, other = lists.sample(frac=1, random_state=0), truth.sample(frac=1, random_state=0)
    found = inputs_of(lists, truth)
    target = Interactions(
        indptr=indptr_of(np.bincount(found.target_user)),
        item=found.target_item,
        time=None,
        weight=found.grade.astype(np.float32),
        users=found.history.users,
        items=found.history.items,
    )
    return {
        "frames": median(lambda: by_recx(lists, truth), 9),
        "shuffled": median(lambda: by_recx(shuffled, other), 5),
        "arrays": median(lambda: recx.evaluate(found.lists, target, METRICS).means, 15),
        "ranx": median(lambda: by_ranx(lists, truth), 3),
        "pytrec_eval": median(lambda: by_pytrec_eval(lists, truth), 5),
    }


def cost(users: int = 50_000) -> dict[str, float]:
    """Seconds of one evaluation from frames, and its peak memory above the frames and in total, in gigabytes."""
    lists, truth = generated(users)
    by_recx(lists[:SHOWN], truth[:RELEVANT])  # imports do not count
    gc.collect()
    with highest_memory() as peak:
        before = resident()
        start = time.perf_counter()
        by_recx(lists, truth)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "above_input": peak[0] - before, "whole": peak[0]}


def wide(users: int = 13_000, shown: int = 100, items: int = 25_000) -> dict[str, float]:
    """Seconds and total memory of map_at_10 over long lists of a large catalogue."""
    rng = np.random.default_rng(0)
    item = rng.integers(0, items // shown, (users, shown)) + np.arange(shown) * (items // shown)  # no duplicates
    lists = {"user": np.repeat(np.arange(users), shown), "item": item.ravel(), "score": rng.random(users * shown)}
    truth = {"user": np.repeat(np.arange(users), 5), "item": rng.integers(0, items, users * 5)}
    with highest_memory() as peak:
        start = time.perf_counter()
        recx.evaluate(pd.DataFrame(lists), pd.DataFrame(truth), ["map_at_10"])
        return {"seconds": time.perf_counter() - start, "whole": peak[0]}


def full_ranking(users: int = 50_000, items: int = 50_000, dims: int = 32) -> dict[str, float]:
    """Seconds and total memory of ranking every item for every user by a dot product, and evaluating the first 10."""
    rng = np.random.default_rng(0)
    of_user, of_item = (rng.normal(size=(n, dims)).astype(np.float32) for n in (users, items))
    target = Interactions(
        indptr=np.arange(users + 1),
        item=rng.integers(0, items, users).astype(np.int32),
        time=None,
        weight=np.ones(users, dtype=np.float32),
        users=Entities(np.arange(users)),
        items=Entities(np.arange(items)),
    )
    nothing = target.keep(np.zeros(users, dtype=bool))
    requests = Requests(np.arange(users, dtype=np.int32))
    with highest_memory() as peak:
        start = time.perf_counter()
        lists = top_k(lambda block: of_user[block.user] @ of_item.T, nothing, requests, 10, "keep")
        recx.evaluate(lists, target, ["recall_at_10"])
        return {"seconds": time.perf_counter() - start, "whole": peak[0]}


def stored(users: int = 1_000_000, shown: int = 100, items: int = 500_000) -> dict[str, float]:
    """Seconds and memory of judging lists in temporary files with the default metrics, and for the page."""
    rng = np.random.default_rng(0)
    of_user, of_item = Entities(np.arange(users)), Entities(np.arange(items))
    wanted = rng.integers(0, items, users).astype(np.int32)
    target = Interactions(np.arange(users + 1), wanted, None, np.ones(users, np.float32), of_user, of_item)
    fold = Fold(target.keep(np.zeros(users, dtype=bool)), target, Requests(np.arange(users, dtype=np.int32)))
    candidates, recommendations = StoredLists(), StoredLists()
    for start, stop in blocks(users, 10_000):
        n = stop - start
        item = (rng.integers(0, items // shown, (n, shown)) + np.arange(shown) * (items // shown)).astype(np.int32)
        found = np.flatnonzero(rng.random(n) < 0.3)
        item[found, wanted[start:stop][found] // (items // shown)] = wanted[start:stop][
            found
        ]  # no item twice in a list
        score = np.tile(np.linspace(1, 0, shown, dtype=np.float32), n)
        some = fold.requests.user[start:stop], np.arange(n + 1) * shown
        candidates.add(RankedLists(*some, item.ravel(), score))
        recommendations.add(RankedLists(*some, rng.permuted(item, axis=1).ravel(), score))
    lists = [candidates.lists(), recommendations.lists()]
    evaluator = factory.build(plain(compose(["evaluator=default", "n_candidates=100"]))["evaluator"], "evaluator")
    with highest_memory() as peak:
        before, start_at = resident(), time.perf_counter()
        evaluator.evaluate(*lists, fold)
        outcomes(Blocks(GroundTruth.of(fold), lists), 10)
        return {"seconds": time.perf_counter() - start_at, "above_input": peak[0] - before, "whole": peak[0]}


def resampling() -> dict[str, float]:
    """Seconds of the intervals of 12 metrics: of the most users that are drawn 10,000 times, and of a million."""
    rng = np.random.default_rng(0)
    users = {"drawn": MANY - 1, "approximated": 1_000_000}
    return {name: median(partial(bootstrap, rng.random((n, 12)), resamples=10_000), 1) for name, n in users.items()}


def resident() -> float:
    """Return the gigabytes that this process holds now (Linux), or its peak (elsewhere)."""
    statm = Path("/proc/self/statm")
    if statm.is_file():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


@contextmanager
def highest_memory() -> Iterator[list[float]]:
    """Watch the memory of this process from a thread; the first entry is the peak so far."""
    peak, done = [resident()], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


JOBS: dict[str, Callable[[], dict[str, float]]] = {
    "peers": peers,
    "cost": cost,
    "million": lambda: cost(1_000_000),
    "bootstrap": resampling,
    "stored": stored,
    "wide": wide,
    "full_ranking": full_ranking,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]]()))
