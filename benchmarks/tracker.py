"""Measures the tracker: `python benchmarks/tracker.py`, or `python benchmarks/run.py tracker`.

One run of generated news is recorded again and again in a store that exists: by recx, and by `mlflow.start_run` with
the same params, metrics and tags and the same files. The time is from before the run is created until it has ended.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from recx.config.compose import compose, plain
from recx.experiment import build, protocol_card
from recx.jobs.launch import Output, folder_of_run
from recx.tracking.mlflow import MLflow
from recx.tracking.store import open_client

SECONDS, TIMES = 0.6, 7


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim), row by row."""
    config = plain(compose(["+experiment=news"]))
    result = build.experiment(config).run()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        uri, folder = f"sqlite:///{place}/mlflow.db", Path(place, "run")
        output = Output(result, folder_of_run(folder), config, protocol_card.card(result, config), [], None)
        folder.mkdir()
        output.write(whole=True)

        def ours() -> str:
            with MLflow(uri=uri).run("news", config) as run:
                output.record(run)
            return run.run_id

        kept = open_client(uri).get_run(ours()).data

        def theirs() -> None:
            import mlflow

            mlflow.set_tracking_uri(uri)
            mlflow.set_experiment("news")
            with mlflow.start_run():
                mlflow.log_params(kept.params)
                mlflow.log_metrics(kept.metrics)
                mlflow.set_tags({f"their.{name}": text for name, text in kept.tags.items()})
                mlflow.log_artifacts(str(folder))

        pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(TIMES)]
        os.chdir("/")
    ours_s, theirs_s = (statistics.median(of) for of in zip(*pairs, strict=True))
    size = f"{len(kept.params)} params, {len(kept.metrics)} metrics"
    shown = f"{ours_s:.2f} s - {theirs_s:.2f} s = {ours_s - theirs_s:+.2f} s"
    yield f"generated news in MLflow ({size}): recx over `mlflow.start_run` with the same", shown, f"<= {SECONDS} s"


def _seconds(record: Callable[[], object]) -> float:
    start = time.perf_counter()
    record()
    return time.perf_counter() - start


if __name__ == "__main__":
    for row in measured():
        print(f"| {' | '.join(row)} |")
