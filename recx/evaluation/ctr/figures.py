"""Figures of predicted clicks, each with what every user contributes to it, from which its interval follows.

The contribution of a user is the derivative of the figure by the weight of that user's rows, the infinitesimal
jackknife: contributions add up to 0, and the figure of resampled users is, to the first order, the figure plus the sum
of theirs. Source: Efron, The Jackknife, the Bootstrap and Other Resampling Plans (1982), chapter 6; of the AUC of rows
that belong together, it is what Obuchowski, Biometrics 53 (1997), takes the variance of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recx.core.resampling import bootstrap
from recx.core.types import Doubles, Longs
from recx.evaluation.ctr.rows import Rows
from recx.evaluation.metrics.classification import CLIP


class Figure(NamedTuple):
    """A figure over all rows, and the contributions of users [n_users]."""

    value: float
    of_user: Doubles


def auc_pooled(rows: Rows) -> Figure:
    """P(p of a clicked row > p of another), ties 1/2, as the metric of this name."""
    place, total, hits = _ties(rows)
    others = total - hits
    below, above = _below(others), _below(hits[::-1])[::-1]
    n_hits, n_others = hits.sum(), others.sum()
    value = float(hits @ below) / (n_hits * n_others)
    won = np.where(rows.clicked, (below[place] / n_others - value) / n_hits, (above[place] / n_hits - value) / n_others)
    return Figure(value, rows.by_user(won))


def average_precision(rows: Rows) -> Figure:
    """The area under the steps of the precision-recall curve, without interpolation, as scikit-learn's."""
    place, total, hits = _ties(rows)
    n_hits = hits.sum()
    shown, found = (np.cumsum(counts[::-1])[::-1].astype(np.float64) for counts in (total, hits))  # from this p on
    precision = found / shown
    value = float(hits @ precision) / n_hits
    # A row raises the number shown at every threshold up to its p, and the number found there if it was clicked.
    of_shown, of_found = -np.cumsum(hits * found / shown**2), np.cumsum(hits / shown)
    moved = of_shown[place] + np.where(rows.clicked, precision[place] + of_found[place] - value, 0.0)
    return Figure(value, rows.by_user(moved) / n_hits)


def logloss(rows: Rows) -> Figure:
    """-mean over all rows of y log p + (1 - y) log(1 - p), p clipped at 1e-15."""
    loss = rows.by_user(row_losses(rows))
    value = float(loss.sum()) / len(rows)
    return Figure(value, (loss - value * rows.rows_of_user) / len(rows))


def normalised_entropy(rows: Rows) -> Figure:
    """Log loss / log loss of predicting the share of clicks among these rows for each of them.

    He et al., Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD (2014), equation 1.
    """
    rate, loss = rows.click_rate, logloss(rows)
    rate_of_user = (rows.by_user(rows.clicked) - rate * rows.rows_of_user) / len(rows)
    value = loss.value / entropy(rate)
    return Figure(value, (loss.of_user - value * np.log((1 - rate) / rate) * rate_of_user) / entropy(rate))


def calibration_ratio(rows: Rows) -> Figure:
    """Sum of the predicted probabilities / clicks: above 1, clicks are overestimated."""
    predicted, clicks = rows.by_user(rows.p), rows.by_user(rows.clicked)
    value = float(predicted.sum() / clicks.sum())
    return Figure(value, (predicted - value * clicks) / float(clicks.sum()))


FIGURES: tuple[Callable[[Rows], Figure], ...] = (
    auc_pooled,
    average_precision,
    logloss,
    normalised_entropy,
    calibration_ratio,
)


def figures(rows: Rows, level: float, resamples: int, seed: int) -> dict[str, float]:
    """Return every figure by name, with ``_low`` and ``_high``, the ends of its interval over users."""
    found = [figure(rows) for figure in FIGURES]
    # The mean of a column is the figure, and a resample's mean the figure of the resampled users.
    columns = np.stack([one.value + rows.n_users * one.of_user for one in found], axis=1)
    ends = zip(*bootstrap(columns, level=level, resamples=resamples, seed=seed), strict=True)
    values: dict[str, float] = {}
    for figure, one, (low, high) in zip(FIGURES, found, ends, strict=True):
        name = figure.__name__
        values |= {name: one.value, f"{name}_low": float(low), f"{name}_high": float(high)}
    return {**values, "information_gain": 1 - values["normalised_entropy"], "click_rate": rows.click_rate}


def entropy(rate: float) -> float:
    """Return the log loss of always predicting a click rate that is right."""
    return float(-rate * np.log(rate) - (1 - rate) * np.log(1 - rate))


def row_losses(rows: Rows) -> Doubles:
    """Return the log loss of each row [n]."""
    p = np.clip(rows.p, CLIP, 1 - CLIP)
    return np.asarray(-np.log(np.where(rows.clicked, p, 1 - p)))


def _ties(rows: Rows) -> tuple[Longs, Doubles, Doubles]:
    """Return the place of every row among the distinct p, rising [n]; the rows there, and the clicks among them."""
    distinct, place = np.unique(rows.p, return_inverse=True)
    total, hits = (np.bincount(of, minlength=len(distinct)).astype(np.float64) for of in (place, place[rows.clicked]))
    return np.asarray(place), total, hits


def _below(counts: Doubles) -> Doubles:
    """Return, for each place, the counts before it and half of its own."""
    return np.cumsum(counts) - counts / 2
