"""Prints the events per second of one epoch of RecTools' SASRecModel on a file of sequences; needs RecTools.

The settings are those of our own measurement: width 64, 2 blocks, 1 head, length 50, full softmax. An event is a
position whose next item is predicted; seconds are those of the whole ``fit``, minus those of a fit of one batch.
"""

from __future__ import annotations

import gzip
import sys
import time
import warnings

import pandas as pd
from rectools.dataset import Dataset
from rectools.models import SASRecModel

warnings.filterwarnings("ignore")


def seconds_of(frame: pd.DataFrame) -> float:
    """Return the seconds that a fit of one epoch takes."""
    dataset = Dataset.construct(frame)
    model = SASRecModel(n_factors=64, n_blocks=2, n_heads=1, session_max_len=50, loss="softmax", epochs=1)
    start = time.perf_counter()
    model.fit(dataset)
    return time.perf_counter() - start


def main() -> None:
    """Read the file, leave out the last item of every line as our split does, and train."""
    with gzip.open(sys.argv[1], "rt") as lines:
        rows = [(line.split()[0], item, n) for line in lines for n, item in enumerate(line.split()[1:-1])]
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "datetime"])
    frame["datetime"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["datetime"], unit="D")
    frame["weight"] = 1
    events = len(frame) - frame["user_id"].nunique()
    few = frame[frame["user_id"].isin(frame["user_id"].unique()[:128])]
    print(events / (seconds_of(frame) - seconds_of(few)))


if __name__ == "__main__":
    main()
