"""How predicted probabilities compare with observed clicks: by deciles of the prediction, and by slices."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.resampling import resampled_sums
from recx.core.types import Array, Doubles, Fold, Longs, RankedLists
from recx.evaluation.ctr.rows import Rows
from recx.evaluation.metrics.curves import Table

MOST_VALUES = 20
"""Up to so many distinct numbers are slices of their own; more are divided into groups of equal size."""


class Groups(NamedTuple):
    """A division of rows.

    Attributes:
        place: The group of each row [n].
        labels: Name of column -> values that say which group it is [n_groups].
    """

    place: Longs
    labels: Table


def deciles(values: Array, bins: int, name: str) -> Groups:
    """Divide rows into ``bins`` groups of equal size by values [n]; equal values stay together."""
    borders = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
    _, place = np.unique(np.searchsorted(borders, values), return_inverse=True)
    order = np.lexsort((values, place))
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    last = np.append(first[1:], len(order)) - 1
    return Groups(place, {f"{name}_low": values[order[first]], f"{name}_high": values[order[last]]})


def table(rows: Rows, groups: Groups, level: float) -> Table:
    """Return, for each group, what was predicted and observed.

    Returns:
        The labels; rows; clicks; mean_predicted; observed, the share of the rows that were clicked; low and high, its
        interval (see ``intervals``); and calibrated, 1 if mean_predicted lies within it.
    """
    n_groups = len(next(iter(groups.labels.values())))
    n, clicks, predicted = (
        np.bincount(groups.place, weights=of, minlength=n_groups).astype(np.float64)
        for of in (None, rows.clicked, rows.p)
    )
    low, high = intervals(rows, groups.place, n, clicks, level)
    mean = predicted / n
    return {
        **groups.labels,
        "rows": n.astype(np.int64),
        "clicks": clicks.astype(np.int64),
        "mean_predicted": mean,
        "observed": clicks / n,
        "low": low,
        "high": high,
        "calibrated": ((low <= mean) & (mean <= high)).astype(np.int64),
    }


def intervals(rows: Rows, place: Longs, n: Doubles, clicks: Doubles, level: float) -> tuple[Doubles, Doubles]:
    """Return the interval of the share of clicks in each group [n_groups].

    It is Wilson's, of as many independent rows as have the variance that the shares have over users, whose rows belong
    together. So it has a width where no row, or every row, was clicked. Source: Wilson, JASA 22 (1927); Korn and
    Graubard, Survey Methodology 24 (1998), on the effective number of rows.
    """
    share = clicks / n
    cell, own = np.unique(place.astype(np.int64) * rows.n_users + rows.user, return_inverse=True)
    group = cell // rows.n_users
    deviation = np.bincount(own, weights=rows.clicked) - share[group] * np.bincount(own)
    variance = np.bincount(group, weights=deviation**2, minlength=len(n)) / n**2
    independent = share * (1 - share) / n
    known = (variance > 0) & (independent > 0)
    effective = n * np.divide(independent, variance, out=np.ones(len(n)), where=known)
    effective = np.clip(effective, 1.0, n)
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z**2 / (2 * effective)) / (1 + z**2 / effective)
    reach = z * np.sqrt(share * (1 - share) / effective + z**2 / (4 * effective**2)) / (1 + z**2 / effective)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


def errors(rows: Rows, place: Longs, level: float, resamples: int, seed: int) -> dict[str, float]:
    """Return the calibration error: the mean over rows of |predicted - observed| of the group that they are in.

    Even right probabilities have some, since clicks are drawn. ``calibration_error_by_chance`` is what a share
    ``level`` of resamples would show if every group were right: the users are resampled, with the difference of each
    group moved to 0. ``low`` and ``high`` are the interval of the error itself, which resampling makes larger. Source:
    Naeini, Cooper and Hauskrecht, AAAI (2015), with groups of equal size; Widmann, Lindsten and Zachariah, NeurIPS
    (2019), on the error under the null hypothesis.
    """
    n_groups = int(place.max()) + 1
    residual = np.bincount(
        place * rows.n_users + rows.user, weights=rows.p - rows.clicked, minlength=n_groups * rows.n_users
    ).reshape(n_groups, rows.n_users)
    total = residual.sum(axis=1)
    columns = np.column_stack([residual.T, rows.rows_of_user])
    sums = resampled_sums(columns, resamples, seed)
    n, tail = sums[:, -1], (1 - level) / 2
    low, high = np.quantile(np.abs(sums[:, :-1]).sum(axis=1) / n, [tail, 1 - tail])
    chance = np.quantile(np.abs(sums[:, :-1] - total).sum(axis=1) / n, level)
    return {
        "calibration_error": float(np.abs(total).sum() / len(rows)),
        "calibration_error_low": float(low),
        "calibration_error_high": float(high),
        "calibration_error_by_chance": float(chance),
    }


def slices(name: str, lists: RankedLists, fold: Fold, bins: int) -> Groups:
    """Divide the rows of lists by ``rank`` (the place in the list), or by a column of the lists, items or users.

    Numbers and times with many values are divided into groups of equal size; of classes and texts each is a slice.

    Raises:
        InputError: There is no such column, or there are several.
    """
    found = {
        place: values
        for place, values in {
            "the rank": lists.rank if name == "rank" else None,
            "a column of the lists": lists.columns.get(name),
            "a column of the items' table": _of(fold.history.items.table, name, lists.item),
            "a column of the users' table": _of(fold.history.users.table, name, lists.user, lists.list_of_row),
        }.items()
        if values is not None
    }
    if len(found) > 1:
        raise InputError(f"evaluator.by: {name!r} is {' and '.join(found)}: rename one of them")
    if not found:
        known = ["rank", *lists.columns, *fold.history.items.table, *fold.history.users.table]
        raise InputError(f"evaluator.by: there is no column {name!r}: {did_you_mean(name, known)}")
    [values] = found.values()
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), -np.inf, values)  # what is not known comes first
    distinct, place = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
    if len(distinct) > MOST_VALUES and (values.dtype.kind == "f" or values.dtype == np.int64):
        return deciles(values, bins, name)
    return Groups(place, {name: distinct})


def _of(table: Mapping[str, Array], name: str, rows: Array, again: Array | None = None) -> Array | None:
    """Return a column of a table for each row, None if it has none of this name."""
    if name not in table:
        return None
    return table[name][rows] if again is None else table[name][rows][again]
