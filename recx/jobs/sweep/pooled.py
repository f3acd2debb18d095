"""The figures of runs of one chain that hold out different events or have different seeds, pooled over these runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.fold_names import outside_name
from recx.core.types import Doubles, Longs
from recx.experiment.saved_runs import JUDGED, SavedRun
from recx.experiment.saved_tables import reading
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.repeats import PART, REPEATS, Repeat
from recx.jobs.sweep.summary import settings_of

OF_USERS = ("of_users", "low", "high", "users", "of_requests", "requests")
OF_RUNS = ("of_runs", "sd", "trend", "trend_p")
COUNT = "/users"
"""The end of the names of figures that are counts."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """The figures of several runs of one chain.

    Attributes:
        key: The setting in which the runs differ, such as ``split.part``.
        runs: Its value in each run, as typed.
        table: One row per metric, as columns. ``metric``; ``mean``: its figure, which is one of the next three;
            ``of_users``: the mean in which each user counts once, with the mean of its values where several runs ask
            it, with its 95 % interval ``low`` to ``high`` (bootstrap over users) and the number of ``users``;
            ``of_requests``: the mean in which each of the ``requests`` counts once; ``of_runs``: the mean of the runs'
            figures, with their standard deviation ``sd``; ``trend``: the slope of these per window in time, or per
            position, by least squares, with its p (``trend_p``: t-test, from three runs on); and the figure of each
            run. NaN is what a metric without values per user, or a setting without an order, does not have.
        missing: What of the runs that belong to it is not there, one sentence; "" if nothing is missing.
    """

    key: str
    runs: tuple[str, ...]
    table: Mapping[str, Sequence[Any]]
    missing: str = ""

    @property
    def repeat(self) -> Repeat:
        """What the runs are."""
        return REPEATS[self.key]

    def row(self, metric: str) -> Mapping[str, Any]:
        """Return the figures of a metric; {} if there are none."""
        names = list(self.table["metric"])
        return {name: of[names.index(metric)] for name, of in self.table.items()} if metric in names else {}


def key_of(trials: Sequence[Trial]) -> str | None:
    """Return the setting in which trials of one chain differ, that of their folds before that of their seeds."""
    settings = [settings_of(trial) for trial in trials]
    found = [key for key in REPEATS if len({of.get(key) for of in settings}) > 1]
    return found[-1] if found else None


def pooled_of(trials: Sequence[Trial]) -> Pooled | None:
    """Return the figures of trials that differ in their seed or in what they hold out; None if they do not.

    Args:
        trials: The trials of one chain that have an objective, in their order.

    Raises:
        InputError: The files of a trial are missing or damaged.
    """
    key = key_of(trials)
    if key is None:
        return None
    folders, typed = [Path(trial.folder) for trial in trials], [settings_of(trial).get(key, "") for trial in trials]
    figures, fold = [SavedRun(folder).metrics for folder in folders], SavedRun(folders[0]).fold
    names = [name for name in figures[0] if _is_judged(name) and all(name in of for of in figures)]
    of_users, evaluation = _over_users(folders, names, fold)
    intervals = evaluation.intervals()
    columns: dict[str, list[Any]] = {name: [] for name in ("metric", "mean", *OF_USERS, *OF_RUNS, *_heads(key, typed))}
    for name in names:
        runs = [of[name] for of in figures]
        slope, p = _trend(REPEATS[key].trend, typed, runs)
        spread = float(np.std(runs, ddof=1))
        low, high = intervals.get(name, (math.nan, math.nan))
        mean, users, of_requests, requests = of_users.get(name, (math.nan, 0, math.nan, 0))
        of_runs = fmean(runs)
        main = mean if REPEATS[key].each_once and name in of_users else of_runs
        row = (outside_name(name, fold), main, mean, low, high, users, of_requests, requests, of_runs, spread, slope, p)
        for column, value in zip(columns.values(), (*row, *runs), strict=True):
            column.append(value)
    return Pooled(key, tuple(typed), columns, _missing(key, typed, folders[0]))


def objective_of(trials: Sequence[Trial], metric: str, fold: str) -> float | None:
    """Return the mean of a metric in which each user counts once; None where the mean of the trials is its figure.

    Args:
        trials: The trials of one chain that have an objective.
        metric: The full name of the metric.
        fold: The fold that the trials are of.

    Raises:
        InputError: The files of a trial are missing or damaged.
    """
    key = key_of(trials)
    if key is None or not REPEATS[key].each_once:
        return None
    found, _ = _over_users([Path(trial.folder) for trial in trials], [metric], fold)
    return found[metric][0] if metric in found else None


def _is_judged(name: str) -> bool:
    return name.startswith(JUDGED) and not name.endswith(COUNT)


def _heads(key: str, typed: Sequence[str]) -> list[str]:
    """Return the names of the columns of the runs; of several runs with one value, such as two seeds, numbered."""
    heads = [f"{REPEATS[key].name} {value}" for value in typed]
    numbered = (f" ({heads[: at + 1].count(head)})" if heads.count(head) > 1 else "" for at, head in enumerate(heads))
    return [f"{head}{number}" for head, number in zip(heads, numbered, strict=True)]


def _over_users(
    folders: Sequence[Path], names: Sequence[str], fold: str
) -> tuple[dict[str, tuple[float, int, float, int]], Evaluation]:
    """Return metric -> (mean over users, users, mean over requests, requests), and each user's mean over the runs."""
    import pandas as pd
    import pyarrow.parquet as pq

    tables = []
    for folder in folders:
        with reading(folder / "per_user.parquet") as path:
            known = set(pq.read_schema(path).names)
            columns = [outside_name(name, fold) for name in names]
            tables.append(pq.read_table(path, columns=["user", *(name for name in columns if name in known)]))
    ids = [table["user"].to_numpy() for table in tables]
    code, users = pd.factorize(np.concatenate(ids))
    values: dict[str, Doubles] = {}
    found: dict[str, tuple[float, int, float, int]] = {}
    for name in names:
        column = outside_name(name, fold)
        if not all(column in table.column_names for table in tables):
            continue  # one number without values per user
        every = np.concatenate([table[column].to_numpy().astype(np.float64) for table in tables])
        counted = ~np.isnan(every)
        times: Longs = np.bincount(code[counted], minlength=len(users))
        sums = np.bincount(code[counted], weights=every[counted], minlength=len(users))
        values[name] = np.divide(sums, times, out=np.full(len(users), np.nan), where=times > 0)
        n_users, n_requests = int((times > 0).sum()), int(counted.sum())
        mean = float(np.nanmean(values[name])) if n_users else math.nan
        found[name] = mean, n_users, float(every[counted].mean()) if n_requests else math.nan, n_requests
    return found, Evaluation(np.asarray(users), values)


def _trend(order: int, typed: Sequence[str], runs: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the runs' figures along their setting, and its p; NaN where there is no order."""
    from scipy import stats

    try:
        x = [order * float(value) for value in typed]
    except ValueError:  # split.position=last
        return math.nan, math.nan
    if not order or len(set(x)) < 2 or any(math.isnan(value) for value in runs):
        return math.nan, math.nan
    if len(runs) < 3:
        return (runs[1] - runs[0]) / (x[1] - x[0]), math.nan
    line = stats.linregress(x, runs)
    return float(line.slope), float(line.pvalue)


def _missing(key: str, typed: Sequence[str], folder: Path) -> str:
    """Return which parts of a k-fold split no run has held out; "" if there are none."""
    split = SavedRun(folder).config.get("split")
    k = split.get("k") if isinstance(split, Mapping) else None
    if key != PART or not isinstance(k, int):
        return ""
    left = sorted(set(map(str, range(k))) - set(typed), key=int)
    if not left:
        return ""
    return f"{len(left)} of {k} parts (split.part={','.join(left)}) were not run: whoever is in them is not counted"
