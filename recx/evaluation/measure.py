"""Applies metrics to judged lists and collects their values, single numbers and counts."""

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
    """Compute every metric on the same judged lists.

    A metric only sees the users who have a target from its threshold on, so no figure depends on which other metrics
    are computed along with it.

    Args:
        metrics: The metrics to compute.
        judged: The judged lists.
        rel_threshold: The threshold of metrics that have none of their own; None: that of ``judged``.

    Returns:
        Name -> one value per user [n_users], name -> one number for all users, and the counts of the metrics.

    Raises:
        InputError: A metric cannot be computed from the data at hand.
        RecxError: A metric returned neither one finite value per user nor one finite number.
    """
    values: dict[str, Doubles] = {}
    scalars: dict[str, float] = {}
    notes: dict[str, float] = {}
    for metric in metrics:
        at = judged.at(getattr(metric, "rel_threshold", None) or rel_threshold or judged.rel_threshold)
        result = _finite(metric(at), metric.name)
        if result.ndim == 0:
            scalars[metric.name] = float(result)
        elif result.shape == (at.n_users,):
            values[metric.name] = judged.spread(result, at)
        else:
            raise RecxError(
                f"the metric {metric.name!r} must return one number, or one for each of the {at.n_users} users, but "
                f"returned an array of shape {result.shape}"
            )
        counts = getattr(metric, "notes", None)
        notes |= counts(at) if callable(counts) else {}
    return values, scalars, notes


def _finite(given: object, name: str) -> Array:
    """Return what a metric returned as float64; an infinite value would spoil every mean and test."""
    try:
        result: Array = np.asarray(np.inf if given is None else given, dtype=np.float64)
    except (TypeError, ValueError):
        result = np.asarray(np.inf)
    if np.isinf(result).any():
        raise RecxError(f"the metric {name!r} must return finite numbers (NaN for users without a value)")
    return result


def cuts_of(metrics: Iterable[Metric]) -> list[int]:
    """Return the cuts of these metrics, smallest first; a metric without an attribute ``k`` has none."""
    return sorted({cut for metric in metrics if (cut := getattr(metric, "k", None)) is not None})


def tied(lists: RankedLists, cuts: Iterable[int]) -> dict[str, float]:
    """Return ``tied_at_k`` -> share of lists whose items at ranks k and k + 1 have equal scores.

    In such a list, only the order in which the items were given decides which of them counts at k.
    """
    shares = {}
    for k in cuts:
        last = lists.indptr[:-1][lists.lengths > k] + k - 1
        shares[f"tied_at_{k}"] = float((lists.score[last] == lists.score[last + 1]).sum() / lists.n_lists)
    return shares
