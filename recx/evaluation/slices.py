"""What users can be grouped by when runs are compared, and the quarters of such a grouping."""

from __future__ import annotations

import numpy as np

from recx.core.ragged import sum_of_groups
from recx.core.types import Bools, Doubles, Interactions
from recx.evaluation.ground_truth import GroundTruth


def slices_of(truth: GroundTruth, history: Interactions) -> dict[str, Doubles]:
    """Return the values by which the users of the truth can be grouped.

    Returns:
        ``history_length`` -> the number of events in the user's history [n_users]; ``item_popularity`` -> the mean
        number of events, of all users, with the user's targets [n_users], NaN for a user without targets.
    """
    lengths = np.zeros(len(truth.user))
    known = truth.user < history.n_users
    lengths[known] = history.lengths[truth.user[known]]
    clicks = sum_of_groups(history.clicks[truth.item].astype(np.float64), truth.indptr)
    targets = np.diff(truth.indptr)
    popularity = np.divide(clicks, targets, out=np.full(len(targets), np.nan), where=targets > 0)
    return {"history_length": lengths, "item_popularity": popularity}


def quarters(values: Doubles) -> dict[str, Bools]:
    """Divide users into quarters by a value; quarters with the same border are merged.

    Args:
        values: One value per user [n_users]; users with NaN belong to no quarter.

    Returns:
        Label, such as ``1 to 3`` -> mask of the users in that quarter [n_users].
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return {}
    borders = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf"))
    quarter = np.where(np.isnan(values), len(borders) + 1, np.searchsorted(borders, values))
    parts = [quarter == number for number in np.unique(quarter[quarter <= len(borders)])]
    for digits in (4, 17):  # the second only where the first cannot distinguish two quarters
        labels = [_label(values[members], digits) for members in parts]
        if len(set(labels)) == len(parts):
            break
    return dict(zip(labels, parts, strict=True))


def _label(values: Doubles, digits: int) -> str:
    ends = [
        f"{end:,.0f}" if end == round(end) or end >= 10 ** (digits - 1) else f"{end:.{digits}g}"
        for end in (values.min(), values.max())
    ]
    return " to ".join(dict.fromkeys(ends))
