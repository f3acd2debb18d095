"""Figures of lists that another program made, in the order that trec_eval judges them in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recx.evaluation.evaluate import evaluate
from recx.jobs.reproduce.spec import Reproduction
from recx.jobs.reproduce.verdict import Measured
from recx.storage.readers.lists import read

if TYPE_CHECKING:
    import pandas as pd

    from recx.jobs.reproduce.verdict import Figures


def figures_of_lists(found: Reproduction, files: Mapping[str, Path]) -> Figures:
    """Evaluate the lists of a reproduction.

    Args:
        found: The reproduction.
        files: Name of a file of its data -> where it is.

    Raises:
        InputError: A file cannot be read, or there is no such metric.
    """
    figures = dict[tuple[str, str, str], Measured]()
    for name, given in found.lists.items():
        run = in_order_of_trec(read(files[given.run], "recommendations"))
        run = run if given.first is None else run.groupby("user", sort=False).head(given.first)
        metrics = list(dict.fromkeys(metric for one in found.expected if one.world == name for metric in one.figures))
        evaluation = evaluate(run, files[given.grades], metrics, order="given", rel_threshold=given.rel_threshold)
        figures |= {("", name, metric): Measured(float(evaluation.means[metric]), seeds=1) for metric in metrics}
    return figures


def in_order_of_trec(run: pd.DataFrame) -> pd.DataFrame:
    """Return a run in the order that trec_eval judges it in: falling score as float32, ties by falling document id."""
    exact = run.assign(score=run["score"].astype("float32"))
    return exact.sort_values(["user", "score", "item"], ascending=[True, False, False], kind="stable")
