"""What `python -m recx evaluate` of large Parquet files costs: `python benchmarks/run.py lists`.

Made-up lists of 20 items, best first, and two targets a user, of whom every second finds one; ids are whole numbers far
apart, such as hashes. Rows are grouped by user, or shuffled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from run import run

SHOWN, TARGETS, ITEMS, USERS_AT_ONCE = 20, 2, 1_000_000, 50_000
METRICS = "ndcg_at_10,ndcg_at_20,recall_at_10,recall_at_20,hit_at_10,precision_at_10,map_at_10,mrr_at_20"


def ids(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct int64 ids in no order, far apart."""
    step = 2**62 // n
    return rng.permutation(n) * step + rng.integers(0, step, n)


def write(folder: Path, users: int, *, shuffled: bool) -> tuple[Path, Path]:
    """Write ``lists.parquet`` (user, item, score) and ``truth.parquet`` (user, item), and return their paths."""
    rng = np.random.default_rng(0)
    user_id, item_id = ids(users, rng), ids(ITEMS, rng)
    paths = folder / "lists.parquet", folder / "truth.parquet"
    number, value = pa.int64(), pa.float64()
    schemas = pa.schema({"user": number, "item": number, "score": value}), pa.schema({"user": number, "item": number})
    share = ITEMS // (SHOWN + TARGETS)
    # Shuffled, every block of rows holds rows of users from all over, and no two neighbours are of one user.
    order = rng.permutation(users) if shuffled else np.arange(users)
    with pq.ParquetWriter(paths[0], schemas[0]) as lists, pq.ParquetWriter(paths[1], schemas[1]) as truth:
        for start in range(0, users, USERS_AT_ONCE):
            user = np.arange(start, min(start + USERS_AT_ONCE, users))
            truth.write_table(
                _table(schemas[1], user_id[np.repeat(user, TARGETS)], item_id[_targets(user, share).ravel()])
            )
        rows = users * SHOWN
        at_once = USERS_AT_ONCE * SHOWN
        for start in range(0, rows, at_once):
            row = np.arange(start, min(start + at_once, rows))
            place = row // SHOWN, row % SHOWN
            if shuffled:  # rank by rank, each time in another order of the users
                nth = row // users
                place = order[(row % users + nth * (users // SHOWN + 1)) % users], nth
                mixed = rng.permutation(len(row))
                place = place[0][mixed], place[1][mixed]
            user, rank = place
            columns = user_id[user], item_id[_shown(user, rank, share)], _score(user, rank)
            lists.write_table(_table(schemas[0], *columns))
    return paths


def _noise(*numbers: np.ndarray) -> np.ndarray:
    """Return 32 random-looking bits that follow from the numbers of each row."""
    mixed = np.zeros(len(numbers[0]), dtype=np.uint64)
    for number in numbers:
        mixed = (mixed + number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(20)) & np.uint64(2**32 - 1)


def _shown(user: np.ndarray, rank: np.ndarray, share: int) -> np.ndarray:
    """Return the item shown at each rank: each from its own part of the catalogue, so that none occurs twice."""
    return (rank * share + (_noise(user, rank) % np.uint64(share)).astype(np.int64)).astype(np.int64)


def _score(user: np.ndarray, rank: np.ndarray) -> np.ndarray:
    return SHOWN - rank - _noise(rank, user) / 2.0**32


def _targets(user: np.ndarray, share: int) -> np.ndarray:
    """Return two targets a user: of every second user the first one is shown, at a rank that is drawn."""
    rank = (_noise(user, user) % np.uint64(SHOWN)).astype(np.int64)
    missed = (SHOWN * share + _noise(user, user + 1) % np.uint64(share)).astype(np.int64)
    first = np.where(user % 2 == 0, _shown(user, rank, share), missed)
    return np.column_stack([first, missed + share])


def _table(schema: pa.Schema, *columns: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)


@contextmanager
def files(users: int, *, shuffled: bool) -> Iterator[tuple[str, str]]:
    """Yield the paths of lists and truth, which go with the context."""
    with tempfile.TemporaryDirectory() as folder:
        lists, truth = write(Path(folder), users, shuffled=shuffled)
        yield str(lists), str(truth)


def figures() -> Iterator[tuple[str, str, str]]:
    """Seconds and memory of one and of ten million users, grouped and shuffled."""
    for users in (1_000_000, 10_000_000):
        grouped = 0.0
        for shuffled in (False, True):
            with files(users, shuffled=shuffled) as paths:
                cost = run("evaluate", *paths, "--metrics", METRICS)
            how = "shuffled" if shuffled else "grouped by user"
            name = f"evaluate {users:,} users x {SHOWN} from Parquet, 8 metrics, {how}"
            yield f"{name}: whole command", f"{cost.seconds:.0f} s, {cost.gigabytes:.2f} GB", ""
            if shuffled:
                yield f"{name}, over grouped", f"{cost.seconds / grouped:.1f} times", "<= 3 times"
            grouped = cost.seconds
