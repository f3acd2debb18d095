"""Measures the figures of the README: `python benchmarks/run.py [beauty] [speed] [retrieval] [news] [models]`.

Every command runs in its own process and folder. Prints one Markdown table. The data is in RECX_DATA, or in
../shared/data next to recx's checkout. ``speed`` compares with RecTools if RECTOOLS_PYTHON names a Python that has
``rectools[torch]==0.19.0`` (its pins conflict with ours).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recx_transformer.learner import Learner
from recx_transformer.retriever import Transformer

from recx.parts.dataset.sequences import Sequences
from recx.parts.split.leave_last import LeaveLast
from recx.plugin import SeenEvents

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RECX_DATA", HERE.parents[3] / "shared" / "data"))
BEAUTY = DATA / "beauty" / "Beauty.txt.gz"
BLEND = [
    "retriever=union",
    "~retriever.sources.item_knn",
    "~retriever.sources.popularity",
    "+retriever@retriever.sources.ease=ease",
    "+retriever@retriever.sources.transformer=transformer",
    "+retriever.weights.ease=0.7",
]
ITEMS_ONLY = ["retriever.time_gap=false", "retriever.time_of_day=false", "retriever.recent=[]"]
SASREC = [
    *("retriever=transformer", "retriever.factors=64", "retriever.positions=learned", "retriever.dropout=0.2"),
    *("retriever.learning_rate=0.001", "retriever.epochs=100", "retriever.patience=10", *ITEMS_ONLY),
]
MODELS = {
    "SASRec, one negative (bce)": [*SASREC, "retriever.loss=bce"],
    "SASRec, full softmax": SASREC,
    "SASRec, 1,024 negatives by popularity": [
        *SASREC,
        "retriever.loss=sampled_softmax",
        "retriever.sampling=popularity",
    ],
    "SASRec, 1,024 negatives from the batch": [
        *SASREC,
        "retriever.loss=sampled_softmax",
        "retriever.sampling=in_batch",
    ],
    "gSASRec, 256 negatives, t = 0.75": [*SASREC, "retriever.loss=gbce", "retriever.negatives=256"],
    "BERT4Rec": ["retriever=bert4rec"],
}
"""Models of the field -> their settings: the same width, blocks, heads, places and dropout, and only the items."""
Row = tuple[str, str, str]


def recx(*overrides: str) -> tuple[float, dict[str, float]]:
    """Run one experiment in an empty folder; return its seconds and its metrics."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "recx", *overrides], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        [found] = Path(folder).glob("outputs/*/*/metrics.json")
        return seconds, json.loads(found.read_text())


def beauty() -> Iterator[Row]:
    """Amazon Beauty, leave last out, all items ranked; the choice of epochs and the refit are part of the time."""
    where = ["+experiment=sequences", f"dataset.path={BEAUTY}", "ranker=identity"]
    seconds, metrics = recx(*where, "retriever=transformer")
    yield "beauty: whole command", f"{seconds:.0f} s", "< 540 s"
    yield "beauty: epochs chosen", f"{metrics['data/transformer_epochs']:.0f}", ""
    for name, aim in (("ndcg_at_10", 0.063), ("hit_at_10", 0.104)):
        what = f"beauty: {name}, learnt with the event that validation holds out"
        yield what, f"{metrics[f'end_to_end/{name}']:.4f}", f">= {aim}"
    _, metrics = recx(*where, *BLEND)
    for name in ("ndcg_at_10", "hit_at_10"):
        yield f"beauty: {name}, merged with EASE (weight 0.7)", f"{metrics[f'end_to_end/{name}']:.4f}", ""


def speed() -> Iterator[Row]:
    """Events per second in training: width 64, 2 blocks, 1 head, sequences of 50 events."""
    other, theirs = os.environ.get("RECTOOLS_PYTHON"), None
    if other:
        done = subprocess.run([other, HERE / "rectools_epoch.py", BEAUTY], check=True, capture_output=True, text=True)
        theirs = float(done.stdout.split()[-1])
        yield "beauty: RecTools 0.19 SASRECModel, full softmax", f"{theirs:,.0f} events/s", ""
    for loss, aim in (("full_softmax", 25), ("sampled_softmax", 40), ("bce", None)):
        ours = events_a_second(factors=64, heads=1, loss=loss)
        against = "" if theirs is None else f" ({ours / theirs:.0f} times RecTools)"
        yield f"beauty: width 64, {loss}", f"{ours:,.0f} events/s{against}", "" if aim is None else f">= {aim} times"
    yield "beauty: the default settings", f"{events_a_second():,.0f} events/s", ""


