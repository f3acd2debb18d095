"""What 300 thousand, a million and 5 million users cost: `python benchmarks/run.py million events`.

Clicks are made up: items in clusters, heavy tails, three clusters a user. With
IMPLICIT_PYTHON, the path of a Python that has implicit and pandas, its item-kNN is measured on the same clicks.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from run import HERE, Cost, run

Row = tuple[str, str, str]
TABLE = ("dataset.user=user", "dataset.item=item", "dataset.time=time", "dataset.time_unit=s", "cache=off")
ALONE = ("retriever=item_knn", "ranker=identity")


def clicks(users: int, items: int, events: int) -> pd.DataFrame:
    """Return about as many clicks as asked for, in no order: user, item, time in seconds."""
    rng = np.random.default_rng(0)
    n_clusters = max(10, items // 100)
    length = np.maximum(3, rng.geometric(users / events, users))
    user = np.repeat(np.arange(users), length)
    n = len(user)
    home = rng.integers(0, n_clusters, (users, 3))
    cluster = home[user, rng.integers(0, 3, n)]
    cluster = np.where(rng.random(n) < 0.2, rng.integers(0, n_clusters, n), cluster)
    within = (rng.pareto(1.1, n) * 3).astype(np.int64) % (items // n_clusters)
    item = cluster * (items // n_clusters) + within
    start = rng.integers(0, 60 * 86_400, users)
    time = 1_700_000_000 + start[user] + rng.integers(0, 30 * 86_400, n)
    made = pd.DataFrame({"user": user, "item": item, "time": time})
    return made.iloc[rng.permutation(n)].reset_index(drop=True)


@contextmanager
def file_of(users: float, items: float, events: float) -> Iterator[Path]:
    """Yield a Parquet file of such clicks, which goes with the context."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.parquet"
        clicks(int(users), int(items), int(events)).to_parquet(path)
        yield path


def chain(path: Path, *overrides: str) -> Cost:
    """Return the cost of ``+experiment=table`` on a file."""
    return run("+experiment=table", f"dataset.path={path}", *TABLE, *overrides)


def figures() -> Iterator[Row]:
    """Item-kNN and the default chain on 300 thousand and on a million users."""
    with file_of(3e5, 1.5e5, 6e6) as path:
        name, whole = "300,000 users, 141,000 items, 6 million clicks", chain(path)
        yield f"{name}: union + linear, whole command", _cost(whole), "120 s, 3 GB"
        one = chain(path, "runtime.threads=1")
        chosen = ("time/retrieve", "time/rank")
        ratio = sum(one.metrics[name] for name in chosen) / sum(whole.metrics[name] for name in chosen)
        yield f"{name}: retrieve + rank, one thread over all", f"{ratio:.2f} times", ">= 1.7 times on two cores"
    with file_of(1e6, 5e5, 2e7) as path:
        name, alone = "1 million users, 470,000 items, 20 million clicks", chain(path, *ALONE)
        yield f"{name}: item_knn + identity, whole command", _cost(alone), "4.5 GB"
        yield f"{name}: item_knn, recall_at_100", f"{alone.metrics['funnel/candidate_recall']:.4f}", ">= 0.296"
        seconds = alone.metrics["time/fit_retriever"] + alone.metrics["time/retrieve"]
        yield f"{name}: item_knn, fit and retrieve", f"{seconds:.0f} s", ""
        if python := os.environ.get("IMPLICIT_PYTHON"):
            command = [python, str(HERE / "scale_implicit.py"), str(path)]
            peer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            peers = peer["fit"] + peer["recommend"]
            yield f"{name}: implicit {peer['version']}, fit and recommend", f"{peers:.0f} s", ""
            yield f"{name}: item_knn over implicit", f"{seconds / peers:.2f} times", "<= 0.5 times"
        yield f"{name}: union + linear, whole command", _cost(chain(path)), "480 s, 6 GB"


def largest() -> Iterator[Row]:
    """Lists for 100,000 of 5 million users; making the clicks takes as much memory as the command."""
    with file_of(5e6, 1e6, 1e8) as path:
        whole = chain(path, "split.max_users=100000", "ranker=identity")
        size = f"5 million users, {whole.metrics['data/items']:,.0f} items, {whole.metrics['data/events']:,.0f} clicks"
        yield f"{size}: popularity + item_knn, 100,000 requests, whole command", _cost(whole), "720 s, 12 GB"


def _cost(cost: Cost) -> str:
    return f"{cost.seconds:.0f} s, {cost.gigabytes:.2f} GB"
