"""Runs that must not be tested against each other: of different folds, or with different targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.resampling import Procedure

if TYPE_CHECKING:
    import pandas as pd


def incomparable(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Yield why runs cannot be compared with the first one: their folds, their targets or their data differ."""
    ours = runs[0].protocol
    for run in runs[1:]:
        theirs = run.protocol
        # The hash of the targets is what counts; older runs have that of all data alone.
        data = "truth" if "truth" in ours and "truth" in theirs else "data_hash"
        names = f"{runs[0].name} and {run.name}"
        if _differ(ours.get("fold"), theirs.get("fold")):
            yield f"{names} are of different folds ({ours['fold']}, {theirs['fold']})"
        elif _differ(ours.get(data), theirs.get(data)):
            yield f"{names} are of different data: their users and targets are not the same"


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def means_of(runs: Sequence[Evaluation], metrics: Sequence[str], procedure: Procedure) -> pd.DataFrame:
    """Return the figures of each run over its own users: one row per metric and run.

    The columns are metric, run, users, mean, mean_low and mean_high.
    """
    import pandas as pd

    settings = (procedure.level, procedure.resamples, procedure.seed)
    ends = [run.intervals(metrics, *settings) for run in runs]
    rows = [
        (name, run.name, int((~np.isnan(run.values[name])).sum()), run.means[name], *found[name])
        for name in metrics
        for run, found in zip(runs, ends, strict=True)
    ]
    return pd.DataFrame(rows, columns=["metric", "run", "users", "mean", "mean_low", "mean_high"])
