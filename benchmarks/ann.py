"""Nearest neighbours at scale: recall, speed, memory and building time of exact and approximate indexes.

`python benchmarks/run.py ann`, or `python benchmarks/ann.py ITEMS SPREAD INDEX EF_CONSTRUCTION [NAME=VALUE,...]...` for
one index and some settings of its search, as JSON. Items lie in Gaussian clusters of about 100 (64 numbers each),
requests are items with noise, and what a user has seen, ten items of the cluster, is dropped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from evaluation import resident
from run import HERE

from recx.core.ann_recall import SHORT, ann_recalls
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Interactions, Requests
from recx.parts.shared.nearest import Search, neighbours
from recx.parts.shared.vectors import unit

Row = tuple[str, str, str]
LENGTH, CLUSTER, SEEN, K, NOISE = 64, 100, 10, 100, 0.3
ITEMS, REQUESTS, EXACT_REQUESTS = 1_000_000, 100_000, 1_000
CASES: dict[tuple[float, str, int], tuple[str, ...]] = {
    (0.5, "HNSW32", 100): ("ef_search=128", "ef_search=200"),
    (0.5, "IVF8192,Flat", 100): ("nprobe=8", "nprobe=16", "nprobe=32"),
    (0.5, "IVF8192,PQ32", 100): ("nprobe=16", "nprobe=16,fetch=4"),
    (0.5, "Flat", 100): ("",),
    (1.0, "HNSW32", 100): ("ef_search=200", "ef_search=400"),
    (1.0, "HNSW32_SQ8", 200): ("ef_search=200", "ef_search=300", "ef_search=400"),
    (1.0, "IVF8192,Flat", 100): ("nprobe=64", "nprobe=512"),
}
"""The spread within a cluster, over that of the clusters, index and ``ef_construction`` -> settings of its searches."""


class World(NamedTuple):
    """Items, and what is asked.

    Attributes:
        items: Their vectors [n_items, LENGTH].
        query: A vector for each request [n_requests, LENGTH].
        history: What the users have seen.
        requests: One for every user.
    """

    items: Floats
    query: Floats
    history: Interactions
    requests: Requests


def world(n_items: int, n_requests: int, spread: float) -> World:
    """Return items in clusters, and requests near one of them; all is drawn with one seed."""
    rng = np.random.default_rng(0)
    cluster = np.sort(rng.integers(0, max(1, n_items // CLUSTER), n_items))
    first, size = np.searchsorted(cluster, cluster), np.bincount(cluster)[cluster]
    centre = rng.standard_normal((cluster[-1] + 1, LENGTH), np.float32)
    items = centre[cluster] + np.float32(spread) * rng.standard_normal((n_items, LENGTH), np.float32)
    near = rng.integers(0, n_items, n_requests)
    query = unit(items[near] + np.float32(NOISE) * rng.standard_normal((n_requests, LENGTH), np.float32))
    seen = first[near, None] + rng.integers(0, size[near, None], (n_requests, SEEN))
    seen[:, 0] = near
    indptr, weight = indptr_of(np.full(n_requests, SEEN)), np.ones(n_requests * SEEN, dtype=np.float32)
    users, catalogue = Entities(np.arange(n_requests)), Entities(np.arange(n_items))
    history = Interactions(indptr, seen.ravel().astype(np.int32), None, weight, users, catalogue)
    return World(unit(items), query, history, Requests(np.arange(n_requests, dtype=np.int32)))


def measured(n_items: int, spread: float, search: Search, searches: list[str]) -> list[dict[str, float]]:
    """Return the figures of one index: those of the building, and of each search with other settings."""
    asked = world(n_items, EXACT_REQUESTS if search.index == "Flat" else REQUESTS, spread)
    before, start = resident(), time.perf_counter()
    near = neighbours(asked.items, search)
    built = {"build": time.perf_counter() - start, "gigabytes": resident() - before}
    few = asked.requests[:200]
    near.lists(asked.query[:200], asked.history, few, K, "drop")  # kernels are loaded
    found = []
    for settings in searches:
        values = {name: int(value) for name, value in (pair.split("=") for pair in settings.split(",") if pair)}
        chosen = replace(search, recall_sample=0, **values)
        width = {name: getattr(chosen, name) for name in ("nprobe", "ef_search")}
        ready = replace(near, search=chosen, index=near.index and replace(near.index, **width))
        start, processor = time.perf_counter(), time.process_time()
        lists = ready.lists(asked.query, asked.history, asked.requests, K, "drop")
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        sampled = replace(ready, search=replace(chosen, recall_sample=len(few)))
        sample = replace(asked.history, indptr=asked.history.indptr[: len(few) + 1])
        recall = ann_recalls(sampled.lists(asked.query[: len(few)], sample, few, K, "drop").notes)
        speed = {"per_second": len(asked.requests) / seconds, "per_processor_second": len(asked.requests) / processor}
        found.append({**built, **speed, "recall": recall.get("ann_recall", 1.0), "short": lists.notes.get(SHORT, 0)})
    return found


def figures() -> Iterator[Row]:
    """Yield the figures of every index, each in a process of its own."""
    for (spread, index, width), searches in CASES.items():
        command = [sys.executable, str(HERE / "ann.py"), str(ITEMS), str(spread), index, str(width), *searches]
        made = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for settings, one in zip(searches, made, strict=True):
            width_of = f" ef_construction={width}" if "HNSW" in index else ""
            name = f"{ITEMS:,} items, spread {spread}: {index}{width_of} {settings}".rstrip()
            figure = f"recall {one['recall']:.3f}, {one['per_second']:,.0f} requests/s"
            cost = f"built in {one['build']:.0f} s, {one['gigabytes']:.2f} GB"
            aim = "0.95, 2,000 requests/s" if index.startswith("HNSW") else ""
            yield name, f"{figure}, {cost}, {one['short']:,.0f} compared with every item", aim


if __name__ == "__main__":
    count, spread, index, width, *searches = sys.argv[1:]
    search = Search(index, ef_construction=int(width))
    print(json.dumps(measured(int(float(count)), float(spread), search, searches or [""])))
