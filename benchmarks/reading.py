"""What reading a CSV of ratings costs: `python benchmarks/run.py reading`, or `python benchmarks/reading.py [ROWS]`.

The file is like that of MovieLens 25M: users in order, their items in order, ratings from 0.5 to 5.0, seconds. Against
`pyarrow.csv.read_csv` and a sort by user and time, each in a process of its own, one after the other several times.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

ROWS, USERS, ITEMS = 25_000_000, 162_541, 59_047
AN_EVENT = 16
"""Bytes of the arrays of an event: item, time and weight."""
RUNS = 3
_MEASURE = """
import json, sys, time
from pathlib import Path
import pyarrow, pyarrow.csv, pandas, numba
from recx.core.system.memory import peak
from recx.parts.dataset.table import Table

def read(path, how):
    if how == "peer":
        return pyarrow.csv.read_csv(path).sort_by([("userId", "ascending"), ("timestamp", "ascending")])
    known = {} if how == "auto" else {"time": "timestamp", "time_unit": "s", "weight": None}
    return Table(path=path, user="userId", item="movieId", **known).load()

small, path, how = sys.argv[1:]
read(small, how)  # what is compiled, or imported late, is
before, clock, processor = peak(), time.perf_counter(), time.process_time()
read(path, how)
print(json.dumps([time.perf_counter() - clock, time.process_time() - processor, (peak() - before) * 2**20]))
"""


def write(path: Path, rows: int) -> None:
    """Write ratings, of as many users as MovieLens has for so many."""
    rng = np.random.default_rng(0)
    users, share = max(1, USERS * rows // ROWS), 1 / np.arange(1, ITEMS + 1) ** 0.9
    user = np.sort(rng.integers(1, users + 1, rows))
    item = (rng.permutation(209_171)[:ITEMS] + 1)[rng.choice(ITEMS, rows, p=share / share.sum())]
    order = np.lexsort((item, user))
    rating = pa.array([f"{half / 2:.1f}" for half in range(1, 11)]).take(pa.array(rng.integers(0, 10, rows)))
    time = rng.integers(789_652_009, 1_564_327_703, users + 1)[user] + rng.integers(0, 10_000_000, rows)
    table = pa.table({"userId": user, "movieId": item[order], "rating": rating, "timestamp": time})
    with path.open("wb") as file:
        file.write(b"userId,movieId,rating,timestamp\n")
        pacsv.write_csv(table, file, pacsv.WriteOptions(include_header=False, quoting_style="none"))


def figures(rows: int = ROWS // 10) -> Iterator[tuple[str, str, str]]:
    """Time and memory over those of reading by Arrow and sorting."""
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.csv", Path(folder) / "ratings.csv"
        write(small, 10_000)
        write(path, rows)
        costs: dict[str, list[list[float]]] = {"peer": [], "explicit": [], "auto": []}
        for _ in range(RUNS):
            for how, found in costs.items():
                command = [sys.executable, "-c", _MEASURE, str(small), str(path), how]
                found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    peer = costs["peer"]
    for how, name in (("explicit", "columns named"), ("auto", "time and weight found")):
        wall, processor = (
            statistics.median(own[at] / other[at] for own, other in zip(costs[how], peer, strict=True)) for at in (0, 1)
        )
        memory = statistics.median(own[2] for own in costs[how])
        above, arrays = (memory / statistics.median(other[2] for other in peer), memory / (rows * AN_EVENT))
        what = f"{rows / 1e6:g} million ratings from CSV, {name}"
        yield f"{what}: over read_csv and a sort", f"{wall:.2f} times ({processor:.2f} of processor)", "<= 1.5 times"
        yield (
            f"{what}: memory over theirs, over the arrays",
            f"{above:.2f} times, {arrays:.1f} times",
            "3 times the arrays",
        )


if __name__ == "__main__":
    for row in figures(*map(int, sys.argv[1:])):
        print(f"| {' | '.join(row)} |", flush=True)
