"""A metric by its name: ``ndcg_at_10``; without ``_at_k`` the list is not cut. ``recx.metric`` makes one in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any

from annotated_types import Interval, Predicate, doc

from recx.config import factory, option_sources
from recx.core.bounds import PositiveFloat, check
from recx.core.errors import InputError, did_you_mean
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.types import Doubles, Notes
from recx.evaluation.metrics import beyond_accuracy, classification, ranking

FIGURES: dict[str, ranking.Figure] = {**ranking.FIGURES, **classification.FIGURES, **beyond_accuracy.FIGURES}
NOTES = {**ranking.NOTES, **classification.NOTES, **beyond_accuracy.NOTES}
UNCUT = {*classification.FIGURES, *beyond_accuracy.UNCUT}
"""Figures that look at whole lists, or at none, and so take no ``_at_k``."""
NEEDS_SCORES = {name for name in classification.FIGURES if not name.startswith("auc")}
"""Figures that look at the scores themselves; to the others the order is all."""
PARAMS = ("beta", "max_grade", "threshold")
NAME = re.compile("[A-Za-z0-9_]+")
Label = Annotated[str, Predicate(NAME.fullmatch), doc("letters, digits and _ alone")]
_TOP = "top_accuracy"
NAMES = (*(figure for figure in FIGURES if figure != _TOP), "top_1_accuracy", "top_3_accuracy")


@dataclass(frozen=True)
class NamedMetric:
    """A figure of recx with its cut and its params.

    figure: its name without ``_at_k``. k: how many of each list count; None: all.
    beta: how many times as much recall weighs as precision (f, class_f).
    max_grade: the highest grade that there can be (err, cascade); None: as the evaluator says.
    threshold: the score from which a row is predicted to be a target (accuracy, class_precision ...); None: as the
        evaluator says.
    rel_threshold: the grade from which a target is relevant; None: as the evaluator says. Users without a target that
        is relevant to this metric are left out of it.
    label: what it is called, where two metrics differ in nothing that their names tell.

    Raises:
        InputError: there is no such figure, it has no such param, or k is not a whole number from 1 up.
    """

    figure: str
    k: Annotated[int, Interval(ge=1, le=2**62)] | None = None
    beta: Annotated[float, Interval(gt=0, le=1_000_000)] | None = None
    max_grade: ranking.Grade | None = None
    threshold: float | None = None
    rel_threshold: PositiveFloat | None = None
    label: Label | None = None

    def __post_init__(self) -> None:
        check(self, f"metric.{self.figure}")
        if self.figure not in FIGURES:
            raise InputError(f"there is no metric {self.figure!r}: {did_you_mean(self.figure, NAMES)}")
        if self.k is not None and self.figure in UNCUT:
            raise InputError(f"the metric {self.figure!r} takes no cut: write it without _at_{self.k}")
        if self.k is None and self.figure == _TOP:
            raise InputError("the metric 'top_accuracy' needs a cut: write it as top_1_accuracy or top_3_accuracy")
        for param in PARAMS:
            if getattr(self, param) is not None and param not in _params(self.figure):
                raise InputError(f"the metric {self.figure!r} has no {param}: leave it out")

    @property
    def name(self) -> str:
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
        """Return the same with what it leaves open (params and ``rel_threshold``) as the defaults say.

        Raises:
            InputError: it needs a param that nobody gave.
        """
        takes = {*_params(self.figure), "rel_threshold"}
        left: dict[str, Any] = {param: defaults.get(param) for param in takes if getattr(self, param) is None}
        metric = replace(self, **left)
        if "max_grade" in takes and metric.max_grade is None:
            raise InputError(
                f"the metric {self.name!r} needs the highest grade that there can be: set max_grade "
                f"(evaluator.max_grade in a run, --max-grade on the command line)"
            )
        return metric

    def __call__(self, judged: JudgedLists) -> Doubles | float:
        """Return one value a user, float64 [n_users], or one number for all."""
        given = {param: getattr(self, param) for param in _params(self.figure)}
        params = {param: value for param, value in given.items() if value is not None}
        at = judged if self.rel_threshold is None else judged.at(self.rel_threshold)
        outcome = FIGURES[self.figure](at, self.k, **params)
        return outcome if isinstance(outcome, float) else judged.spread(outcome, at)

    def notes(self, judged: JudgedLists) -> Notes:
        """Return the counts that belong to this metric, such as the users whom it leaves out."""
        if self.figure not in NOTES:
            return {}
        return NOTES[self.figure](judged if self.rel_threshold is None else judged.at(self.rel_threshold), self.k)


def metric(
    figure: str,
    k: int | None = None,
    *,
    beta: float | None = None,
    max_grade: float | None = None,
    rel_threshold: float | None = None,
    threshold: float | None = None,
    label: str | None = None,
) -> NamedMetric:
    """Return a metric with params of its own, such as ``recx.metric("f", k=10, beta=2)``; see ``NamedMetric``."""
    return NamedMetric(figure, k, beta, max_grade, threshold, rel_threshold, label)


def resolve(given: str | Metric, defaults: Mapping[str, float | None] | None = None) -> Metric:
    """Return the metric of a name, or the one given, with what it leaves open as the defaults say.

    defaults: beta, max_grade, threshold, rel_threshold; what is not there stays open.

    Raises:
        InputError: there is no such metric, its cut or a param is wrong, or it is no metric at all.
    """
    found = parse(given) if isinstance(given, str) else given
    if isinstance(found, NamedMetric):
        return found.filled(defaults or {})
    name = getattr(found, "name", None)
    if not callable(found) or not isinstance(name, str):
        raise InputError(f"{given!r} is not a metric: give a name, such as ndcg_at_5, or an object that keeps Metric")
    if not NAME.fullmatch(name):
        raise InputError(f"the name {name!r} of a metric may hold letters, digits and _ alone: rename it")
    return found


def parse(name: str) -> Metric:
    """Return the metric of this name: of recx, or of an installed plugin (its option file ``conf/metric/NAME.yaml``).

    Raises:
        InputError: there is no such metric, or k is not a whole number from 1 up.
    """
    figure, at, k = name.partition("_at_")
    top = re.fullmatch("top_([1-9][0-9]*)_accuracy", name)
    if top:
        return NamedMetric(_TOP, int(top[1]))
    known = figure in FIGURES and figure != _TOP
    option = None if known else option_sources.options().get(f"metric/{figure}")
    if not known and option is None:
        raise InputError(f"there is no metric {name!r}: {did_you_mean(name, _near(name))}")
    if at and not re.fullmatch("[1-9][0-9]*", k):
        raise InputError(
            f"the metric {name!r} is cut at {k!r}: k must be a whole number from 1 up, as in {figure}_at_10"
        )
    cut = int(k) if at else None
    return _of_plugin(name, option[1], cut) if option else NamedMetric(figure, cut)


def _of_plugin(name: str, file: Any, k: int | None) -> Metric:
    """Build a plugin's metric from its option file; its cut is its setting ``k``."""
    import yaml

    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    if k is not None:
        settings = {**settings, "k": k}
    found: Metric = factory.build(settings, f"metric.{name}")
    return found


def _near(name: str) -> list[str]:
    """Return the names that a wrong one may stand for: with a cut, if it ends in a number."""
    number = re.search("[1-9][0-9]*$", name)
    of_plugins = [option.removeprefix("metric/") for option in option_sources.options() if option.startswith("metric/")]
    names = [*NAMES, *of_plugins]
    return [figure if figure in UNCUT else f"{figure}_at_{number[0]}" for figure in names] if number else names


@cache
def _params(figure: str) -> tuple[str, ...]:
    """Return the params that a figure leaves open; ``f2`` has its beta in its name."""
    function = FIGURES[figure]
    fixed = function.keywords if isinstance(function, partial) else {}
    return tuple(name for name in PARAMS if name in inspect.signature(function).parameters and name not in fixed)
