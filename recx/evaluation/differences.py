"""Differences between runs as tables: of every run from the first, and of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from recx.core.resampling import Procedure, bootstrap, sign_flip
from recx.core.types import Array, Bools, Doubles
from recx.evaluation.statistics import cohens_dz, equivalence, holm, paired_t
from recx.evaluation.warnings import ALL

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
    table["p_t_holm"] = holm(table["p_t"].to_numpy())
    table["p_holm"] = holm(table["p_sign_flip"].to_numpy())
    if margin is not None:
        table["p_equivalent_holm"] = holm(table["p_equivalent"].to_numpy())
    return table


def pairs(
    cube: Doubles, metrics: Sequence[str], labels: Sequence[str], procedure: Procedure, margin: float | None = None
) -> pd.DataFrame:
    """Return how every run differs from every earlier one, over all users, adjusted for all these pairs.

    Args: as of ``differences``.
    """
    import pandas as pd

    everyone = {ALL: np.ones(len(cube), dtype=bool)}
    firsts = range(len(labels) - 1)
    parts = [differences(cube[:, :, at:], metrics, labels[at:], everyone, procedure, margin) for at in firsts]
    table = pd.concat(parts, ignore_index=True)
    table["metric"] = pd.Categorical(table["metric"], list(metrics))
    table = table.sort_values("metric", kind="stable", ignore_index=True).astype({"metric": object})
    for p in [name.removesuffix("_holm") for name in table.columns if name.endswith("_holm")]:
        table[f"{p}_holm"] = holm(table["p_sign_flip" if p == "p" else p].to_numpy())
    return table


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
