"""Applies metrics to judged lists; figures of blocks of users are joined to those of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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


class Joined:
    """Figures of all users, of whom blocks are added one after another."""

    def __init__(self, n_users: int) -> None:
        self._found: dict[str, Any] = {}
        self._notes: dict[str, float] = {}
        self._n_users, self._n_added = n_users, 0

    def add(self, part: Measured, n_users: int) -> None:
        """Add the figures of the next users.

        Args:
            part: The figures.
            n_users: Of how many users they are.
        """
        if n_users == self._n_users:
            self._found = dict(part.found)
        else:
            for name, one in part.found.items():
                self._found[name] = self._with(name, one, slice(self._n_added, self._n_added + n_users))
        self._n_added += n_users
        self._notes |= {name: self._notes.get(name, 0) + count for name, count in part.notes.items()}

    def _with(self, name: str, one: Any, users: slice) -> Any:
        if isinstance(one, Total):
            return self._found[name] + one if name in self._found else one
        values: Doubles = self._found[name] if name in self._found else np.empty(self._n_users)
        values[users] = one
        return values

    @property
    def measured(self) -> Measured:
        """The figures of all users, every ``Total`` finished."""
        found = {name: one.value if isinstance(one, Total) else one for name, one in self._found.items()}
        return Measured(found, self._notes)


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
