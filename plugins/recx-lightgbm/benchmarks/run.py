"""Compares ``lambdamart`` with LightGBM's own ranker and ``linear`` on judged documents: ``python benchmarks/run.py``.

The data is in RECX_DATA, or in ../shared/data next to recx's checkout. LightGBM's own ranker is fitted on the same
queries with the same settings, without recx, and evaluated by recx's definition of ndcg_at_5.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRanker

from recx import Experiment
from recx.config.compose import compose, plain
from recx.experiment.build import plan
from recx.plugin import ANY_GAIN, GroundTruth

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
NDCG, MAP = "end_to_end/ndcg_at_5", "end_to_end/map"


def run(folder: Path, *overrides: str) -> Any:
    """Run ``+experiment=rerank`` on a folder, without files and tracking."""
    config = plain(compose(["+experiment=rerank", f"dataset.path={folder}", "tracker=console", *overrides]))
    experiment: Experiment = plan(config).experiment
    return experiment.run()


def own_ndcg(result: Any) -> float:
    """Return ndcg_at_5 of LightGBM's own ranker, fitted with the settings and number of trees of recx's."""
    settings, past, trees = result.experiment.ranker, result.split.past, result.notes["lambdamart_trees"]
    lists = result.experiment.retriever.fit(past.history).retrieve(past.history, past.requests, 1)
    grade = GroundTruth.of(past, ANY_GAIN).judge(lists).gain
    worth = np.arange(int(grade.max()) + 1)
    ranker = LGBMRanker(
        n_estimators=int(trees),
        num_leaves=settings.leaves,
        learning_rate=settings.learning_rate,
        min_child_samples=settings.min_rows,
        lambdarank_truncation_level=settings.truncation,
        label_gain=(worth if settings.gain == "linear" else 2**worth - 1).tolist(),
        verbosity=-1,
    )
    ranker.fit(np.column_stack(list(lists.columns.values())), grade.astype(int), group=lists.lengths)
    candidates = result.candidates
    score = ranker.booster_.predict(np.column_stack(list(candidates.columns.values())))
    report = result.experiment.evaluator.evaluate(candidates, candidates.reorder(np.asarray(score)), result.split.fold)
    return float(report.means[NDCG])


def mq2008(folder: Path) -> Path:
    """Write S1 and S2 of mq2008 as the train part and S3 as the test part."""
    for part, files in {"train": ("S1", "S2"), "test": ("S3",)}.items():
        with (folder / f"{part}.txt").open("wb") as out:
            for name in files:
                with gzip.open(DATA / "mq2008" / f"{name}.txt.gz") as content:
                    shutil.copyfileobj(content, out)
    return folder


def main() -> None:
    """Print one line per data set, ranker and seed."""
    with tempfile.TemporaryDirectory() as temporary:
        for folder in (DATA / "lightgbm-lambdarank", mq2008(Path(temporary))):
            name = "mq2008" if folder == Path(temporary) else folder.name
            linear = run(folder, "ranker=linear").metrics
            print(f"{name} linear: ndcg_at_5 {linear[NDCG]:.4f}, map {linear[MAP]:.4f}")
            for overrides in (("seed=0",), ("seed=1",), ("seed=2",), ("seed=0", "ranker.gain=exponential")):
                result = run(folder, "ranker=lambdamart", *overrides)
                found = result.metrics
                print(
                    f"{name} lambdamart {' '.join(overrides)}: ndcg_at_5 {found[NDCG]:.4f}, LightGBM's own "
                    f"{own_ndcg(result):.4f}, map {found[MAP]:.4f}, {found['data/lambdamart_trees']:.0f} trees, "
                    f"{found['time/fit_ranker']:.1f} s"
                )


if __name__ == "__main__":
    main()
