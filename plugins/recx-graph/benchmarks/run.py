"""``lightgcn`` beside RecBole's LightGCN on ml-100k: ``RECBOLE_PYTHON=PYTHON python benchmarks/run.py [WHAT]``.

WHAT is speed or quality, by default both; PYTHON is one that has RecBole 1.2.1. The data is in RECX_DATA, or in
../shared/data next to recx's checkout. Both learn from the same history with the same settings and as many threads.
Speed: epochs of both in turn, each of them in a process of its own that waits meanwhile, and the medians. Quality: the
last event of each user held out, both judged by recx on the same requests and items, with the seeds 0 to 2.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from recx_graph.learner import Training
from recx_graph.retriever import LightGCN

from recx.config.compose import compose, plain
from recx.experiment.build import plan
from recx.plugin import Interactions, OfItems, Requests, available, top_k

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
ML = ("+experiment=table", "dataset=recbole", f"dataset.path={DATA / 'ml-100k' / 'ml-100k.inter.gz'}")
NDCG, HIT = "end_to_end/ndcg_at_10", "end_to_end/hit_at_10"
EPOCHS, ROUNDS, K = 15, 7, 100


class RecBole:
    """RecBole's LightGCN on a history, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.steps = self._answer()["steps"]

    def epoch(self) -> dict[str, float]:
        """Train an epoch; return its ``seconds`` and mean ``loss``."""
        return self._ask("epoch")

    def vectors(self) -> Any:
        """Return the last vectors of ``users`` and ``items``."""
        self._ask("save")
        return np.load(self.folder / "vectors.npz")

    def _ask(self, text: str) -> dict[str, float]:
        assert self.process.stdin is not None
        print(text, file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self.process.stdout is not None
        found: dict[str, float] = json.loads(next(line for line in self.process.stdout if line.startswith("{")))
        return found


@contextmanager
def recbole(history: Interactions, settings: LightGCN) -> Iterator[RecBole]:
    """Yield RecBole's model of a history with the same settings."""
    named = {
        "embedding_size": settings.factors,
        "n_layers": settings.layers,
        "reg_weight": settings.l2,
        "learning_rate": settings.learning_rate,
        "train_batch_size": settings.batch_size,
        "seed": settings.seed,
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "events").mkdir()
        events = pd.DataFrame({"user_id:token": history.user, "item_id:token": history.item})
        events.to_csv(Path(folder) / "events" / "events.inter", sep="\t", index=False)
        command = [os.environ["RECBOLE_PYTHON"], str(Path(__file__).with_name("recbole_epochs.py")), folder]
        environment = {**os.environ, "OMP_NUM_THREADS": str(available())}
        environment.pop("PYTHONPATH", None)
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*command, json.dumps(named)],
            env=environment,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                yield RecBole(process, Path(folder))
            finally:
                process.kill()


def speed(history: Interactions, layers: int) -> str:
    """Return the seconds of epochs of both, in turn."""
    settings = LightGCN(layers=layers)
    training, own, theirs = Training.of(settings, history), [], []
    with recbole(history, settings) as other:
        for epoch in range(ROUNDS + 1):
            started = time.perf_counter()
            loss = training.epoch(epoch)
            seconds, found = time.perf_counter() - started, other.epoch()
            if epoch:  # the first warms up
                own.append(seconds)
                theirs.append(found["seconds"])
        steps = other.steps
    here, there = np.median(own), np.median(theirs)
    return (
        f"layers={layers}: {here:.3f} s an epoch, RecBole {there:.3f} s, ratio {here / there:.3f}, {steps} steps each, "
        f"{available()} threads, loss {loss:.4f}, RecBole {found['loss']:.4f}"
    )


def quality(split: Any, evaluator: Any, layers: int, seed: int) -> Iterator[tuple[float, float]]:
    """Yield ndcg_at_10 and hit_at_10 of recx's and of RecBole's model after as many epochs."""
    fold = split.fold
    settings = LightGCN(layers=layers, learning_rate=0.01, epochs=EPOCHS, validation_users=0, seed=seed)
    lists = settings.fit(fold.history).retrieve(fold.history, fold.requests, K)
    with recbole(fold.history, settings) as other:
        for _ in range(EPOCHS):
            other.epoch()
        vectors = other.vectors()
    items = np.flatnonzero(fold.history.clicks)
    row = np.cumsum(fold.history.lengths > 0) - 1

    def score(block: Requests) -> OfItems:
        return OfItems(vectors["users"][row[block.user]] @ vectors["items"].T, items)

    theirs = top_k(score, fold.history, fold.requests, K, settings.seen)
    for made in (lists, theirs):
        means = evaluator.evaluate(made, made, fold).means
        yield means[NDCG], means[HIT]


def main() -> None:
    """Print a line for each number of layers and question."""
    torch.set_num_threads(available())
    config = plain(compose([*ML, "retriever=popularity", "ranker=identity", "tracker=console", "cache=off"]))
    result = plan(config).experiment.run()
    asked = sys.argv[1:] or ["speed", "quality"]
    for layers in (2, 3):
        if "speed" in asked:
            print(speed(result.split.fold.history, layers), flush=True)
        if "quality" in asked:
            found = [[*quality(result.split, result.experiment.evaluator, layers, seed)] for seed in range(3)]
            mean, spread = np.mean(found, axis=0), np.ptp(found, axis=0)
            texts = [
                f"{who} ndcg_at_10 {mean[at, 0]:.4f} (range {spread[at, 0]:.4f}), hit_at_10 {mean[at, 1]:.4f} "
                f"({spread[at, 1]:.4f})"
                for at, who in enumerate(("recx", "RecBole"))
            ]
            print(f"layers={layers}, {EPOCHS} epochs, three seeds: {'; '.join(texts)}", flush=True)


if __name__ == "__main__":
    main()
