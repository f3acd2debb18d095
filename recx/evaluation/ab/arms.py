"""The users of one arm of a test, by what is summed over the lists of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recx.core.types import Doubles, Longs
from recx.evaluation.ab.log import Log
from recx.evaluation.ab.settings import METRICS

SUMS = ("lists", "hits", "shown", "clicks", "reciprocal")
"""What is summed: lists, those with a click, items shown, those clicked, 1 / the position of a list's first click."""


@dataclass(frozen=True, eq=False)
class Arm:
    """The users of one arm. Those with the same sums stand in one row: in a large log, there are many.

    Their order is that of the sums, so that nothing drawn by a seed depends on the order or the names in a log.

    Attributes:
        name: Its name.
        rows: The sums, sorted and distinct [n_rows, n_sums].
        users: The number of users with them [n_rows].
    """

    name: str
    rows: Doubles
    users: Longs

    @cached_property
    def n_users(self) -> int:
        """The number of users."""
        return int(self.users.sum())

    @cached_property
    def totals(self) -> Doubles:
        """The sums over all users [n_sums]."""
        return self.users @ self.rows

    def total(self, name: str) -> int:
        """Return the sum of a count over all users."""
        return round(float(self.totals[SUMS.index(name)]))

    def ratio_of(self, numerator: str, denominator: str) -> tuple[Doubles, Doubles]:
        """Return the two sums of each row of users [n_rows each]."""
        return self.rows[:, SUMS.index(numerator)], self.rows[:, SUMS.index(denominator)]

    def of_metric(self, metric: str) -> tuple[Doubles, Doubles]:
        """Return numerator and denominator of a metric for each row of users [n_rows each]."""
        return self.ratio_of(*METRICS[metric])


def arms_of(log: Log) -> tuple[Arm, Arm]:
    """Return control and treatment."""
    lists, arm = log.lists, log.assignment.arm
    order = np.lexsort((lists.reciprocal, lists.user))  # a sum of numbers depends on their order
    user = lists.user[order]
    columns = (np.ones(len(user)), lists.clicks > 0, lists.shown, lists.clicks, lists.reciprocal)
    sums = np.column_stack([np.bincount(user, column[order], minlength=len(arm)) for column in columns])
    control, treatment = (arm_of(name, sums[arm == place]) for place, name in enumerate(log.assignment.names))
    return control, treatment


def arm_of(name: str, sums: Doubles) -> Arm:
    """Return the arm of users with these sums [n_users, n_sums]."""
    known = np.nan_to_num(sums, nan=-1.0)  # without positions, no reciprocal is known
    order = np.lexsort(known.T[::-1])
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(known[order], axis=0) != 0).any(axis=1)
    starts = np.flatnonzero(first)
    return Arm(name, sums[order[starts]], np.diff(np.append(starts, len(order))))
