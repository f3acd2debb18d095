"""Metrics by name: ``ndcg_at_10``; without ``_at_k`` the list is not cut. ``recx.metric`` makes one in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval, Predicate, doc

from recx.config import factory, option_sources
from recx.core import project
from recx.core.bounds import PositiveFloat, check
from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.metric_names import hint
from recx.core.protocols import Metric
from recx.core.total import Total
from recx.core.types import Doubles, Notes
from recx.evaluation.ground_truth import ANY_GAIN
from recx.evaluation.metrics import (
    answering,
    beyond_accuracy,
    bpref,
    classification,
    miscalibration,
    other_ndcg,
    popularity_bias,
    ranking,
    sampled,
    stopping,
)

FIGURES: dict[str, ranking.Figure] = {
    **ranking.FIGURES,
    **stopping.FIGURES,
    **bpref.FIGURES,
    **other_ndcg.FIGURES,
    **classification.FIGURES,
    **beyond_accuracy.FIGURES,
    **popularity_bias.FIGURES,
    **miscalibration.FIGURES,
    **answering.FIGURES,
}
NOTES = {**ranking.NOTES, **bpref.NOTES, **classification.NOTES, **beyond_accuracy.NOTES, **miscalibration.NOTES}
UNCUT = {*bpref.FIGURES, *classification.FIGURES, *beyond_accuracy.UNCUT, *answering.FIGURES}
"""Figures that use whole lists, or none, and so take no ``_at_k``."""
NEEDS_SCORES = {"aurc", *(name for name in classification.FIGURES if not name.startswith("auc"))}
"""Figures that use the scores themselves; the others only use the order."""
PARAMS = ("beta", "max_grade", "threshold", "persistence", "head")
NAME = re.compile("[A-Za-z0-9_]+")
Label = Annotated[str, Predicate(NAME.fullmatch), doc("only letters, digits and _")]
_TOP = "top_accuracy"
NAMES = (*(figure for figure in FIGURES if figure != _TOP), "top_1_accuracy", "top_3_accuracy")


@dataclass(frozen=True)
class NamedMetric:
    """A built-in figure with its cut and its params; ``recx.metric("f", k=10, beta=2)`` makes one.

    Attributes:
        figure: The name without ``_at_k``.
        k: How many of each list count; None: all.
        beta: How many times as much recall weighs as precision (f, class_f).
        max_grade: The highest possible grade (err, cascade); None: that of the evaluator.
        threshold: The score from which a row is predicted to be a target (accuracy, class_precision ...); None: that
            of the evaluator.
        persistence: The chance to read on from an item to the next one (rbp); None: 0.8.
        head: The share of all events that the most popular items have which are the short head (aplt, pop_rsp,
            pop_reo); None: 0.8.
        definition: The library whose NDCG it is (ndcg), the same as ``ndcg_rectools`` and the like; None: the common
            one.
        discount: What a stop at rank r is worth (err): ``rank``, 1 / r, which is the default, or ``log``,
            1 / log2(r + 1), the same as ``err_log``.
        grades: What a grade is (err, cascade): ``graded``, which is the default, or ``probability``, the chance to stop
            itself, the same as ``err_prob``, ``err_prob_log`` and ``cascade_prob``.
        rel_threshold: The grade from which a target is relevant; None: that of the evaluator, and any above 0 where
            grades are probabilities. Users without a target that is relevant to this metric are left out of it.
        label: Its name in results, for metrics that have the same name otherwise.

    Raises:
        InputError: There is no such figure, it has no such param, or k is not a whole number from 1 up.
    """

    figure: str
    k: Annotated[int, Interval(ge=1, le=2**62)] | None = None
    _: KW_ONLY
    beta: Annotated[float, Interval(gt=0, le=1_000_000)] | None = None
    max_grade: ranking.Grade | None = None
    threshold: float | None = None
    persistence: Annotated[float, Interval(gt=0, lt=1)] | None = None
    head: popularity_bias.Head | None = None
    definition: other_ndcg.Definition | None = None
    discount: stopping.Discount | None = None
    grades: stopping.Grades | None = None
    rel_threshold: PositiveFloat | None = None
    label: Label | None = None

    def __post_init__(self) -> None:
        check(self, f"metric.{self.figure}")
        if self.figure not in FIGURES:
            raise InputError(f"there is no metric {self.figure!r}: {hint(self.figure, NAMES)}")
        if self.k is not None and self.figure in UNCUT:
            raise InputError(f"the metric {self.figure!r} takes no cut: write it without _at_{self.k}")
        if self.k is None and self.figure == _TOP:
            raise InputError("the metric 'top_accuracy' needs a cut: write it as top_1_accuracy or top_3_accuracy")
        if self.definition is not None:
            if self.figure != "ndcg":
                raise InputError(f"the metric {self.figure!r} has no definition: leave it out")
            # The same metric, whichever way it is asked for.
            object.__setattr__(self, "figure", f"ndcg_{self.definition}")
            object.__setattr__(self, "definition", None)
        object.__setattr__(self, "figure", stopping.named(self.figure, self.discount, self.grades))
        object.__setattr__(self, "discount", None)
        object.__setattr__(self, "grades", None)
        for param in PARAMS:
            if getattr(self, param) is not None and param not in _params(self.figure):
                raise InputError(f"the metric {self.figure!r} has no {param}: leave it out")

    @property
    def name(self) -> str:
        """The full name, such as ``ndcg_at_10``: the label, where there is one."""
        if self.label is not None:
            return self.label
        if self.figure == _TOP:
            return f"top_{self.k}_accuracy"
        bare = self.figure
        if self.beta is not None and self.beta != 1:
            beta = "05" if self.beta == 0.5 else f"{self.beta:g}".replace(".", "_").replace("-", "_")
            bare = re.sub("(^|_)f(?=_|$)", rf"\g<1>f{beta}", bare)
        return bare if self.k is None else f"{bare}_at_{self.k}"

    def filled(self, defaults: Mapping[str, float | None]) -> NamedMetric:
        """Return the metric with the defaults in place of unset params and of an unset ``rel_threshold``.

        Raises:
            InputError: A param that it needs is not set anywhere.
        """
        takes = {*_params(self.figure), "rel_threshold"}
        left: dict[str, Any] = {param: defaults.get(param) for param in takes if getattr(self, param) is None}
        if self.figure in stopping.OF_PROBABILITIES:
            left["rel_threshold"] = self.rel_threshold or ANY_GAIN
        metric = replace(self, **left)
        if "max_grade" in takes and metric.max_grade is None:
            raise InputError(
                f"the metric {self.name!r} needs the highest possible grade: set max_grade (evaluator.max_grade in a "
                "run, --max-grade on the command line)"
            )
        return metric

    @property
    def needs_all(self) -> bool:
        """Whether a user's value depends on other users' lists: uncut serendipity depends on the longest one."""
        return self.figure == "serendipity" and self.k is None

    def __call__(self, judged: JudgedLists) -> Doubles | Total[float] | float:
        """Return one value per user, float64 [n_users], or what these users contribute to one number for all."""
        given = {param: getattr(self, param) for param in _params(self.figure)}
        params = {param: value for param, value in given.items() if value is not None}
        at = judged.at(self.rel_threshold or judged.rel_threshold)
        value = FIGURES[self.figure](at, self.k, **params)
        return judged.spread(value, at) if isinstance(value, np.ndarray) else value

    def notes(self, judged: JudgedLists) -> Notes:
        """Return the counts that belong to this metric, such as the users it leaves out.

        Args:
            judged: The lists with their targets.
        """
        count = NOTES.get(self.figure)
        return {} if count is None else count(judged.at(self.rel_threshold or judged.rel_threshold), self.k)


metric = NamedMetric
"""What ``recx.metric`` is."""


def resolve(given: str | Metric, defaults: Mapping[str, float | None] | None = None) -> Metric:
    """Return the metric of a name, or the metric given, with the defaults in place of unset params.

    Args:
        given: A name or a metric.
        defaults: beta, max_grade, threshold, rel_threshold; params without a default stay unset.

    Raises:
        InputError: There is no such metric, its cut or a param is wrong, or the object is not a metric.
    """
    found = parse(given) if isinstance(given, str) else given
    if isinstance(found, NamedMetric):
        return found.filled(defaults or {})
    name = getattr(found, "name", None)
    if not callable(found) or not isinstance(name, str):
        raise InputError(f"{given!r} is not a metric: give a name, such as ndcg_at_5, or an object that keeps Metric")
    if not NAME.fullmatch(name):
        raise InputError(f"the name {name!r} of a metric may only contain letters, digits and _: rename it")
    return found


def resolve_all(
    given: Iterable[str | Metric], defaults: Mapping[str, float | None], where: str, uniform: bool = True
) -> list[Metric]:
    """Resolve several metrics, whose names must differ.

    Args:
        given: Names or metrics.
        defaults: See ``resolve``.
        where: The setting that lists them, for messages.
        uniform: Whether the items of sampled metrics are sampled uniformly, so that the correction holds.

    Raises:
        InputError: One of them cannot be resolved, or a name occurs twice.
    """
    try:
        metrics = list(chain.from_iterable(_with_correction(resolve(one, defaults), uniform) for one in given))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    names = [metric.name for metric in metrics]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where}: the metric {name!r} is listed twice: remove one of them, or give it a label")
    return metrics


def _with_correction(metric: Metric, uniform: bool) -> list[Metric]:
    """Return a metric and, if it is one of uniformly sampled items, what it would be over the whole catalogue."""
    if not isinstance(metric, sampled.SampledMetric):
        return [metric]
    if metric.corrected and not uniform:
        raise InputError(
            f"the metric {metric.name!r} corrects for uniform sampling: leave it out, or write "
            "evaluator.negatives=uniform"
        )
    if uniform and not metric.corrected and metric.n <= sampled.MOST:
        return [metric, replace(metric, corrected=True)]
    return [metric]


def parse(name: str) -> Metric:
    """Return the metric of this name: built in, or of a plugin or project (its option file ``conf/metric/NAME.yaml``).

    Raises:
        InputError: There is no such metric, or k is not a whole number from 1 up.
    """
    if (of_sample := sampled.parse(name)) is not None:
        return of_sample
    figure, at, k = name.partition("_at_")
    top = re.fullmatch("top_([1-9][0-9]*)_accuracy", name)
    if top:
        return NamedMetric(_TOP, int(top[1]))
    known = figure in FIGURES and figure != _TOP
    if known:  # found without a search through all installed packages
        twins = (folder / "metric" / f"{figure}.yaml" for folder in project.current().folders)
        for twin in filter(Path.is_file, twins):
            raise InputError(f"the metric {figure!r} exists twice, in recx and in {twin}: rename the file")
    option = None if known else option_sources.options().get(f"metric/{figure}")
    if not known and option is None:
        raise InputError(f"there is no metric {name!r}: {hint(name, _near(name))}")
    if at and not re.fullmatch("[1-9][0-9]*", k):
        raise InputError(
            f"the metric {name!r} is cut at {k!r}: k must be a whole number from 1 up, as in {figure}_at_10"
        )
    cut = int(k) if at else None
    return _of_plugin(name, option[1], cut) if option else NamedMetric(figure, cut)


def _of_plugin(name: str, file: Any, k: int | None) -> Metric:
    """Build a plugin's metric from its option file; its cut is its setting ``k``."""
    from recx.core.yaml_files import parse_yaml

    settings = parse_yaml(file, file.read_text(encoding="utf-8"))
    found: Metric = factory.build(settings if k is None else {**settings, "k": k}, f"metric.{name}")
    return found


def _near(name: str) -> list[str]:
    """Return the names to suggest for an unknown one: with its cut, if it ends in a number."""
    number = re.search("[1-9][0-9]*$", name)
    of_plugins = [option.removeprefix("metric/") for option in option_sources.options() if option.startswith("metric/")]
    names = [*NAMES, *of_plugins]
    return [figure if figure in UNCUT else f"{figure}_at_{number[0]}" for figure in names] if number else names


@cache
def _params(figure: str) -> tuple[str, ...]:
    """Return the params of a figure that are not fixed by its name, as the beta of ``f2`` is."""
    function = FIGURES[figure]
    fixed = function.keywords if isinstance(function, partial) else {}
    return tuple(name for name in PARAMS if name in inspect.signature(function).parameters and name not in fixed)
