"""Click models on 200,000 made-up impressions: time, and distance from the truth. `python benchmarks/run.py clicks`.

40,000 lists of 5 of 10 items, by the dynamic Bayesian network: attractiveness from 0.1 to 0.7, satisfaction from 0.2 to
0.8, continuation 0.9. A first fit, which compiles, does not count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

import recx

LISTS, LENGTH, CONTINUATION = 40_000, 5, 0.9
ATTRACTIVENESS, SATISFACTION = np.linspace(0.1, 0.7, 10), np.linspace(0.2, 0.8, 10)[[3, 8, 0, 5, 9, 2, 7, 1, 6, 4]]


def made_up() -> pd.DataFrame:
    """Return the log."""
    rng = np.random.default_rng(0)
    item = rng.permuted(np.tile(np.arange(len(ATTRACTIVENESS)), (LISTS, 1)), axis=1)[:, :LENGTH]
    draws = rng.random((3, LISTS, LENGTH))
    chosen, satisfied = draws[0] < ATTRACTIVENESS[item], draws[1] < SATISFACTION[item]
    stays = ~(chosen & satisfied) & (draws[2] < CONTINUATION)
    looked = np.hstack([np.ones((LISTS, 1), dtype=bool), np.logical_and.accumulate(stays, axis=1)[:, :-1]])
    place = np.tile(np.arange(1, LENGTH + 1), LISTS)
    of = {"list": np.repeat(np.arange(LISTS), LENGTH), "item": item.ravel(), "position": place}
    return pd.DataFrame({**of, "clicked": (looked & chosen).ravel()})


def figures() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the table."""
    log = made_up()
    recx.clicks.fit(log[:1_000], "dbn", resamples=20)
    start, worked = time.perf_counter(), time.process_time()
    found = recx.clicks.fit(log, "dbn")
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    rows = found.items.sort_values("item")
    truth = {"attractiveness": ATTRACTIVENESS, "satisfaction": SATISFACTION}
    off = [np.abs(rows[name].to_numpy() - of).max() for name, of in truth.items()]
    what = f"dbn of {len(log):,} impressions, 200 resamples"
    yield f"{what}: fit; processor time; iterations", f"{seconds:.1f} s; {worked:.1f} s; {found.iterations}", "< 60 s"
    furthest = [*off, abs(found.continuation - CONTINUATION)]
    yield (
        f"{what}: furthest from the truth in attractiveness, satisfaction, continuation",
        ", ".join(f"{one:.3f}" for one in furthest),
        "<= 0.02, of satisfaction none",
    )


if __name__ == "__main__":
    for row in figures():
        print(*row, sep=" | ")