def events_a_second(**settings: Any) -> float:
    """Return the events per second of one epoch of Beauty, without setup."""
    history = LeaveLast().split(Sequences(str(BEAUTY)).load(), "test").fold.history
    learner = Learner.of(Transformer(**settings), history, SeenEvents.of(history), whole=True)
    batches = learner.lessons.epoch(learner.rows, np.random.default_rng(0))
    for _ in range(3):
        learner.step(next(batches), 1e-3).item()
    start, events = time.perf_counter(), 0
    for batch in batches:
        learner.step(batch, 1e-3).item()
        events += len(batch.cell)
    return events / (time.perf_counter() - start)


def retrieval() -> Iterator[Row]:
    """The best 50 of 12,101 items for 20,000 users, by a network trained for one epoch."""
    fold = LeaveLast().split(Sequences(str(BEAUTY)).load(), "test").fold
    fitted = Transformer(epochs=1, validation_users=0, loss="bce").fit(fold.history)
    start = time.perf_counter()
    fitted.retrieve(fold.history, fold.requests[:20_000], 50)
    seconds = time.perf_counter() - start
    yield f"beauty: best 50 for 20,000 users, threads: {torch.get_num_threads()}", f"{seconds:.1f} s", "< 10 s"


def news() -> Iterator[Row]:
    """Real clicks: the transformer alone compared with co-clicks alone, and as one more source of the union."""
    for name in ("globo-tianchi-day1", "globo-tianchi-25k"):
        path = f"dataset.path={DATA / name}"
        recall = {}
        for retriever in ("item_knn", "transformer"):
            seconds, metrics = recx("+experiment=news", path, f"retriever={retriever}", "ranker=identity")
            recall[retriever] = metrics["retrieval/recall_at_20"]
            yield f"{name}: {retriever}, retrieval/recall_at_20", f"{recall[retriever]:.4f}", ""
            yield f"{name}: {retriever}, own order, ndcg_at_5", f"{metrics['end_to_end/ndcg_at_5']:.4f}", ""
        yield f"{name}: transformer, whole command", f"{seconds:.0f} s", ""
        yield f"{name}: transformer over item_knn", f"{recall['transformer'] / recall['item_knn'] - 1:+.1%}", "> 0"
        ndcg = {}
        for experiment in ("news", "news_transformer"):
            seconds, metrics = recx(f"+experiment={experiment}", path)
            ndcg[experiment] = metrics["end_to_end/ndcg_at_5"]
            yield f"{name}: {experiment}, end_to_end/ndcg_at_5", f"{ndcg[experiment]:.4f}", ""
            yield f"{name}: {experiment}, candidate_recall", f"{metrics['funnel/candidate_recall']:.4f}", ""
        yield f"{name}: news_transformer, whole command", f"{seconds:.0f} s", ""
        yield f"{name}: gain by the transformer", f"{ndcg['news_transformer'] / ndcg['news'] - 1:+.1%}", "> 0"


def models() -> Iterator[Row]:
    """The models of the field, learnt as papers do, without the event that validation holds out; all items ranked."""
    films = ["+experiment=table", "dataset=recbole", f"dataset.path={DATA / 'ml-100k' / 'ml-100k.inter.gz'}"]
    worlds = {"ml-100k": films, "beauty": ["+experiment=sequences", f"dataset.path={BEAUTY}"]}
    for world, where in worlds.items():
        for model, settings in MODELS.items():
            words = [*where, *settings, "retriever.validation=users", "ranker=identity", "refit=false"]
            seconds, metrics = recx(*words)
            figures = ", ".join(f"{metrics[f'end_to_end/{name}']:.4f}" for name in ("ndcg_at_10", "hit_at_10"))
            yield f"{world}: {model}: ndcg_at_10, hit_at_10, whole command", f"{figures}, {seconds:.0f} s", ""


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "beauty": beauty,
    "speed": speed,
    "retrieval": retrieval,
    "news": news,
    "models": models,
}

if __name__ == "__main__":
    print("| what | measured | aim |\n| --- | --- | --- |", flush=True)
    for part in sys.argv[1:] or PARTS:
        for row in PARTS[part]():
            print(f"| {' | '.join(row)} |", flush=True)
