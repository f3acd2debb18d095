"""The result of an evaluator: figures of lists, one value per user, with means and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recx.core.errors import InputError
from recx.core.metric_names import hint
from recx.core.resampling import FEW_USERS, Procedure, bootstrap
from recx.core.types import Array, Doubles, Notes

if TYPE_CHECKING:
    import pandas as pd


class Digestible(Protocol):
    """Ground truth, of which an evaluation only needs the hash."""

    def digest(self) -> str:
        """Return the hash."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Figures of lists: one value per user for most metrics, one number for some.

    Attributes:
        users: Raw ids [n_users].
        values: Metric -> [n_users], NaN where the metric leaves the user out.
        scalars: Metric -> number.
        notes: Counts of what was left out, merged or looks odd.
        slices: Name -> [n_users], by which users may be grouped when evaluations are compared.
        tables: Name -> columns [n_rows] of a curve or table.
        name: The name in comparisons.
        about: What was evaluated, such as ``union + linear``.
        rules: The rules by which the figures were computed.
        truth: The ground truth, if it is at hand.
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
        shown = ", ".join(f"{name} {value:.4f}" for name, value in list(self.means.items())[:8])
        more = f" and {len(self.means) - 8} more" if len(self.means) > 8 else ""
        return f"<Evaluation {self.name!r} of {len(self.users)} users: {shown}{more}>"

    def _repr_html_(self) -> str:
        from recx.core.html_table import sentences, stages, title

        about = ", ".join(filter(None, (self.about, f"{len(self.users):,} users")))
        return str(title(self.name, about) + sentences(self.warnings) + stages(self.means))

    @cached_property
    def protocol(self) -> dict[str, Any]:
        """The rules and, if it is at hand, the hash of the ground truth: what two comparable evaluations share."""
        return {**self.rules, **({} if self.truth is None else {"truth": self.truth.digest()})}

    @cached_property
    def means(self) -> dict[str, float]:
        """Every metric by name: the mean over the users that it counts (NaN if there are none), or its one number."""
        counted = {name: values[~np.isnan(values)] for name, values in self.values.items()}
        means = {name: float(values.mean()) if len(values) else float("nan") for name, values in counted.items()}
        return means | {name: float(number) for name, number in self.scalars.items()}

    @cached_property
    def per_user(self) -> pd.DataFrame:
        """One row per user: the raw id and one column per metric."""
        import pandas as pd

        return pd.DataFrame({"user": self.users, **self.values})

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences on ids that do not meet, and on what intervals cannot say."""
        known = {name: values[~np.isnan(values)] for name, values in self.values.items()}
        sentences = []
        if self.notes.get("no_item_in_common"):
            sentences.append("no list shows any item of the ground truth: check that both use the same item ids")
        for what in ("users", "items"):
            if count := self.notes.get(f"{what}_spelled_differently"):
                sentences.append(
                    f"{count:,.0f} {what} would only meet without leading zeros, blanks, quotes, case and '.0', and do "
                    "not meet here: write their ids alike in all tables"
                )
        if len(self.users) < FEW_USERS:
            sentences.append(f"fewer than {FEW_USERS} users, so intervals say little")
        if single := [name for name, values in known.items() if len(values) == 1]:
            sentences.append(f"one user alone has no interval: {_some(single)}")
        if equal := [name for name, values in known.items() if len(values) > 1 and np.ptp(values) == 0]:
            sentences.append(
                f"every user has the same value, and an interval without width is not certainty: {_some(equal)}"
            )
        return sentences

    def interval(self, name: str, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> tuple[float, float]:
        """Return the percentile bootstrap interval of a metric's mean over users; NaN if it counts fewer than two.

        Efron, Tibshirani: An introduction to the bootstrap, 1993.

        Args:
            name: The metric.
            level: The confidence level.
            resamples: The number of bootstrap resamples.
            seed: The seed of the resamples.

        Raises:
            InputError: The metric is unknown, or is one number without values per user.
        """
        return self.intervals([name], level, resamples, seed)[name]

    def intervals(
        self, names: Sequence[str] | None = None, level: float = 0.95, resamples: int = 10_000, seed: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Return ``interval`` of several metrics (None: of all), for little more than the cost of one.

        Args:
            names: Full names of metrics; None: all.
            level: The level of the intervals, such as 0.95.
            resamples: How many bootstrap samples of users are drawn.
            seed: The seed of the draws.

        Raises:
            InputError: A metric is unknown, or a setting is out of range.
        """
        Procedure(level, resamples, seed=seed)  # raises if an argument is out of range
        if isinstance(names, str):
            raise InputError(f"names={names!r}: give a list, such as [{names!r}]")
        names = list(self.values if names is None else names)
        for name in names:
            if name in self.scalars:
                raise InputError(f"the metric {name!r} is one number without values per user, so it has no interval")
            if name not in self.values:
                raise InputError(f"there is no metric {name!r} here: {hint(name, self.values)}")
        if not names:
            return {}
        columns = np.column_stack([self.values[name] for name in names])
        bounds = zip(*bootstrap(columns, level=level, resamples=resamples, seed=seed), strict=True)
        return {name: (float(low), float(high)) for name, (low, high) in zip(names, bounds, strict=True)}


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" … ({len(names)} in all)" if len(names) > 6 else "")
