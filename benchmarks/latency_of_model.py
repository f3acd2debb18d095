"""Measures the time of one request to a model: `python benchmarks/latency_of_model.py RUN`.

One user at a time is asked for, known ones, then the same with their events given anew, then among 50 allowed items.
Prints one Markdown table. Run it on a machine that does nothing else: on a busy one, it measures the others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from recx import load_model
from recx.experiment.model.model import Model

REQUESTS, WARM = 1000, 50
AIM = "3 ms, 10 ms"


def measured(model: Model) -> Iterator[tuple[str, str, str]]:
    """Yield (what, p50 and p99, aim), row by row."""
    history = model.known.history
    started = time.perf_counter()
    users = np.flatnonzero(history.lengths)
    chosen = np.random.default_rng(0).choice(users, min(REQUESTS + WARM, len(users)), replace=False)
    ids = history.users.ids[chosen].tolist()
    model.recommend(ids[:1])
    yield "the first request", f"{time.perf_counter() - started:.2f} s", ""
    yield "a known user", _times(ids, lambda user: model.recommend([user])), AIM
    given = [_events(model, number) for number in chosen.tolist()]
    yield "a history given anew", _times(given, lambda frame: model.recommend(history=frame)), ""
    items = history.items.ids[np.argsort(-history.clicks)[:50]].tolist()
    yield "a known user, 50 allowed items", _times(ids, lambda user: model.recommend([user], items=items)), ""


def _times(asked: Sequence[Any], ask: Callable[[Any], object]) -> str:
    taken = []
    for one in asked:
        started = time.perf_counter()
        ask(one)
        taken.append(time.perf_counter() - started)
    p50, p99 = np.quantile(taken[WARM:], (0.5, 0.99)) * 1000
    return f"{p50:.1f} ms, {p99:.1f} ms"


def _events(model: Model, user: int) -> pd.DataFrame:
    history = model.known.history
    rows = slice(int(history.indptr[user]), int(history.indptr[user + 1]))
    frame = pd.DataFrame({"user": history.users.ids[user], "item": history.items.ids[history.item[rows]]})
    return frame if history.time is None else frame.assign(time=history.time[rows])


if __name__ == "__main__":
    print("| what | p50, p99 | aim |\n| --- | --- | --- |")
    for row in measured(load_model(*sys.argv[1:2])):
        print(f"| {' | '.join(row)} |", flush=True)
