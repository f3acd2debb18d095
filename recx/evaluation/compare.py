"""Which run is better, by how much, and could it be chance: pairs over users, intervals, tests and effect sizes.

    recx.compare(ev_a, ev_b, ["ndcg_at_10"]).table

The first run is the baseline; every other one is compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.resampling import Procedure, bootstrap, sign_flip
from recx.core.types import Array, Bools, Doubles
from recx.evaluation.statistics import cohens_dz, holm, paired_t
from recx.evaluation.warnings import ALL, differing_cards, easily_misread, some, unpaired

if TYPE_CHECKING:
    import pandas as pd

SAMPLED = "_sampled_"
"""Stands in the name of a metric over sampled items, before their number."""


@runtime_checkable
class Evaluated(Protocol):
    """What has an evaluation, such as a saved run."""

    @property
    def evaluation(self) -> Evaluation: ...


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What ``compare`` found.

    table: one row a metric, slice and run other than the baseline. Its columns: metric, slice (``all`` or a range of
        ``by``), baseline, run, users (pairs), mean_baseline, mean_baseline_low, mean_baseline_high, mean_run,
        mean_run_low, mean_run_high, difference (run - baseline), difference_low, difference_high, relative (to the
        baseline's mean; NaN where that is 0), wins, ties, losses (users), d_z (Cohen's), p_t (paired t-test),
        p_sign_flip (randomisation), and p_t_holm, p_holm: both adjusted by Holm over all rows of the table.
    warnings: sentences to read before the numbers; what differs between the protocol cards stands first.
    notes: counts of users and pairs that were left out. about: run -> what it is of, such as ``union + linear``.
    """

    table: pd.DataFrame
    baseline: str
    runs: tuple[str, ...]
    by: str | None
    procedure: Procedure
    warnings: list[str]
    notes: Mapping[str, float]
    about: Mapping[str, str]

    def __repr__(self) -> str:
        runs = ", ".join(self.runs)
        return f"<Comparison of {runs} with {self.baseline}: {len(self.table)} rows, {len(self.warnings)} warnings>"


