"""The analysis of an online test with a million rows. `python benchmarks/run.py online_test`.

A row is an item that was shown: lists of 10, by users who differ in how often they click. The log is a Parquet file.
Another one has a million lists of 10 items, a row a list, as a table in memory. A first test, which loads what is
needed, does not count.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import recx

LENGTH = 10


def made_up(users: int, lists: int) -> dict[str, np.ndarray]:
    """Return user, arm [lists], items and clicks [lists, 10]."""
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(users, size=lists))
    arm = np.where(rng.integers(2, size=users) == 1, "B", "A")[user]
    items = np.argsort(rng.random((lists, LENGTH), dtype=np.float32), axis=1)
    return {
        "user": user,
        "arm": arm,
        "items": items,
        "clicked": rng.random(items.shape) < rng.beta(1, 9, users)[user, None],
    }


def by_item(users: int, lists: int) -> pa.Table:
    """Return a log with a row an item."""
    log = made_up(users, lists)
    of = {name: np.repeat(log[name], LENGTH) for name in ("user", "arm")}
    of |= {"list": np.repeat(np.arange(lists), LENGTH), "position": np.tile(np.arange(1, LENGTH + 1), lists)}
    return pa.table({**of, "item": log["items"].ravel(), "clicked": log["clicked"].ravel()})


def by_list(users: int, lists: int) -> pa.Table:
    """Return a log with a row a list."""
    log = made_up(users, lists)
    borders = np.append(0, np.cumsum(log["clicked"].sum(axis=1))).astype(np.int32)
    shown = pa.ListArray.from_arrays(np.arange(0, lists * LENGTH + 1, LENGTH, dtype=np.int32), log["items"].ravel())
    clicked = pa.ListArray.from_arrays(borders, log["items"][log["clicked"]])
    return pa.table({"user": log["user"], "arm": log["arm"], "shown": shown, "clicked": clicked})


def measured(log: pa.Table | Path) -> str:
    start, worked = time.perf_counter(), time.process_time()
    recx.ab(log)
    return f"{time.perf_counter() - start:.1f} s; {time.process_time() - worked:.1f} s"


def figures() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the table."""
    recx.ab(by_item(40, 100))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        pq.write_table(by_item(20_000, 100_000), path)
        yield "online test, 1 million rows, 20,000 users, Parquet: time; processor time", measured(path), "< 5 s"
    log = by_list(200_000, 1_000_000)
    yield "online test, 1 million lists of 10, 200,000 users: time; processor time", measured(log), "< 10 s"


if __name__ == "__main__":
    for row in figures():
        print(*row, sep=" | ")
