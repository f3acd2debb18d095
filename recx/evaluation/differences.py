"""Differences between runs as tables: of every run from the first, of all pairs, and of these in parts of the users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from recx.core.resampling import Procedure, bootstrap, sign_flip
from recx.core.types import Array, Bools, Doubles
from recx.evaluation.statistics import cohens_dz, equivalence, holm, paired_t
from recx.evaluation.warnings import ALL, SIGNIFICANT

if TYPE_CHECKING:
    import pandas as pd


def differences(
    cube: Doubles,
    metrics: Sequence[str],
    labels: Sequence[str],
    slices: Mapping[str, Bools],
    procedure: Procedure,
    margin: float | None = None,
) -> pd.DataFrame:
    """Return how every run differs from the first: a row per metric, slice and run (see ``Comparison.table``).

    Args:
        cube: The values [n_users, n_metrics, n_runs]; NaN where a run has none.
        metrics: [n_metrics].
        labels: Names of the runs [n_runs].
        slices: Label -> mask of the users in it [n_users].
        procedure: The settings of intervals and tests.
        margin: Half the width of the differences that count as none; None: equivalence is not tested.
    """
    import pandas as pd

    found = [_figures(cube[members], procedure, margin) for members in slices.values()]
    rows = product(metrics, slices, labels[:1], labels[1:])
    table = pd.DataFrame(rows, columns=["metric", "slice", "baseline", "run"], dtype=object)
    for name in found[0]:
        table[name] = np.stack([figures[name] for figures in found], axis=1).ravel()
    return _adjusted(table)


def pairs(
    cube: Doubles, metrics: Sequence[str], labels: Sequence[str], procedure: Procedure, margin: float | None = None
) -> pd.DataFrame:
    """Return how every run differs from every earlier one, over all users, adjusted for all these rows.

    The arguments are those of ``differences``.
    """
    everyone = {ALL: np.ones(len(cube), dtype=bool)}
    return _adjusted(_of_pairs(cube, metrics, labels, everyone, procedure, margin))


def sliced_pairs(
    cube: Doubles,
    metrics: Sequence[str],
    labels: Sequence[str],
    slices: Mapping[str, Mapping[str, Bools]],
    procedure: Procedure,
    margin: float | None = None,
) -> pd.DataFrame:
    """Return how every run differs from every earlier one in parts of the users, adjusted for all parts of a metric.

    The arguments are those of ``differences``, but for ``slices``: what the users are divided by -> label of a part ->
    mask of the users in it [n_users]. The table has a column more, ``by``.
    """
    import pandas as pd

    parts = []
    for by, groups in slices.items():
        part = _of_pairs(cube, metrics, labels, groups, procedure, margin)
        part.insert(1, "by", by)
        parts.append(part)
    table = _ordered(pd.concat(parts, ignore_index=True), metrics)
    return pd.concat([_adjusted(of_metric) for _, of_metric in table.groupby("metric", sort=False)])


def _of_pairs(
    cube: Doubles,
    metrics: Sequence[str],
    labels: Sequence[str],
    slices: Mapping[str, Bools],
    procedure: Procedure,
    margin: float | None,
) -> pd.DataFrame:
    """Return the differences of all pairs of runs, metric by metric."""
    import pandas as pd

    firsts = range(len(labels) - 1)
    parts = [differences(cube[:, :, at:], metrics, labels[at:], slices, procedure, margin) for at in firsts]
    return _ordered(pd.concat(parts, ignore_index=True), metrics)


def _ordered(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    places = {name: place for place, name in enumerate(metrics)}
    return table.sort_values("metric", key=lambda column: column.map(places), kind="stable", ignore_index=True)


def _adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its p-values adjusted for all its rows, and the run with the higher mean, if told apart."""
    columns = {"p_t_holm": "p_t", "p_holm": "p_sign_flip", "p_equivalent_holm": "p_equivalent"}
    adjusted = {name: holm(table[source].to_numpy()) for name, source in columns.items() if source in table}
    higher = table["run"].where(table["difference"] > 0, table["baseline"])
    return table.assign(**adjusted, higher=higher.where(adjusted["p_holm"] < SIGNIFICANT, ""))


def _figures(cube: Doubles, procedure: Procedure, margin: float | None) -> dict[str, Array]:
    """Return name -> figure [n_metrics, n_runs - 1] of the values ``cube`` [n_users, n_metrics, n_runs]."""
    difference = cube[:, :, 1:] - cube[:, :, :1]
    paired = ~np.isnan(difference)
    sides = [np.where(paired, side, np.nan) for side in (cube[:, :, :1], cube[:, :, 1:])]
    columns = np.stack([*sides, difference], axis=1)
    shape = columns.shape[1:]
    users = paired.sum(axis=0)
    sums = np.nansum(columns, axis=0)
    means = np.divide(sums, users, out=np.full(shape, np.nan), where=users > 0)
    bounds = bootstrap(
        columns.reshape(len(cube), -1), level=procedure.level, resamples=procedure.resamples, seed=procedure.seed
    )
    low, high = (bound.reshape(shape) for bound in bounds)
    of_users = difference.reshape(len(cube), -1)
    tests = {
        "d_z": cohens_dz(of_users),
        "p_t": paired_t(of_users),
        "p_sign_flip": sign_flip(of_users, draws=procedure.draws, seed=procedure.seed),
        **({} if margin is None else {"p_equivalent": equivalence(of_users, margin)}),
    }
    figures: dict[str, Array] = {"users": users}
    for place, name in enumerate(("mean_baseline", "mean_run", "difference")):
        figures |= {name: means[place], f"{name}_low": low[place], f"{name}_high": high[place]}
    return {
        **figures,
        "relative": np.divide(means[2], means[0], out=np.full(shape[1:], np.nan), where=means[0] != 0),
        "wins": (difference > 0).sum(axis=0),
        "ties": (difference == 0).sum(axis=0),
        "losses": (difference < 0).sum(axis=0),
        **{name: values.reshape(shape[1:]) for name, values in tests.items()},
    }
