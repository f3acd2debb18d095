"""Figures of lists, a value a user, with means and intervals: from ``recx.evaluate`` or from a finished run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.errors import InputError, did_you_mean
from recx.files import SLICE
from recx.plain import title
from recx.protocol import rules
from recx.results import SavedRun
from recx.truth import Truth
from recx.types import Array, Doubles

if TYPE_CHECKING:
    import pandas as pd

JUDGED = ("retrieval/", "ranking/", "end_to_end/", "funnel/")
"""What a run's figures of quality begin with; the others are counts, seconds and what the ranker learnt."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Figures of lists: a value a user for most metrics, one number for some.

    name: what it is called in comparisons. users: raw ids [n_users]. values: metric -> [n_users], NaN where the metric
    leaves the user out. scalars: metric -> number. notes: counts of what was left out, merged or looks odd.
    about: what it is of, such as ``union + linear``. rules: under which the figures came about. slices: name ->
    [n_users], what users may be grouped by. truth: what the lists were judged by, where it is at hand.
    """

    name: str
    users: Array
    values: Mapping[str, Doubles]
    scalars: Mapping[str, float]
    notes: Mapping[str, float]
    rules: Mapping[str, Any]
    slices: Mapping[str, Doubles] = field(default_factory=dict)
    truth: Truth | None = None
    about: str = ""

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
        return {**means, **self.scalars}

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
        from recx.statistics import Procedure, bootstrap

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

    @classmethod
    def of_run(cls, run: SavedRun) -> Evaluation:
        """Return the figures of a finished run under their full names, such as ``end_to_end/ndcg_at_5``.

        Raises:
            InputError: a file of the run is missing or damaged.
        """
        table = run.per_user
        words = [name for name in table.columns if name != "user" and table[name].dtype.kind not in "fiu"]
        if "user" not in table or table["user"].duplicated().any() or words:
            raise InputError(
                f"{run.folder / 'per_user.parquet'} is not as a run writes it, a row a user and numbers alone: run the "
                "experiment again"
            )
        columns = {str(name): table[name].to_numpy(dtype=np.float64) for name in table.columns if name != "user"}
        values = {name: column for name, column in columns.items() if not name.startswith(SLICE)}
        slices = {name.removeprefix(SLICE): column for name, column in columns.items() if name.startswith(SLICE)}
        others = {name: number for name, number in run.metrics.items() if name not in values}
        return cls(
            name=run.folder.name,
            users=table["user"].to_numpy(),
            values=values,
            scalars={name: number for name, number in others.items() if name.startswith(JUDGED)},
            notes={name.removeprefix("data/"): n for name, n in others.items() if name.startswith("data/")},
            rules=rules(run.protocol),
            slices=slices,
            about=title(run.config) if (run.folder / "config.yaml").is_file() else "",
        )
