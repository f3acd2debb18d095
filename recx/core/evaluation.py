"""The figures of lists, a value a user, with means and intervals: what an evaluator returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.resampling import Procedure, bootstrap
from recx.core.types import Array, Doubles, Notes

if TYPE_CHECKING:
    import pandas as pd


class Digestible(Protocol):
    """Ground truth, of which an evaluation only needs the hash."""

    def digest(self) -> str: ...


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Figures of lists: a value a user for most metrics, one number for some.

    Attributes:
        users: raw ids [n_users].
        values: metric -> [n_users], NaN where the metric leaves the user out.
        scalars: metric -> number.
        notes: counts of what was left out, merged or looks odd.
        slices: name -> [n_users], what users may be grouped by when evaluations are compared.
        tables: name -> columns [n_rows] of a curve or table.
        name: what it is called in comparisons.
        about: what it is of, such as ``union + linear``.
        rules: the rules under which the figures came about.
        truth: what the lists were judged by, where it is at hand.
    """

    users: Array
    values: Mapping[str, Doubles]
    scalars: Mapping[str, float] = field(default_factory=dict)
    notes: Notes = field(default_factory=dict)
    slices: Mapping[str, Doubles] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    name: str = "run"
    about: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)
    truth: Digestible | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {value:.4f}" for name, value in list(self.means.items())[:8])
        more = f" and {len(self.means) - 8} more" if len(self.means) > 8 else ""
        return f"<Evaluation {self.name!r} of {len(self.users)} users: {told}{more}>"

    @cached_property
    def protocol(self) -> dict[str, Any]:
        """The rules and, where the truth is at hand, its hash: two evaluations can be compared where these agree."""
        return {**self.rules, **({} if self.truth is None else {"truth": self.truth.digest()})}

    @cached_property
    def means(self) -> dict[str, float]:
        """Every metric by name: the mean over the users that it counts (NaN if there is none), or its one number."""
        counted = {name: values[~np.isnan(values)] for name, values in self.values.items()}
        means = {name: float(values.mean()) if len(values) else float("nan") for name, values in counted.items()}
        return {**means, **{name: float(number) for name, number in self.scalars.items()}}

    @cached_property
    def per_user(self) -> pd.DataFrame:
        """One row a user: the raw id and one column a metric."""
        import pandas as pd

        return pd.DataFrame({"user": self.users, **self.values})

    def interval(self, name: str, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> tuple[float, float]:
        """Return the percentile bootstrap interval of a metric's mean, drawn over users.

        Efron, Tibshirani: An introduction to the bootstrap, 1993.

        Raises:
            InputError: there is no such metric, or it is one number and has no value a user.
        """
        return self.intervals([name], level, resamples, seed)[name]

    def intervals(
        self, names: Sequence[str] | None = None, level: float = 0.95, resamples: int = 10_000, seed: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Return ``interval`` of several metrics at once, for little more than one costs; None: all of them."""
        Procedure(level, resamples, seed=seed)  # refuses what is out of range
        if isinstance(names, str):
            raise InputError(f"names={names!r}: give a list, such as [{names!r}]")
        names = list(self.values) if names is None else list(names)
        for name in names:
            if name in self.scalars:
                raise InputError(f"the metric {name!r} is one number and has no value a user, so it has no interval")
            if name not in self.values:
                raise InputError(f"there is no metric {name!r} here: {did_you_mean(name, self.values)}")
        if not names:
            return {}
        low, high = bootstrap(
            np.column_stack([self.values[name] for name in names]), level=level, resamples=resamples, seed=seed
        )
        return {name: (float(low[place]), float(high[place])) for place, name in enumerate(names)}
