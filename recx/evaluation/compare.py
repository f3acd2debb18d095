"""Which run is better, by how much, and could it be chance: paired differences, intervals, tests and effect sizes.

    recx.compare(ev_a, ev_b, ["ndcg_at_10"]).table

The first run is the baseline; every other one is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.metric_names import hint
from recx.core.resampling import Procedure
from recx.core.types import Bools
from recx.evaluation.comparison_html import html_of
from recx.evaluation.differences import differences, pairs, sliced_pairs
from recx.evaluation.paired_users import of_users, paired_users
from recx.evaluation.side_by_side import incomparable, means_of
from recx.evaluation.slices import quarters
from recx.evaluation.verdicts import crossings, first_of, sides
from recx.evaluation.warnings import (
    ALL,
    differing_cards,
    easily_misread,
    some,
    too_many_tests,
    unpaired,
    without_list,
)

if TYPE_CHECKING:
    import pandas as pd

SAMPLED = "_sampled_"
"""Part of the name of a metric over sampled items, before their number."""


@runtime_checkable
class Evaluated(Protocol):
    """An object with an evaluation, such as a saved run."""

    @property
    def evaluation(self) -> Evaluation: ...


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of ``compare``.

    Attributes:
        table: One row per metric, slice and run other than the baseline. Its columns: metric, slice (``all`` or a range
            of ``by``), baseline, run, users (pairs), mean_baseline, mean_baseline_low, mean_baseline_high, mean_run,
            mean_run_low, mean_run_high, difference (run - baseline), difference_low, difference_high, relative (to the
            baseline's mean; NaN where that is 0), wins, ties, losses (users), d_z (Cohen's), p_t (paired t-test),
            p_sign_flip (randomisation), and p_t_holm, p_holm: both adjusted by Holm over all rows of the table; with a
            margin, p_equivalent (two one-sided t-tests) and p_equivalent_holm; and higher: the run with the higher
            mean where the two are told apart (p_holm below 0.05), else "". NaN is what cannot be said: an interval of
            fewer than two users, p_t of equal differences. Of runs that are not tested: one row per metric and run,
            with metric, run, users, mean, mean_low, mean_high.
        baseline: The name of the first run.
        runs: The names of the others.
        by: The slice, if any.
        procedure: The settings of intervals and tests.
        warnings: Sentences to read before the numbers; differences between the protocol cards come first.
        notes: Counts of users without a list, and of users and pairs that were left out.
        about: Run -> its contents, such as ``union + linear``.
        tested: Whether the runs are of one fold and one ground truth, so that their differences mean something.
        margin: The differences up to which runs count as equivalent; None: that is not tested.
        between: Makes ``pairs``; None: there are two runs, or they are not tested.
        within: Makes ``slices``; None: the baseline has no slice with two parts, or the runs are not tested.
    """

    table: pd.DataFrame
    baseline: str
    runs: tuple[str, ...]
    by: str | None
    procedure: Procedure
    warnings: list[str]
    notes: Mapping[str, float]
    about: Mapping[str, str]
    tested: bool = True
    margin: float | None = None
    between: Callable[[], pd.DataFrame] | None = None
    within: Callable[[], pd.DataFrame] | None = None

    @cached_property
    def pairs(self) -> pd.DataFrame | None:
        """Of more than two runs, the same table for all pairs, over all users; None of two.

        Each row is of a run (``run``) and an earlier one (``baseline``), adjusted by Holm over all these rows.
        """
        return None if self.between is None else self.between()

    @cached_property
    def slices(self) -> pd.DataFrame | None:
        """The same table for all pairs in the quarters of every slice that the baseline has; None if it has none.

        Its rows have a column more, ``by``: the name of the slice. They are adjusted by Holm over all those of their
        metric, whichever slice and pair they are of.
        """
        return None if self.within is None else self.within()

    def crossings(self, metric: str) -> list[str]:
        """Return a sentence for all pairs of which one run is higher in some slices, and the other one in others.

        Args:
            metric: A metric of the table.
        """
        return [] if self.slices is None else crossings(self.slices, metric)

    def __repr__(self) -> str:
        runs = ", ".join(self.runs)
        return f"<Comparison of {runs} with {self.baseline}: {len(self.table)} rows, {len(self.warnings)} warnings>"

    def _repr_html_(self) -> str:
        names = [f"{name} ({self.about[name]})" if name in self.about else name for name in (*self.runs, self.baseline)]
        between = "against" if self.tested else "beside"
        heading = f"{', '.join(names[:-1])} {between} {names[-1]}"
        changes = [f"{metric}: {one}" for metric in self.table["metric"].unique() for one in self.crossings(metric)]
        said = [] if self.slices is None else [sides(self.slices), *first_of(changes)]
        return html_of(heading, self.warnings, self.table, self.procedure.level, self.pairs, said)


