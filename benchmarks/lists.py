"""What `python -m recx evaluate` of large Parquet files costs: `python benchmarks/run.py lists`.

Lists of 20 items, best first, and two targets a user, of whom every second is shown one of them. Ids are whole numbers
in no order and far apart, such as hashes; rows are grouped by user, or shuffled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from run import run

SHOWN, TARGETS, ITEMS, ROWS = 20, 2, 1_000_000, 1_000_000
SHARE = ITEMS // (SHOWN + TARGETS)
"""Every rank and every target has a part of the catalogue of its own, so that no list shows an item twice."""
FAR = 123_456_791
"""A prime: multiples of it, modulo the number of rows, are all rows in an order in which neighbours are far apart."""
METRICS = "ndcg_at_10,ndcg_at_20,recall_at_10,recall_at_20,hit_at_10,precision_at_10,map_at_10,mrr_at_20"
Array = npt.NDArray[Any]


def write(folder: Path, users: int, *, shuffled: bool) -> tuple[Path, Path]:
    """Write ``lists.parquet`` (user, item, score) and ``truth.parquet`` (user, item), and return their paths."""
    rng = np.random.default_rng(0)
    user_id, item_id = ids(users, rng), ids(ITEMS, rng)
    paths = folder / "lists.parquet", folder / "truth.parquet"
    pairs = [("user", pa.int64()), ("item", pa.int64())]
    with pq.ParquetWriter(paths[0], pa.schema([*pairs, ("score", pa.float64())])) as file:
        for row in _in_blocks(users * SHOWN):
            if shuffled:
                row = row * FAR % (users * SHOWN)
            user, rank = row // SHOWN, row % SHOWN
            item, score = item_id[_shown(user, rank)], SHOWN - rank - _drawn(rank, user)
            file.write_table(pa.table({"user": user_id[user], "item": item, "score": score}))
    with pq.ParquetWriter(paths[1], pa.schema(pairs)) as file:
        for row in _in_blocks(users * TARGETS):
            user, nth = row // TARGETS, row % TARGETS
            rank = (SHOWN * _drawn(user, user)).astype(np.int64)
            found = (nth == 0) & (user % 2 == 0)
            item = item_id[_shown(user, np.where(found, rank, SHOWN + nth))]
            file.write_table(pa.table({"user": user_id[user], "item": item}))
    return paths


def ids(n: int, rng: np.random.Generator) -> Array:
    """Return distinct whole numbers [n]."""
    step = 2**62 // n
    return rng.permutation(n) * step + rng.integers(0, step, n)


def _in_blocks(n: int) -> Iterator[Array]:
    return (np.arange(start, min(start + ROWS, n)) for start in range(0, n, ROWS))


def _drawn(*numbers: Array) -> Array:
    """Return a number from 0 to 1 that looks random and follows from the given ones."""
    mixed = np.zeros(len(numbers[0]), dtype=np.uint64)
    for number in numbers:
        mixed = (mixed + number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return ((mixed >> np.uint64(20)) & np.uint64(2**32 - 1)) / 2.0**32


def _shown(user: Array, rank: Array) -> Array:
    """Return the item that a user is shown at a rank; at ranks beyond the list, items that are not shown."""
    return rank * SHARE + (SHARE * _drawn(user, rank)).astype(np.int64)


def figures() -> Iterator[tuple[str, str, str]]:
    """Seconds and memory of one and of ten million users, grouped and shuffled."""
    for users, aim in ((1_000_000, ""), (10_000_000, "60 s, 4 GB")):
        seconds = []
        for how in ("grouped by user", "shuffled"):
            with tempfile.TemporaryDirectory() as folder:
                paths = write(Path(folder), users, shuffled=how == "shuffled")
                cost = run("evaluate", *map(str, paths), "--metrics", METRICS)
            name = f"evaluate {users:,} users x {SHOWN} from Parquet, 8 metrics"
            measured = f"{cost.seconds:.0f} s, {cost.processor:.0f} s of processor, {cost.gigabytes:.2f} GB"
            yield f"{name}, {how}: whole command", measured, "" if seconds else aim
            seconds.append(cost.seconds)
        yield f"{name}: shuffled over grouped", f"{seconds[1] / seconds[0]:.1f} times", "<= 3 times"
