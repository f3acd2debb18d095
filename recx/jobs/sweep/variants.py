"""What a sweep compares: its trials, or, where it varies seeds or folds, the groups that differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from rich.cells import cell_len

from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.fold_names import outside_name
from recx.core.types import Array, Doubles
from recx.evaluation.rules import rules
from recx.experiment.saved_runs import SavedRun
from recx.experiment.saved_tables import reading
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.pooled import key_of, objective_of
from recx.jobs.sweep.repeats import REPEATS
from recx.jobs.sweep.summary import WITHOUT, differing, settings_of

LONGEST_LABEL = 44
"""Cells of a label that a chart shows whole, on two lines."""


@dataclass(frozen=True)
class Variant:
    """One setting of a sweep: a trial, or several that differ in seed or fold, whose mean it is judged by.

    Attributes:
        trials: Its trials, in their order.
        settings: What distinguishes it from other variants: setting -> value as typed, "" where it is not set.
        names: How the trials are named where these are not their numbers.
        pooled: The objective in which each user counts once, where that is its figure, and not the mean of its trials.
    """

    trials: tuple[Trial, ...]
    settings: Mapping[str, str]
    names: str = ""
    pooled: float | None = None

    @cached_property
    def done(self) -> tuple[Trial, ...]:
        """The trials that have an objective."""
        return tuple(trial for trial in self.trials if trial.objective is not None)

    @property
    def name(self) -> str:
        """The numbers of its trials."""
        return self.names or ", ".join(str(trial.number) for trial in self.trials)

    @property
    def said(self) -> str:
        """What it is called in a sentence."""
        called = self.names or f"trial{'s' * (len(self.trials) > 1)} {self.name}"
        return f"{called} ({self.text})" if self.text else called

    @property
    def text(self) -> str:
        """Its settings on one line, "" where it is the only variant."""
        shown = {name: value for name, value in self.settings.items() if value or name == WITHOUT}
        return " ".join(_said(name, value) for name, value in shown.items())

    @property
    def label(self) -> str:
        """Its settings, or its trial where these are too long for a chart."""
        short = " ".join(value for name, value in self.settings.items() if value and name != WITHOUT)
        texts = (self.text, short, f"trial {self.name}" if not self.names else self.names)
        return next((text for text in texts if text and cell_len(text) <= LONGEST_LABEL), texts[-1])

    @cached_property
    def objective(self) -> float:
        """The mean over its trials, or over all users that these ask; NaN where it has none."""
        if self.pooled is not None:
            return self.pooled
        return fmean(trial.objective or 0.0 for trial in self.done) if self.done else math.nan

    @property
    def runs(self) -> int:
        """How many seeds or folds its trials with an objective have."""
        return len({tuple(settings_of(trial).get(key) for key in REPEATS) for trial in self.done})

    @property
    def repeated(self) -> str:
        """In which setting these differ; "" where there is one."""
        return key_of(self.done) or ""

    @property
    def spread(self) -> float:
        """The standard deviation of the objectives of its trials; NaN with fewer than two seeds or folds."""
        return stdev(trial.objective or 0.0 for trial in self.done) if self.runs > 1 else math.nan

    @property
    def seconds(self) -> float:
        """The seconds of all its trials."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def cached(self) -> int:
        """How many stages of its trials came from the cache."""
        return sum(trial.cached for trial in self.trials)

    @property
    def reason(self) -> str:
        """Why trials of it have no objective, "" where all have one."""
        return "; ".join(dict.fromkeys(trial.missing for trial in self.trials if trial.missing))

    def evaluation(self, objective: str, fold: str) -> Evaluation:
        """Return the objective of every user, averaged over the seeds and folds.

        Args:
            objective: The full name of the metric.
            fold: The fold that the trials are of.

        Raises:
            InputError: A trial has no value per user of it, or its files are missing or damaged.
        """
        import pandas as pd

        first = SavedRun(Path(self.done[0].folder))
        columns = [_per_user(Path(trial.folder), objective, fold) for trial in self.done]
        users, values = columns[0]
        if len(columns) > 1:
            frame = pd.concat([pd.Series(values, users) for users, values in columns], axis=1)
            users, values = frame.index.to_numpy(), frame.mean(axis=1).to_numpy(dtype=np.float64)
        return Evaluation(users, {objective: values}, name=self.name, rules=rules(first.protocol))


def variants_of(
    trials: Sequence[Trial], own: Trial | None = None, objective: str = "", fold: str = "test"
) -> list[Variant]:
    """Return what the trials of a sweep are compared as, the best first, those without an objective last.

    Args:
        trials: The trials, in their order.
        own: The experiment as it is, where no trial of a search is that; what it sets itself is not varied, however
            the sweeper spells it.
        objective: The full name of the metric, where trials that have run are pooled.
        fold: The fold that they are of.

    Raises:
        InputError: The files of a trial that is pooled are missing or damaged.
    """
    every = [*trials, *([own] if own else [])]
    of_trials, fixed = differing(trials), {} if own is None else settings_of(own)
    keys = [key for key in differing(every) if key not in REPEATS and (key in of_trials or key not in fixed)]
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for trial in every:
        groups.setdefault(tuple(settings_of(trial).get(key, "") for key in keys), []).append(trial)
    found = [Variant(tuple(group), dict(zip(keys, values, strict=True))) for values, group in groups.items()]
    named = [replace(one, names="the experiment") if own in one.trials else one for one in found]
    if objective:
        named = [replace(one, pooled=objective_of(one.done, objective, fold)) for one in named]
    return sorted(
        named,
        key=lambda one: (
            -one.objective if one.done else math.inf,
            any(trial.reason for trial in one.trials),
            one.trials[0].number,
        ),
    )


def _per_user(folder: Path, objective: str, fold: str) -> tuple[Array, Doubles]:
    """Return the users of a trial and its objective for each of them [n_users]."""
    import pandas as pd
    import pyarrow.parquet as pq

    column = outside_name(objective, fold)
    with reading(folder / "per_user.parquet") as path:
        known = column in pq.read_schema(path).names
        frame = pd.read_parquet(path, columns=["user", column] if known else ["user"])
    if not known:
        raise InputError(
            f"objective={objective} is one number without values per user, so no trial can be tested by it"
        )
    return frame["user"].to_numpy(), frame.iloc[:, 1].to_numpy(dtype=np.float64)


def left_out(deleted: str) -> str:
    """Return what a trial leaves out, without the groups that this is of."""
    names = (one.partition(".")[2] or one for one in deleted.split())
    return " ".join(names) or "nothing left out"


def _said(name: str, value: str) -> str:
    if name != WITHOUT:
        return f"{name}={value}"
    return f"{WITHOUT} {left_out(value)}" if value else left_out(value)
