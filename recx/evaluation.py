"""The door for people who only want to evaluate: two tables in, figures with intervals out.

ev = recx.evaluate(recommendations, relevance, metrics=["ndcg_at_10", "recall_at_50"])
ev.means, ev.per_user, ev.interval("ndcg_at_10"), ev.notes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from recx import frames
from recx.errors import InputError, did_you_mean
from recx.evaluator.line import cut_of, measure, tied
from recx.evaluator.lines import slices_of
from recx.evaluator.metric import NEEDS_SCORES, NamedMetric, resolve
from recx.files import SLICE
from recx.plain import title
from recx.protocol import MEAN, TIES, rules
from recx.protocols import Metric
from recx.ragged import has_twice
from recx.results import SavedRun
from recx.truth import Truth
from recx.types import Array, Bools, Doubles, Entities, Interactions, Judged, RankedLists
from recx.world import world_of

if TYPE_CHECKING:
    import pandas as pd

OnDuplicates = Literal["error", "first"]
METRICS_AT_10 = tuple(f"{figure}_at_10" for figure in ("ndcg", "recall", "hit", "precision", "map", "mrr"))
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


def evaluate(
    recommendations: pd.DataFrame | str | Path | RankedLists,
    relevance: pd.DataFrame | str | Path | Interactions,
    metrics: Sequence[str | Metric] = METRICS_AT_10,
    *,
    order: frames.Order = "score",
    on_duplicates: OnDuplicates = "error",
    rel_threshold: float = 1.0,
    max_grade: float | None = None,
    threshold: float = 0.5,
    history: pd.DataFrame | str | Path | Interactions | None = None,
    items: pd.DataFrame | str | Path | Entities | None = None,
    name: str | None = None,
) -> Evaluation:
    """Judge lists by the truth.

    Args:
        recommendations: a frame with columns user, item and score (or rank, from 1), the path of such a table (CSV,
            TSV, Parquet) or of a TREC run, or lists of recx.
        relevance: a frame with columns user, item and, if it is graded, grade; a path of such a table or of TREC qrels;
            or, with lists of recx, the events that are the targets.
        metrics: names (``recx list metric`` shows them), or what ``recx.metric`` or a plugin makes.
        order: ``score``: stable sort by falling score, ties in the order given. ``given``: the rows as they stand.
        on_duplicates: an item twice in a list is an ``error``, or counts the ``first`` time, and the later copy keeps
            its place as an item that is no target.
        rel_threshold: the grade from which a target is relevant, for metrics without one of their own.
        max_grade: the highest grade that there can be, for err and cascade.
        threshold: the score from which a row is predicted to be a target, for accuracy and class_precision ...
        history: what was known before, with columns user and item: novelty, popularity, serendipity, new_items and the
            slices of ``recx.compare`` need it.
        items: more of the catalogue, with a column item and, as the metrics need them, category and embedding (one
            array an item). The catalogue is every item of all tables; those that stand in the lists alone are counted
            as ``items_unknown``.
        name: what the evaluation is called in comparisons: without one, the path, or ``run``.

    Raises:
        InputError: a table, a name or a setting cannot be used; the sentence says which and why.
    """
    _check_choice("order", order, get_args(frames.Order))
    _check_choice("on_duplicates", on_duplicates, get_args(OnDuplicates))
    defaults = {"rel_threshold": rel_threshold, "max_grade": max_grade, "threshold": threshold}
    _check_numbers(defaults)
    chosen = _resolved(metrics, defaults)
    own = [getattr(metric, "rel_threshold", None) or rel_threshold for metric in chosen]
    world = world_of(recommendations, relevance, order=order, history=history, items=items)
    if not world.scored:
        _refuse_scores_asked_for(chosen)
    truth = Truth.of_pairs(world.target_user, world.target_item, world.grade, world.history, min([rel_threshold, *own]))
    judged = truth.judge(world.lists)
    later = _later_copies(judged, world.history.users.ids, on_duplicates)
    if later is not None:
        kept = ~later[judged.hit_row]
        judged = replace(judged, hit_row=judged.hit_row[kept], hit_gain=judged.hit_gain[kept])
    values, scalars, counts = measure(chosen, judged, rel_threshold)
    return Evaluation(
        name=name or (str(recommendations) if isinstance(recommendations, str | Path) else "run"),
        users=world.history.users.ids[truth.user],
        values=values,
        scalars=scalars,
        notes={
            **world.notes,
            **truth.notes,
            "users_judged": judged.n_users,
            "users_without_target": int((np.bincount(world.target_user) > 0).sum()) - judged.n_users,
            "users_without_list": int((judged.lists.lengths == 0).sum()),
            "duplicates_in_lists": 0 if later is None else int(later.sum()),
            **_tied(chosen, judged, order),
            **counts,
        },
        rules={
            "order": TIES if order == "score" else "the order given",
            "on_duplicates": on_duplicates,
            "mean": MEAN,
            **defaults,
            "metrics": _odd_params(chosen, defaults),
            "catalogue": None if items is None else len(world.history.items),
            "history_events": len(world.history),
        },
        slices=slices_of(truth, world.history) if len(world.history) else {},
        truth=truth,
    )


def _resolved(metrics: Iterable[str | Metric], defaults: Mapping[str, float | None]) -> list[Metric]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        example = metrics if isinstance(metrics, str) else "ndcg_at_10"
        raise InputError(f"metrics={metrics!r}: give a list, such as [{example!r}]")
    chosen = [resolve(given, defaults) for given in metrics]
    names = [metric.name for metric in chosen]
    for metric in chosen:
        if names.count(metric.name) > 1:
            raise InputError(f"the metric {metric.name!r} is asked for twice: take one away, or give it a label")
        if metric.name == "user":
            raise InputError("a metric cannot be called 'user', as the column of users is: rename it")
    return chosen


def _refuse_scores_asked_for(metrics: Sequence[Metric]) -> None:
    for metric in metrics:
        if isinstance(metric, NamedMetric) and metric.figure in NEEDS_SCORES:
            raise InputError(
                f'the metric {metric.name!r} looks at scores, not at ranks: say order="score" and give a column score'
            )


def _odd_params(metrics: Sequence[Metric], defaults: Mapping[str, float | None]) -> dict[str, dict[str, float]]:
    """Return metric -> its params that are others than those of all."""
    params = {metric.name: {key: getattr(metric, key, None) for key in defaults} for metric in metrics}
    odd = {
        name: {key: value for key, value in of.items() if value is not None and value != defaults[key]}
        for name, of in params.items()
    }
    return {name: of for name, of in odd.items() if of}


def _later_copies(judged: Judged, users: Array, on_duplicates: OnDuplicates) -> Bools | None:
    """Return which rows show an item that their list has shown before [n]; None where no list shows an item twice.

    Raises:
        InputError: there is such a row and duplicates are an error.
    """
    lists = judged.lists
    if not has_twice(lists.item, lists.indptr):
        return None
    key = lists.list_of_row * (int(lists.item.max()) + 1) + lists.item
    order = np.argsort(key, kind="stable")
    later = np.zeros(len(key), dtype=bool)
    later[order[1:]] = key[order[1:]] == key[order[:-1]]
    if on_duplicates == "error":
        row = int(np.argmax(later))
        user, item = users[lists.user[lists.list_of_row[row]]], judged.items.ids[lists.item[row]]
        raise InputError(
            f"the list of user {_word(user)} shows the item {_word(item)} twice: drop the later row, or say "
            'on_duplicates="first", by which later copies keep their place and count as no target'
        )
    return later


def _tied(metrics: Sequence[Metric], judged: Judged, order: frames.Order) -> dict[str, float]:
    """Return the share of users with a tie at each cut, where the scores give the order."""
    cuts = sorted({cut for metric in metrics if (cut := cut_of(metric)) is not None})
    return {f"tied_at_{k}": tied(judged.lists, k) for k in cuts} if order == "score" else {}


def _check_numbers(settings: Mapping[str, float | None]) -> None:
    for name, value in settings.items():
        if value is None and name == "max_grade":
            continue
        what = "a number" if name == "threshold" else "a number above 0"
        least = -np.inf if name == "threshold" else 0
        if isinstance(value, bool) or not isinstance(value, Real) or not least < value < np.inf:
            raise InputError(f"{name}={value!r}: it must be {what}")


def _check_choice(key: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{key}={value!r}: {did_you_mean(str(value), choices)}")


def _word(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
