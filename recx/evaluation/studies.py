"""Chains in worlds, run with several seeds: means with their spread, and paired tests over users.

A user's difference between two chains is its mean over the seeds in which both have a value of the user. So a seed adds
no users, and one that a chain lacks counts for neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.metric_names import hint, lower_is_better
from recx.core.resampling import bootstrap, sign_flip
from recx.evaluation.average_ranks import DECIMALS
from recx.evaluation.side_by_side import incomparable
from recx.evaluation.standings import DRAWS, DRAWS_PER_RUN, told_apart
from recx.evaluation.statistics import holm

if TYPE_CHECKING:
    import pandas as pd

Seeds = Mapping[int, Evaluation]
"""Seed -> the run of a chain in a world with it."""
Worlds = Mapping[str, Mapping[str, Seeds]]
"""World -> chain -> its runs, none where none finished."""
NAMES = ("chain", "world")
MEANS = ("mean", "sd", "n_seeds", "users", "place", "reason")
OF_PAIRS = ("pairs", "difference", "low", "high", "p")
TEST = (*OF_PAIRS, "p_holm", "untested")
"""The columns of the test against the baseline; against the best they end in ``_best``."""
COLUMNS = (*NAMES, *MEANS, *TEST, *(f"{name}_best" for name in TEST), "stars")
"""The columns of ``study_table``."""
STAR, DAGGER = "*", "†"
"""Marks of a chain that is told apart from the baseline, and from the best of its world."""


def study_table(worlds: Worlds, metric: str, baseline: str | None) -> pd.DataFrame:
    """Return the table of one metric: a row per chain and world, in the given order.

    Args:
        worlds: The runs; all worlds have the same chains.
        metric: The full name of the metric.
        baseline: The chain that the others are held against; None: none.

    Returns:
        ``chain``, ``world``; ``mean`` and ``sd`` (n - 1) over ``n_seeds`` seeds of the run's mean; ``users`` that it
        counts with any seed; ``place`` in the world, 1 the best, ties sharing the first; ``reason`` why there is no
        mean, "" where there is. Against the baseline: ``pairs`` (users), ``difference``, the mean over them of chain -
        baseline, with its 95 % bootstrap interval ``low`` to ``high``; ``p`` of the paired randomisation test,
        two-sided; ``p_holm``, by Holm's method over all such tests of the table; ``untested``, why there is none, ""
        where there is one or none is wanted. The same with ``_best`` against the best mean of the world, of ties the
        first. ``stars``: ``*`` where ``p_holm`` is below 0.05, ``†`` where ``p_holm_best`` is.
    """
    import pandas as pd

    rows = [[chain, world, *_mean(seeds, metric)] for world, of in worlds.items() for chain, seeds in of.items()]
    table = pd.DataFrame(rows, columns=[*NAMES, *(name for name in MEANS if name != "place")])
    rounded = table["mean"].round(DECIMALS)
    table["place"] = rounded.groupby(table["world"]).rank(method="min", ascending=lower_is_better(metric))
    best = table[table["place"] == 1].drop_duplicates("world").set_index("world")["chain"].to_dict()
    draws = max(DRAWS, DRAWS_PER_RUN * len(table))  # 1 / DRAWS_PER_RUN is the least p that Holm's method can give
    for others, suffix in ((dict.fromkeys(worlds, baseline), ""), (best, "_best")):
        tests = [row for world, of in worlds.items() for row in _tests(of, others.get(world), metric, draws)]
        found = pd.DataFrame(tests, columns=list(TEST))
        found = found.astype({name: str if name == "untested" else "float64" for name in TEST})
        found["p_holm"] = holm(found["p"].to_numpy())
        table[[f"{name}{suffix}" for name in TEST]] = found
    marks = {STAR: table["p_holm"], DAGGER: table["p_holm_best"]}
    table["stars"] = ["".join(mark for mark, p in marks.items() if told_apart(p[row])) for row in table.index]
    return table[list(COLUMNS)]


def _mean(seeds: Seeds, metric: str) -> tuple[float, float, int, int, str]:
    """Return mean, sd, n_seeds, users and reason of a chain in a world."""
    if not seeds:
        return math.nan, math.nan, 0, 0, "it did not finish"
    lacking = next((run for run in seeds.values() if metric not in run.means), None)
    if lacking is not None:
        return math.nan, math.nan, 0, 0, f"it has no metric {metric!r}: {hint(metric, lacking.means)}"
    known = [run.means[metric] for run in seeds.values() if not math.isnan(run.means[metric])]
    if not known:
        return math.nan, math.nan, 0, 0, f"{metric} counts none of its users"
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
    return float(np.mean(known)), sd, len(known), _users(seeds, metric), ""


def _users(seeds: Seeds, metric: str) -> int:
    """Return the number of users that the metric counts with any seed."""
    import pandas as pd

    counted = [pd.Series(run.users[~np.isnan(run.values[metric])]) for run in seeds.values() if metric in run.values]
    return int(pd.concat(counted).nunique()) if counted else 0


def _tests(chains: Mapping[str, Seeds], other: str | None, metric: str, draws: int) -> Iterator[Mapping[str, Any]]:
    """Yield the test of every chain of a world against another one, as far as there is one."""
    import pandas as pd

    first = chains.get(other or "", {})
    named = {name: seeds for name, seeds in chains.items() if other is not None and name != other and seeds}
    untested = {name: why for name, seeds in named.items() if (why := _incomparable(first, seeds, metric))}
    columns = {name: differences(first, seeds, metric) for name, seeds in named.items() if name not in untested}
    found: dict[str, dict[str, float]] = {}
    if columns:
        frame = pd.DataFrame(columns)
        values = frame.to_numpy(dtype=np.float64)
        figures = [frame.count(), frame.mean(), *bootstrap(values), sign_flip(values, draws=draws)]
        rows = zip(*(np.asarray(figure).tolist() for figure in figures), strict=True)
        found = {name: dict(zip(OF_PAIRS, row, strict=True)) for name, row in zip(columns, rows, strict=True)}
    for name in chains:
        yield {"untested": untested.get(name, ""), **found.get(name, {})}


def _incomparable(first: Seeds, seeds: Seeds, metric: str) -> str:
    """Return why two chains cannot be tested against each other; "" if they can."""
    if not first:
        return "that one did not finish here"
    shared = [seed for seed in seeds if seed in first]
    if not shared:
        return "they finished with no seed in common"
    pairs = [(first[seed], seeds[seed]) for seed in shared]
    if any(metric not in run.values for pair in pairs for run in pair):
        return "no values per user"
    reason = next((reason for pair in pairs for reason in incomparable(pair)), "")
    return reason or ("" if differences(first, seeds, metric).notna().any() else "no user counts in both")


def differences(first: Seeds, seeds: Seeds, metric: str) -> pd.Series[float]:
    """Return by user the difference of a metric from ``first``, the mean over the seeds in which both have a value.

    Args:
        first: The chain that the other is held against.
        seeds: The other.
        metric: The metric, with values per user in all runs.
    """
    import pandas as pd

    def of(run: Evaluation) -> pd.Series[float]:
        return pd.Series(run.values[metric], pd.Index(run.users))

    parts = [of(run) - of(first[seed]) for seed, run in seeds.items() if seed in first]
    return parts[0] if len(parts) == 1 else pd.concat(parts, axis=1).mean(axis=1)
