"""Estimates a click model from a log of impressions with positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge

from recx.core.bounds import Decay, PositiveFloat, PositiveInt, Seed, Share, checked, coerce
from recx.core.errors import InputError
from recx.core.types import Doubles
from recx.evaluation.clicks.em import Counts, Estimate, Parameters, Prior, best, counted, expected, maximise
from recx.evaluation.clicks.fitted import RARE, ClickModel
from recx.evaluation.clicks.log import ClickLog, read_log
from recx.evaluation.clicks.spread import Intervals, intervals

if TYPE_CHECKING:
    import pandas as pd

    from recx.evaluation.evaluate import Given

Model = Literal["cascade", "sdbn", "dbn"]
Resamples = Annotated[int, Ge(20)]
Smoothing = Annotated[float, Ge(1e-6)]
"""So much keeps the estimates apart from 0 and 1, which have no logarithm."""
LOOSE = 1e-5
"""The tolerance of resamples, whose intervals are a thousand times as wide."""


@dataclass(frozen=True)
@checked("")
class Settings:
    """Those of ``fit``."""

    continuation: Decay | None
    smoothing: Smoothing
    tolerance: PositiveFloat
    iterations: PositiveInt
    level: Share
    resamples: Resamples
    seed: Seed


def fit(
    log: Given,
    model: Model = "dbn",
    *,
    columns: Mapping[str, str] | None = None,
    continuation: float | None = None,
    smoothing: float = 1.0,
    tolerance: float = 1e-6,
    iterations: int = 2_000,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> ClickModel:
    """Estimate how attractive items are, apart from the positions at which they were shown.

    Users look at items from the top. ``cascade``: who clicks an item leaves with it (Craswell, Zoeter, Taylor, Ramsey:
    An experimental comparison of click position-bias models, WSDM 2008). ``dbn``: a click may not satisfy, and who is
    not satisfied looks at the next item with the chance ``continuation``, or leaves; by expectation maximisation
    (Chapelle, Zhang: A dynamic Bayesian network click model for web search ranking, WWW 2009). ``sdbn``: the same
    authors' simplification, with which items are counted: users read until their last click, which satisfied them, or
    to the end without a click. Where users leave otherwise, ``dbn`` is closer to the truth.

    Args:
        log: A data frame (pandas, Polars, PyArrow), or the path of a CSV, TSV, Parquet or JSON lines file, with a row
            for each impression: list (the list that it is of), item, position (in the list, from 1), clicked (0 or 1)
            and, where items are worth something else for each query, query.
        model: The model.
        columns: Role -> its column, where that has another name, such as ``{"position": "rank"}``.
        continuation: A continuation that is known (dbn); None: it is estimated.
        smoothing: How many clicks, and how many others, are added to what is counted for each parameter (the prior is a
            Beta distribution with 1 more of each): 1 keeps an item that was looked at once from being worth 0 or 1.
        tolerance: The largest change of a parameter in the last iteration (dbn).
        iterations: The most iterations (dbn).
        level: The level of the intervals.
        resamples: The number of resamples of the intervals, by the Bayesian bootstrap over lists.
        seed: The seed of the resamples.

    Returns:
        What items are worth, with intervals, and the continuation.

    Raises:
        InputError: The log or a setting cannot be used; the message says which, where and why.
    """
    model = coerce(model, Model, "model")
    settings = Settings(continuation, smoothing, tolerance, iterations, level, resamples, seed)
    if model != "dbn" and continuation is not None:
        raise InputError(f"continuation={continuation:g}: users of {model} always read on: leave it out, or use dbn")
    found = read_log(log, columns, one_click=model == "cascade")
    if model == "dbn" and len(found.pair) == len(found.last):
        raise InputError(
            f"{found.name}: every list has one item, and what follows on a click says nothing then: use model=cascade"
        )
    estimate, spread = (_iterated if model == "dbn" else partial(_counted, model))(found, settings)
    looked = estimate.counts.of_pairs[:, 0]
    notes = {
        "impressions": len(found.pair),
        "lists": len(found.last),
        "clicks": int(found.clicked.sum()),
        "lists_without_click": int((found.last < found.indptr[:-1]).sum()),
        "rarely_examined": int((looked < RARE).sum()),
    }
    low, high = spread.continuation.tolist()
    return ClickModel(
        model=model,
        items=_table(found, model, estimate, spread),
        continuation=estimate.parameters.continuation,
        continuation_interval=(low, high),
        trace=estimate.trace,
        converged=estimate.converged,
        notes=notes,
        rules=asdict(settings),
    )


def _counted(model: Model, log: ClickLog, settings: Settings) -> tuple[Estimate, Intervals]:
    """Estimate by counting: users read on until their last click, which satisfies all (cascade) or some of them."""

    def parameters(counts: Counts, prior: Prior) -> Parameters:
        found = best(counts, prior, 1.0)
        return found if model == "sdbn" else found._replace(satisfaction=np.ones(len(log.item)))

    def refit(weight: Doubles, prior: Prior) -> Parameters:
        return parameters(counted(log, weight), prior)

    alike = np.ones(len(log.last))
    counts = counted(log, alike)
    at = parameters(counts, Prior.of(settings.smoothing))
    trace = np.array([expected(log, alike, at).log_likelihood])
    return Estimate(at, counts, trace, converged=True), _intervals(refit, at, log, settings)


def _iterated(log: ClickLog, settings: Settings) -> tuple[Estimate, Intervals]:
    """Estimate by expectation maximisation, from what counting gives; resamples start at the estimate."""
    alike, known = np.ones(len(log.last)), settings.continuation
    start = best(counted(log, alike), Prior.of(1.0), 0.5 if known is None else known)
    iterate = partial(maximise, log, continuation=known, iterations=settings.iterations)
    estimate = iterate(alike, Prior.of(settings.smoothing), start, tolerance=settings.tolerance)

    def refit(weight: Doubles, prior: Prior) -> Parameters:
        return iterate(weight, prior, estimate.parameters, tolerance=max(settings.tolerance, LOOSE)).parameters

    return estimate, _intervals(refit, estimate.parameters, log, settings)


def _intervals(
    refit: Callable[[Doubles, Prior], Parameters], at: Parameters, log: ClickLog, settings: Settings
) -> Intervals:
    return intervals(
        refit,
        at,
        len(log.last),
        smoothing=settings.smoothing,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )


def _table(log: ClickLog, model: Model, estimate: Estimate, spread: Intervals) -> pd.DataFrame:
    """Return a row for each pair (see ``ClickModel.items``)."""
    import pandas as pd

    at, n_pairs = estimate.parameters, len(log.item)
    columns = {} if log.query is None else {"query": log.query}
    columns |= {
        "item": log.item,
        "impressions": np.bincount(log.pair, minlength=n_pairs),
        "clicks": np.bincount(log.pair[log.clicked], minlength=n_pairs),
        "examined": estimate.counts.of_pairs[:, 0],
    }
    values = {"attractiveness": (at.attractiveness, spread.attractiveness)}
    if model != "cascade":
        values["satisfaction"] = (at.satisfaction, spread.satisfaction)
        values["relevance"] = (at.attractiveness * at.satisfaction, spread.relevance)
    for name, (value, (low, high)) in values.items():
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)
