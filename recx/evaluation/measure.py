"""One line of figures: the same judged lists given to every metric that was asked for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recx.core.errors import RecxError
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.types import Array, Doubles, Notes, RankedLists


def measure(
    metrics: Iterable[Metric], judged: JudgedLists, rel_threshold: float | None = None
) -> tuple[dict[str, Doubles], dict[str, float], Notes]:
    """Return name -> one value a user [n_users], name -> one number for all, and the counts of the metrics.

    rel_threshold: for metrics without one of their own; None: that of ``judged``. A metric sees the users alone who
    have a target from its threshold on, so that no figure depends on which others are asked for.

    Raises:
        InputError: a metric cannot be computed from what there is.
        RecxError: a metric returned neither one value a user nor one number.
    """
    values: dict[str, Doubles] = {}
    scalars: dict[str, float] = {}
    notes: dict[str, float] = {}
    for metric in metrics:
        at = judged.at(getattr(metric, "rel_threshold", None) or rel_threshold or judged.rel_threshold)
        outcome = _numbers(metric, at)
        if outcome.ndim == 0:
            scalars[metric.name] = float(outcome)
        elif outcome.shape == (at.n_users,):
            values[metric.name] = judged.spread(outcome, at)
        else:
            raise RecxError(
                f"the metric {metric.name!r} must return one number, or one for each of the {at.n_users} users, "
                f"and returned an array of {outcome.shape}"
            )
        counts = getattr(metric, "notes", None)
        notes |= counts(at) if callable(counts) else {}
    return values, scalars, notes


def _numbers(metric: Metric, judged: JudgedLists) -> Array:
    """Return what a metric makes of the judged lists, float64.

    Raises:
        RecxError: it is no number, or an infinite one, with which no mean or test could be made.
    """
    given = metric(judged)
    try:
        outcome: Array = np.asarray(np.nan if given is None else given, dtype=np.float64)
    except (TypeError, ValueError):
        outcome = np.asarray(np.inf)
    if given is None or np.isinf(outcome).any():
        raise RecxError(f"the metric {metric.name!r} must return finite numbers (NaN where there is none)")
    return outcome


def cut_of(metric: Metric) -> int | None:
    """Return where a metric cuts the lists; None if it does not, or does not say."""
    return getattr(metric, "k", None)


def cuts_of(metrics: Iterable[Metric]) -> list[int]:
    """Return where these metrics cut the lists, smallest first."""
    return sorted({cut for metric in metrics if (cut := cut_of(metric)) is not None})


def tied(lists: RankedLists, k: int) -> float:
    """Return the share of lists whose items at ranks k and k + 1 have one score: their order decides a value at k."""
    last = lists.indptr[:-1][lists.lengths > k] + k - 1
    return float((lists.score[last] == lists.score[last + 1]).sum() / lists.n_lists)
