"""Figures of whole traces, where users are tasks that belong together: is every one of them answered rightly?

A trace counts if all its tasks are judged. Its success is the value of its first task, and its other tasks have none,
so that means, intervals and tests over users are means, intervals and tests over traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recx.core.entities import Entities
from recx.core.types import Array, Bools, Doubles, Ints, Longs

TRACE, COST = "trace", "cost"
SUMMED = ("calls", "input_tokens", "output_tokens", COST)
"""Columns of the users' table that are added up over the tasks of a trace."""


@dataclass(frozen=True, eq=False)
class Traces:
    """The traces of which every task is judged.

    Attributes:
        of_task: The trace of each judged task [n_users], from 0; -1 where it has none, or one that is judged in part.
        first: The first judged task of each trace [n_traces].
        in_part: How many traces are left out, because some of their tasks are not judged.
        sums: Name -> what the tasks of each trace add up to [n_traces]; NaN if that of a task is unknown.
    """

    of_task: Longs
    first: Longs
    in_part: int
    sums: Mapping[str, Doubles]

    @classmethod
    def of(cls, users: Entities, judged: Ints) -> Traces | None:
        """Return the traces of some judged users; None if the users' table has no column ``trace``.

        Args:
            users: All tasks of the data.
            judged: The numbers of those that are judged, rising [n_users].
        """
        column = users.table.get(TRACE)
        if column is None:
            return None
        number = _numbered(column)
        n_tasks = np.bincount(number[number >= 0])
        mine = number[judged]
        n_judged = np.bincount(mine[mine >= 0], minlength=len(n_tasks))
        whole = (n_judged == n_tasks) & (n_tasks > 0)
        kept = np.where((mine >= 0) & np.append(whole, False)[mine], mine, -1)
        known, of_task = np.unique(kept, return_inverse=True)
        of_task = of_task - int(-1 in known[:1])
        n = int(whole.sum())
        tasks = np.flatnonzero(of_task >= 0)
        first = np.zeros(n, dtype=np.int64)
        first[of_task[tasks][::-1]] = tasks[::-1]
        sums = {
            name: np.bincount(of_task[tasks], _known(users.table[name][judged[tasks]]), n).astype(np.float64)
            for name in SUMMED
            if name in users.table
        }
        return cls(of_task, first, int(((n_judged > 0) & ~whole).sum()), sums)

    def success(self, right: Doubles) -> Doubles:
        """Return 1 for a trace of which every task is right and 0 for others, at its first task [n_users]; else NaN.

        Args:
            right: Whether the first item of each judged task is right, 1 or 0 [n_users].
        """
        values = np.full(len(right), np.nan)
        values[self.first] = self._succeeds(right)
        return values

    def numbers(self, right: Doubles) -> dict[str, float]:
        """Return the mean sums of a trace, of which ``trace_calls`` is always there, and ``cost_per_success``.

        Calls are the tasks of a trace where the data does not count them. The cost of a success is the cost of all
        traces / the number of those that succeed, since failures are paid for too. Of each sum, traces with an unknown
        one are left out; NaN if none is left, or none succeeds.
        """
        if not len(self.first):
            return {}
        found = {"trace_calls": float(np.count_nonzero(self.of_task >= 0) / len(self.first))}
        for name, sums in self.sums.items():
            known = ~np.isnan(sums)
            found[f"trace_{name}"] = float(sums[known].mean()) if known.any() else float("nan")
        if COST in self.sums:
            known = ~np.isnan(self.sums[COST])
            successes = np.count_nonzero(self._succeeds(right)[known])
            found["cost_per_success"] = float(self.sums[COST][known].sum() / successes) if successes else float("nan")
        return found

    @property
    def notes(self) -> dict[str, float]:
        """Counts of the traces that are left out."""
        unknown = {f"traces_without_{name}": int(np.isnan(sums).sum()) for name, sums in self.sums.items()}
        return {"traces_judged": len(self.first), "traces_judged_in_part": self.in_part, **unknown}

    def _succeeds(self, right: Doubles) -> Bools:
        tasks = self.of_task >= 0
        wrong = np.bincount(self.of_task[tasks], weights=1 - right[tasks], minlength=len(self.first))
        return np.asarray(wrong == 0)


def _numbered(column: Array) -> Longs:
    """Return the number of every trace [n_users], from 0; -1 for an unknown one ("", a code below 0 or NaN)."""
    if column.dtype.kind == "f":
        unknown = np.isnan(column)
    else:
        unknown = column < 0 if column.dtype.kind in "iu" else column == ""
    number = np.full(len(column), -1, dtype=np.int64)
    number[~unknown] = np.unique(column[~unknown], return_inverse=True)[1]
    return number


def _known(values: Array) -> Doubles:
    """Return numbers as float64, NaN for those below 0, which are no amounts."""
    numbers = values.astype(np.float64)
    return np.where(numbers >= 0, numbers, np.nan)