def compare(
    *runs: Evaluation | Evaluated | Sequence[str],
    metrics: Sequence[str] | None = None,
    by: str | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    draws: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare runs with the first one, user by user.

    runs: two or more evaluations or saved runs; a list of metrics may stand behind them in place of ``metrics``. None:
        all metrics that have a value a user in every run.
    by: a name in the slices of the baseline, such as ``history_length``: rows for the quarters of its users follow.
    level, resamples, draws, seed: of intervals and tests, see ``recx.core.resampling``.

    Raises:
        InputError: fewer than two runs, no shared user, a metric that a run lacks or that has no value a user, an
            unknown slice, a setting out of range.
    """
    procedure = Procedure(level, resamples, draws, seed)
    evaluations, asked = _separated(runs, metrics)
    names = _chosen(evaluations, asked)
    left_out = [] if asked is not None else _not_shared(evaluations)
    users = _paired_users(evaluations)
    cube = np.stack([_aligned(evaluation, names, users) for evaluation in evaluations], axis=2)
    slices = {} if by is None else _quarters(evaluations[0], by, users)
    everyone = np.ones(len(users), dtype=bool)
    labels = [evaluation.name for evaluation in evaluations]
    table = _table(cube, names, labels, {ALL: everyone, **slices}, procedure)
    notes, said = unpaired(evaluations, names, cube, [users.isin(evaluation.users) for evaluation in evaluations])
    if by is not None and (unsliced := len(users) - sum(int(members.sum()) for members in slices.values())):
        notes["users_without_slice"] = unsliced
        said.append(f"users that have no {by} stand among all users alone: {unsliced:,}")
    warnings = [
        *differing_cards(evaluations),
        *([f"not every run has a value a user of {some(left_out)}: left out"] if left_out else []),
        *said,
        *easily_misread(table, by),
    ]
    about = {evaluation.name: evaluation.about for evaluation in evaluations if evaluation.about}
    return Comparison(table, labels[0], tuple(labels[1:]), by, procedure, warnings, notes, about)


def _separated(
    given: Sequence[Evaluation | Evaluated | Sequence[str]], metrics: Sequence[str] | None
) -> tuple[list[Evaluation], Sequence[str] | None]:
    """Return the runs, and the metrics that are named behind them or by keyword."""
    last = given[-1] if given else None
    if metrics is None and isinstance(last, list | tuple) and all(isinstance(name, str) for name in last):
        given, metrics = given[:-1], last
    given = [run.evaluation if isinstance(run, Evaluated) else run for run in given]
    runs = [run for run in given if isinstance(run, Evaluation)]
    wrong = next((run for run in given if not isinstance(run, Evaluation)), None)
    if wrong is not None:
        raise InputError(
            f"compare: a {type(wrong).__name__} is no evaluation: give what recx.evaluate or recx.results.load "
            "returned, one after the other"
        )
    if len(runs) < 2:
        raise InputError(f"compare: it takes two runs or more, and there are {len(runs)}: name another one")
    named = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
    if isinstance(named, str) or named == []:
        raise InputError(f"metrics={named!r}: give a list of names, such as ['ndcg_at_10']")
    return _told_apart(runs), named


def _told_apart(runs: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the runs under names of their own: of two with one name the later gets a number."""
    named: dict[str, Evaluation] = {}
    for run in runs:
        name, number = run.name, 2
        while name in named:
            name, number = f"{run.name} ({number})", number + 1
        named[name] = run if name == run.name else replace(run, name=name)
    return list(named.values())


def _not_shared(runs: Sequence[Evaluation]) -> list[str]:
    """Return the metrics that only some of the runs have."""
    known = dict.fromkeys(name for run in runs for name in run.values)
    return [name for name in known if any(name not in run.values for run in runs)]


def _chosen(runs: Sequence[Evaluation], metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        shared = [name for name in runs[0].values if all(name in run.values for run in runs)]
        if not shared:
            listed = some([run.name for run in runs])
            raise InputError(f"the runs {listed} have no metric in common: evaluate them by the same metrics")
        return shared
    for name in metrics:
        for run in runs:
            if name not in run.values:
                raise InputError(_lacks(name, run))
    return list(dict.fromkeys(metrics))


def _lacks(metric: str, run: Evaluation) -> str:
    """Return the sentence for a metric that a run has no values of."""
    if metric in run.scalars:
        return f"the metric {metric!r} is one number and has no value a user, so no test can be made: choose another"
    full = str(metric).partition(SAMPLED)[0]
    other = next((name for name in run.values if name.partition(SAMPLED)[0] == full), None)
    if other is not None:
        return (
            f"{run.name} has {other!r} and not {metric!r}: a metric over sampled items is never compared with one over "
            "other items: evaluate both runs alike"
        )
    return f"{run.name} has no metric {metric!r}: {did_you_mean(str(metric), run.values)}"


def _paired_users(runs: Sequence[Evaluation]) -> pd.Index[Any]:
    """Return the users that the baseline shares with any other run; sorted, unless all runs have the same in order."""
    import pandas as pd

    first, *others = (pd.Index(run.users) for run in runs)
    for index, run in zip(others, runs[1:], strict=True):
        if not first.isin(index).any():
            raise InputError(
                f"{runs[0].name} and {run.name} have no user in common (their first: {first[:1].tolist()} and "
                f"{index[:1].tolist()}): compare runs on the same users, and read ids as text or as numbers in both"
            )
    return first.intersection(reduce(lambda one, other: one.union(other), others), sort=None)


def _aligned(run: Evaluation, metrics: Sequence[str], users: pd.Index[Any]) -> Doubles:
    """Return the run's values for these users [n_users, n_metrics], NaN for a user that it lacks."""
    return _taken(np.column_stack([run.values[name] for name in metrics]), run.users, users)


def _taken(values: Doubles, of_users: Array, users: pd.Index[Any]) -> Doubles:
    import pandas as pd

    place = pd.Index(of_users).get_indexer(users)
    taken: Doubles = values[place]
    taken[place < 0] = np.nan
    return taken


def _quarters(baseline: Evaluation, by: str, users: pd.Index[Any]) -> dict[str, Bools]:
    """Return the users [n_users] of each quarter of a slice."""
    if not isinstance(by, str) or by not in baseline.slices:
        hint = did_you_mean(str(by), baseline.slices) if baseline.slices else "give history= to recx.evaluate"
        raise InputError(f"by={by!r}: {baseline.name} has no such slices: {hint}")
    values = _taken(baseline.slices[by], baseline.users, users)
    if np.isnan(values).all():
        raise InputError(f"by={by!r}: no user of {baseline.name} that others share has a value there: choose another")
    return quarters(values)


def quarters(values: Doubles) -> dict[str, Bools]:
    """Return the users [n_users] of each quarter by a label, such as ``1 to 3``; quarters with one border are one.

    values: [n_users], NaN for who belongs to none.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return {}
    borders = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf"))
    quarter = np.where(np.isnan(values), len(borders) + 1, np.searchsorted(borders, values))
    numbers = np.unique(quarter[quarter <= len(borders)])
    parts = [quarter == number for number in numbers]
    for digits in (4, 17):  # the second only where the first cannot tell two quarters apart
        labels = [_label(values[members], digits) for members in parts]
        if len(set(labels)) == len(parts):
            break
    return dict(zip(labels, parts, strict=True))


def _label(values: Doubles, digits: int) -> str:
    ends = [values.min(), values.max()]
    low, high = (
        f"{end:,.0f}" if end == round(end) or end >= 10 ** (digits - 1) else f"{end:.{digits}g}" for end in ends
    )
    return low if low == high else f"{low} to {high}"


def _table(
    cube: Doubles, metrics: Sequence[str], labels: Sequence[str], slices: Mapping[str, Bools], procedure: Procedure
) -> pd.DataFrame:
    """Return the table of the values ``cube`` [n_users, n_metrics, n_runs]."""
    import pandas as pd

    found = [_figures(cube[members], procedure) for members in slices.values()]
    shape = (len(metrics), len(slices), len(labels) - 1)
    places = np.indices(shape).reshape(3, -1)
    table = pd.DataFrame(
        {
            "metric": np.array(metrics, dtype=object)[places[0]],
            "slice": np.array(list(slices), dtype=object)[places[1]],
            "baseline": labels[0],
            "run": np.array(labels[1:], dtype=object)[places[2]],
            **{name: np.stack([figures[name] for figures in found], axis=1).ravel() for name in found[0]},
        }
    )
    table["p_t_holm"] = holm(table["p_t"].to_numpy())
    table["p_holm"] = holm(table["p_sign_flip"].to_numpy())
    return table


def _figures(cube: Doubles, procedure: Procedure) -> dict[str, Array]:
    """Return every figure by name [n_metrics, n_runs - 1] of the values ``cube`` [n_users, n_metrics, n_runs]."""
    difference = cube[:, :, 1:] - cube[:, :, :1]
    paired = ~np.isnan(difference)
    sides = [np.where(paired, side, np.nan) for side in (cube[:, :, :1], cube[:, :, 1:])]
    columns = np.stack([*sides, difference], axis=1)
    shape = columns.shape[1:]
    users = paired.sum(axis=0)
    sums = np.nansum(columns, axis=0)
    means = np.divide(sums, users, out=np.full(shape, np.nan), where=users > 0)
    bounds = bootstrap(
        columns.reshape(len(cube), -1), level=procedure.level, resamples=procedure.resamples, seed=procedure.seed
    )
    low, high = (bound.reshape(shape) for bound in bounds)
    pairs = difference.reshape(len(cube), -1)
    tests = {
        "d_z": cohens_dz(pairs),
        "p_t": paired_t(pairs),
        "p_sign_flip": sign_flip(pairs, draws=procedure.draws, seed=procedure.seed),
    }
    figures: dict[str, Array] = {"users": users}
    for place, name in enumerate(("mean_baseline", "mean_run", "difference")):
        figures |= {name: means[place], f"{name}_low": low[place], f"{name}_high": high[place]}
    return {
        **figures,
        "relative": np.divide(means[2], means[0], out=np.full(shape[1:], np.nan), where=means[0] != 0),
        "wins": (difference > 0).sum(axis=0),
        "ties": (difference == 0).sum(axis=0),
        "losses": (difference < 0).sum(axis=0),
        **{name: values.reshape(shape[1:]) for name, values in tests.items()},
    }