def compare(
    *runs: Evaluation | Evaluated | Sequence[str],
    metrics: Sequence[str] | None = None,
    by: str | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    draws: int = 10_000,
    seed: int = 0,
    anyway: bool = False,
    margin: float | None = None,
) -> Comparison:
    """Compare runs with the first one, user by user.

    Args:
        *runs: Two or more evaluations or saved runs, optionally followed by a list of metrics.
        metrics: Names of metrics; None: all that have a value per user in every run.
        by: The name of a slice of the baseline, such as ``history_length``, to add rows for the quarters of its users.
        level: The level of the intervals.
        resamples: The number of resamples of the bootstrap.
        draws: The number of draws of the randomisation test.
        seed: The seed of both.
        anyway: Whether to show runs of different folds or data side by side, which are not tested then.
        margin: A difference too small to matter, in units of the metrics, to test also whether runs are equivalent.

    Raises:
        InputError: The runs are of different folds or data; there are fewer than two runs, no shared user, a metric
            that a run lacks or that has no value per user, an unknown slice, or a setting out of range.
    """
    procedure = Procedure(level, resamples, draws, seed)
    if margin is not None and not (isinstance(margin, int | float) and 0 < margin < np.inf):
        raise InputError(f"margin={margin}: it must be a difference above 0, such as 0.002")
    evaluations, requested = _separated(runs, metrics)
    names, left_out = _chosen(evaluations, requested)
    if reasons := list(incomparable(evaluations)):
        if not anyway:
            raise InputError(
                f"compare: {reasons[0]}, so no difference between them means anything: compare runs of one fold and "
                "the same targets; --anyway (from Python: anyway=True) shows their figures side by side, without tests"
            )
        table = means_of(evaluations, names, procedure)
        untested = [f"{reason}: nothing is tested" for reason in reasons]
        return Comparison(table, *_names(evaluations), None, procedure, untested, {}, _about(evaluations), tested=False)
    users = paired_users(evaluations)
    columns = [np.column_stack([run.values[name] for name in names]) for run in evaluations]
    cube = np.stack([of_users(*pair, users) for pair in zip(columns, evaluations, strict=True)], axis=2)
    slices = {} if by is None else _quarters(evaluations[0], by, users)
    everyone = np.ones(len(users), dtype=bool)
    labels = [evaluation.name for evaluation in evaluations]
    table = differences(cube, names, labels, {ALL: everyone, **slices}, procedure, margin)
    between = partial(pairs, cube, names, labels, procedure, margin) if len(labels) > 2 else None
    parted = {name: quarters(of_users(values, evaluations[0], users)) for name, values in evaluations[0].slices.items()}
    parted = {name: parts for name, parts in parted.items() if len(parts) > 1}
    within = partial(sliced_pairs, cube, names, labels, parted, procedure, margin) if parted else None
    notes, sentences = unpaired(evaluations, names, cube, [users.isin(evaluation.users) for evaluation in evaluations])
    missing_notes, missing = without_list(evaluations)
    notes |= missing_notes
    if by is not None and (unsliced := len(users) - sum(int(members.sum()) for members in slices.values())):
        notes["users_without_slice"] = unsliced
        sentences.append(f"users without {by} only count in the rows of all users: {unsliced:,}")
    warnings = [
        *differing_cards(evaluations),
        *missing,
        *([f"not every run has a value per user of {some(left_out)}: left out"] if left_out else []),
        *sentences,
        *easily_misread(table, by),
        *too_many_tests(len(table), len(names), len(labels), sum(map(len, parted.values())), procedure),
    ]
    return Comparison(
        table,
        *_names(evaluations),
        by,
        procedure,
        warnings,
        notes,
        _about(evaluations),
        margin=margin,
        between=between,
        within=within,
    )


