"""Measures reranking of documents: `python benchmarks/rerank.py`.

MQ2008 (train S1 and S2, test S3) and LightGBM's lambdarank example by every installed ranker, MIND by time, and the
reading of a file as large as a tenth of MSLR-WEB10K's fold. Real data is looked for in ../shared/data, or where
RECX_DATA says; missing data is reported and skipped. Prints one Markdown table.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from run import DATA

from recx.config.compose import compose, plain
from recx.config.option_sources import options
from recx.experiment import build
from recx.parts.dataset.svmlight import Svmlight

FIGURES = ("map", "ndcg_at_5", "ndcg_at_10", "mrr_at_10")
RANKERS = [ranker for ranker in ("identity", "linear", "lambdamart") if f"ranker/{ranker}" in options()]
ROWS, FEATURES = 72_000, 136  # a tenth of the training rows of MSLR-WEB10K, Fold1


def judged(name: str, *overrides: str) -> Iterator[tuple[str, ...]]:
    """Yield one row per ranker: its figures over the queries that have a relevant document."""
    for ranker in RANKERS:
        start = time.perf_counter()
        result = build.experiment(plain(compose(["+experiment=rerank", f"ranker={ranker}", *overrides]))).run()
        assert result.report is not None
        means, seconds = result.report.means, time.perf_counter() - start
        yield name, ranker, *(f"{means[f'end_to_end/{figure}']:.4f}" for figure in FIGURES), f"{seconds:.1f} s"


def mq2008(folder: Path) -> str:
    """Write the training and the test part into the folder."""
    parts = [gzip.decompress((DATA / "mq2008" / f"S{number}.txt.gz").read_bytes()) for number in (1, 2, 3)]
    (folder / "train.txt").write_bytes(parts[0] + parts[1])
    (folder / "test.txt").write_bytes(parts[2])
    return str(folder)


def reading(folder: Path) -> tuple[str, ...]:
    """Return a row with the seconds that reading a large file takes."""
    rng = np.random.default_rng(0)
    file = folder / "large.txt"
    with file.open("w") as out:
        for row in range(ROWS):
            numbers = " ".join(f"{n}:{x:.6f}" for n, x in enumerate(rng.random(FEATURES), start=1))
            out.write(f"{row % 5} qid:{row // 120} {numbers}\n")
    start = time.perf_counter()
    data = Svmlight(str(file)).load()
    seconds, size = time.perf_counter() - start, file.stat().st_size / 1e6
    assert data.slates is not None
    return f"{ROWS:,} x {FEATURES}", "read", *("" for _ in FIGURES), f"{seconds:.1f} s ({size:.0f} MB)"


def main() -> None:
    print(f"| data | ranker | {' | '.join(FIGURES)} | whole run |\n| --- | --- |{' --- |' * (len(FIGURES) + 1)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        tables: list[Callable[[], Iterator[tuple[str, ...]]]] = [lambda: iter([reading(folder)])]
        if DATA.is_dir():
            mind = (f"dataset.path={DATA / 'mind-5k'}", "dataset=mind", "split=by_time", "feature=basic")
            tables += [
                lambda: judged("mq2008, S1+S2 to S3", f"dataset.path={mq2008(folder)}"),
                lambda: judged("lightgbm-lambdarank", f"dataset.path={DATA / 'lightgbm-lambdarank'}"),
                lambda: judged("mind-5k, the last day", *mind),
            ]
        else:
            print(f"| real data | not measured: no {DATA} |")
        for rows in tables:
            for cells in rows():
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
