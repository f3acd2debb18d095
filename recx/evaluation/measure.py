"""Applies metrics to judged lists; figures of blocks of users are joined to those of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from recx.core.errors import RecxError
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.total import Total
from recx.core.types import Array, Doubles, Notes, RankedLists


@dataclass(frozen=True, eq=False)
class Measured:
    """Figures of some users.

    Attributes:
        found: Name -> one value per user [n_users], a ``Total``, or a figure that holds for these users alone.
        notes: Counts.
    """

    found: Mapping[str, Any]
    notes: Notes = field(default_factory=dict)

    @property
    def joins(self) -> bool:
        """Whether the figures of all users follow from those of blocks of them."""
        return all(isinstance(one, np.ndarray | Total) for one in self.found.values())

    @property
    def values(self) -> dict[str, Doubles]:
        """Name -> one value per user [n_users]."""
        return {name: one for name, one in self.found.items() if isinstance(one, np.ndarray)}

    @property
    def numbers(self) -> dict[str, float]:
        """Name -> one number for all users."""
        return {name: float(_finite(one, name)) for name, one in self.found.items() if not isinstance(one, np.ndarray)}


def joined(parts: Sequence[Measured]) -> Measured:
    """Return the figures of all users from those of consecutive blocks of them, with every ``Total`` finished."""
    found = {name: _joined([part.found[name] for part in parts]) for name in parts[0].found}
    notes: dict[str, float] = {}
    for part in parts:
        notes |= {name: notes.get(name, 0) + count for name, count in part.notes.items()}
    return Measured(found, notes)


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], Total):
        return reduce(add, parts).value
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def measure(metric: Metric, judged: JudgedLists, rel_threshold: float | None = None) -> Measured:
    """Compute a metric.

    It only sees the users who have a target from its threshold on, so no figure depends on which other metrics are
    computed along with it.

    Args:
        metric: The metric.
        judged: The judged lists.
        rel_threshold: The threshold of a metric that has none of its own; None: that of ``judged``.

    Raises:
        InputError: The metric cannot be computed from the data at hand.
        RecxError: The metric returned neither one finite value per user nor one finite number.
    """
    at = judged.at(getattr(metric, "rel_threshold", None) or rel_threshold or judged.rel_threshold)
    result = _checked(metric(at), metric.name, at.n_users)
    counts = getattr(metric, "notes", None)
    return Measured(
        {metric.name: judged.spread(result, at) if isinstance(result, np.ndarray) else result},
        counts(at) if callable(counts) else {},
    )


def _checked(given: object, name: str, n_users: int) -> Doubles | Total[float] | float:
    """Return what a metric returned; an infinite value would spoil every mean and test."""
    if isinstance(given, Total):
        return given
    result = _finite(given, name)
    if result.ndim and result.shape != (n_users,):
        raise RecxError(
            f"the metric {name!r} must return one number, or one for each of the {n_users} users, but returned an "
            f"array of shape {result.shape}"
        )
    return result if result.ndim else float(result)


def _finite(given: object, name: str) -> Array:
    try:
        result: Array = np.asarray(np.inf if given is None else given, dtype=np.float64)
    except (TypeError, ValueError):
        result = np.asarray(np.inf)
    if np.isinf(result).any():
        raise RecxError(f"the metric {name!r} must return finite numbers (NaN for users without a value)")
    return result


def needs_all(metric: Metric) -> bool:
    """Return whether a metric asks for the lists of all users at once; one without the attribute does not."""
    return bool(getattr(metric, "needs_all", False))


def cuts_of(metrics: Iterable[Metric]) -> list[int]:
    """Return the cuts of these metrics, smallest first; a metric without an attribute ``k`` has none."""
    return sorted({cut for metric in metrics if (cut := getattr(metric, "k", None)) is not None})


def tied(lists: RankedLists, cuts: Iterable[int]) -> Measured:
    """Return ``tied_at_k`` -> share of lists whose items at ranks k and k + 1 have equal scores.

    In such a list, only the order in which the items were given decides which of them counts at k.
    """
    shares = {}
    for k in cuts:
        last = lists.indptr[:-1][lists.lengths > k] + k - 1
        equal = np.count_nonzero(lists.score[last] == lists.score[last + 1])
        shares[f"tied_at_{k}"] = Total(np.array([equal, lists.n_lists]), lambda sums: float(sums[0] / sums[1]))
    return Measured(shares)