def _names(runs: Sequence[Evaluation]) -> tuple[str, tuple[str, ...]]:
    return runs[0].name, tuple(run.name for run in runs[1:])


def _about(runs: Sequence[Evaluation]) -> dict[str, str]:
    return {run.name: run.about for run in runs if run.about}


def _separated(
    given: Sequence[Evaluation | Evaluated | Sequence[str]], metrics: Sequence[str] | None
) -> tuple[list[Evaluation], Sequence[str] | None]:
    """Return the runs under distinct names, and the metrics that follow them or are given by keyword."""
    last = given[-1] if given else None
    if metrics is None and isinstance(last, list | tuple) and all(isinstance(name, str) for name in last):
        given, metrics = given[:-1], last
    named: dict[str, Evaluation] = {}
    for one in given:
        run = one.evaluation if isinstance(one, Evaluated) else one
        if not isinstance(run, Evaluation):
            raise InputError(
                f"compare: a {type(run).__name__} is not an evaluation: give what recx.evaluate or recx.results.load "
                "returned, one after the other"
            )
        numbered = (f"{run.name} ({number})" for number in count(2))  # of two with one name the later gets a number
        name = next(name for name in chain([run.name], numbered) if name not in named)
        named[name] = run if name == run.name else replace(run, name=name)
    if len(named) < 2:
        raise InputError(f"compare: at least two runs are needed, but there is {len(named) or 'none'}: add another one")
    names = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
    if isinstance(names, str) or names == []:
        raise InputError(f"metrics={names!r}: give a list of names, such as ['ndcg_at_10']")
    return list(named.values()), names


def _chosen(runs: Sequence[Evaluation], metrics: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the metrics to compare, and those left out because only some of the runs have them."""
    if metrics is not None:
        lacking = next(((name, run) for name in metrics for run in runs if name not in run.values), None)
        if lacking is not None:
            raise InputError(_lacks(*lacking))
        return list(dict.fromkeys(metrics)), []
    known = dict.fromkeys(name for run in runs for name in run.values)
    shared = [name for name in known if all(name in run.values for run in runs)]
    if not shared:
        listed = some([run.name for run in runs])
        raise InputError(f"the runs {listed} have no metric in common: evaluate them with the same metrics")
    return shared, [name for name in known if name not in shared]


def _lacks(metric: str, run: Evaluation) -> str:
    """Return the message for a metric that has no values per user in a run."""
    if metric in run.scalars:
        return f"the metric {metric!r} is one number and has no value per user, so it cannot be tested: choose another"
    full = str(metric).partition(SAMPLED)[0]
    other = next((name for name in run.values if name.partition(SAMPLED)[0] == full), None)
    if other is not None:
        return (
            f"{run.name} has {other!r}, not {metric!r}: a metric over sampled items is never compared with one over "
            "other items: evaluate both runs in the same way"
        )
    return f"{run.name} has no metric {metric!r}: {hint(str(metric), run.values)}"


def _quarters(baseline: Evaluation, by: str, users: pd.Index[Any]) -> dict[str, Bools]:
    """Return label -> mask of the users in that quarter of a slice [n_users]."""
    if not isinstance(by, str) or by not in baseline.slices:
        hint = did_you_mean(str(by), baseline.slices) if baseline.slices else "give history= to recx.evaluate"
        raise InputError(f"by={by!r}: {baseline.name} has no such slice: {hint}")
    values = of_users(baseline.slices[by], baseline, users)
    if np.isnan(values).all():
        raise InputError(
            f"by={by!r}: no user that {baseline.name} shares with others has a value: choose another slice"
        )
    return quarters(values)
