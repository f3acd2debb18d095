"""Which ranker to take for what a query may take: the best in quality within a latency and a cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recx.core.evaluation import Evaluation
from recx.evaluation.standings import standings, told_apart
from recx.evaluation.warnings import LISTED
from recx.jobs.benchmark.outcome import COST, P95_MS, STAGE, Row, keeps_the_order
from recx.jobs.benchmark.rerank import Rerank
from recx.jobs.benchmark.timing import ms
from recx.report.terminal.formats import figure

P95_LOW, P95_HIGH = "latency/p95_low_ms", "latency/p95_high_ms"
FIGURES = {"p95_ms": P95_MS, "cost_per_1000": COST}
"""Name of a limit -> the figure that it limits."""


def recommended(settings: Rerank, rows: Sequence[Row], evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return the ranker with the best quality within the budget, with those that are not told apart from it.

    A ranker that ranks only the first documents is an option of its own. The order of the first search, which is no
    ranker, is never the answer, but what the answer is held against.

    Args:
        settings: Of the benchmark; without a budget, the result is {}.
        rows: The rankers that finished, with all documents and with each budget of documents.
        evaluations: Name of a row -> its figures per query.

    Returns:
        ``limits``; ``options``: how many there are, ``within``: the names of those within the limits; ``name``,
        ``quality`` and the limited figures of the ranker (missing if there is none); ``alike``: those within that are
        not told apart from it, and are faster or cheaper, with the difference, its interval and the adjusted p;
        ``nearest``: what comes nearest where nothing is within; ``uncertain``: the names of those whose p95 may be on
        the other side of the limit, which lies in its 95 % interval; ``said``: all of it in sentences.
    """
    if not settings.limits:
        return {}
    known = [row for row in rows if not math.isnan(_quality(row, settings))]
    rankers = [row for row in known if not keeps_the_order(settings, row.ranker)]
    within = [row for row in rankers if _excess(row, settings) <= 1]
    found: dict[str, Any] = {
        "limits": settings.limits,
        "options": len(rankers),
        "within": [row.name for row in within],
    }
    yardstick = next((row for row in known if row.k is None and keeps_the_order(settings, row.ranker)), None)
    if within:
        chosen = min(within, key=lambda row: (-_quality(row, settings), row.figure(P95_MS), row.figure(COST)))
        alike = _alike(chosen, [*within, *([yardstick] if yardstick else [])], settings, evaluations)
        found |= {"name": chosen.name, **_facts(chosen, settings), "alike": alike}
        said = _of_chosen(chosen, found, settings)
        if yardstick is not None and _quality(yardstick, settings) >= _quality(chosen, settings):
            said += f"; {yardstick.name}, the order of the first search, is no worse: no ranker is needed"
    elif rankers:
        nearest = min(rankers, key=lambda row: _excess(row, settings))
        found["nearest"] = {"name": nearest.name, **_facts(nearest, settings)}
        said = f"no ranker is within {_limits(settings)}: the nearest is {_shown(nearest, settings)}"
    else:
        said = f"no ranker finished that could be recommended for {_limits(settings)}"
    unsure = [row for row in rankers if _is_uncertain(row, settings)]
    found["uncertain"] = [row.name for row in unsure]
    return {**found, "said": [said, *_of_uncertain(unsure, settings)]}


def _quality(row: Row, settings: Rerank) -> float:
    return row.interval(settings.quality)[0]


def _excess(row: Row, settings: Rerank) -> float:
    """Return by what factor a row exceeds the limit that it exceeds most; at most 1: it is within all of them."""
    return max(_share(row.figure(FIGURES[name]), limit) for name, limit in settings.limits.items())


def _share(value: float, limit: float) -> float:
    if math.isnan(value):
        return math.inf
    return value / limit if limit else (math.inf if value else 0.0)


def _alike(
    chosen: Row, rows: Sequence[Row], settings: Rerank, evaluations: Mapping[str, Evaluation]
) -> list[dict[str, Any]]:
    """Return those that are not told apart from the chosen one, and are faster or cheaper, the fastest first."""
    metric = STAGE + settings.quality
    table = standings([evaluations[row.name] for row in rows], metric, baseline=chosen.name, best=None)
    found = []
    for row in sorted(rows, key=lambda row: (row.figure(P95_MS), row.figure(COST))):
        test = table.loc[row.name]
        better = {"faster": P95_MS, "cheaper": COST}
        named = [word for word, name in better.items() if row.figure(name) < chosen.figure(name)]
        if row.name != chosen.name and named and not told_apart(test["p_holm"]):
            tested = {name: float(test[name]) for name in ("difference", "low", "high", "p_holm")}
            found.append({"name": row.name, "is": named, **_facts(row, settings), **tested})
    return found


def _is_uncertain(row: Row, settings: Rerank) -> bool:
    """Return whether the limit of the latency lies within the interval of a row's p95."""
    limit = settings.limits.get("p95_ms", math.nan)
    low, high = row.figure(P95_LOW), row.figure(P95_HIGH)
    return low <= limit < (math.inf if math.isnan(high) and not math.isnan(low) else high)


def _of_uncertain(rows: Sequence[Row], settings: Rerank) -> Iterator[str]:
    if rows:
        named = [f"{row.name} ({_p95_interval(row)})" for row in rows[:LISTED]]
        more = f" … ({len(rows)} in all)" if len(rows) > LISTED else ""
        yield (
            f"too near to {settings.limits['p95_ms']:g} ms to be sure by these queries, so that another measurement "
            f"may recommend otherwise (95 % interval of p95): {', '.join(named)}{more}"
        )


def _p95_interval(row: Row) -> str:
    low, high = row.figure(P95_LOW), row.figure(P95_HIGH)
    return f"{ms(low)} ms or more" if math.isnan(high) else f"{ms(low)} to {ms(high)} ms"


def _facts(row: Row, settings: Rerank) -> dict[str, Any]:
    return {
        "ranker": row.ranker,
        "documents": row.k,
        "quality": _quality(row, settings),
        **{name: row.figure(figure) for name, figure in FIGURES.items()},
    }


def _of_chosen(chosen: Row, found: Mapping[str, Any], settings: Rerank) -> str:
    said = (
        f"recommended for {_limits(settings)}: {_shown(chosen, settings)}, the best in {settings.quality} of "
        f"{len(found['within'])} within it ({found['options']} rankers and budgets of documents)"
    )
    alike = list(_in_words(found["alike"], settings))
    more = f" … ({len(alike)} in all)" if len(alike) > LISTED else ""
    return f"{said}; not told apart from it: {', '.join(alike[:LISTED])}{more}" if alike else said


def _in_words(alike: Sequence[Mapping[str, Any]], settings: Rerank) -> Iterator[str]:
    for one in alike:
        costs = "" if "cheaper" not in one["is"] else f", {one['cost_per_1000']:.6g} {settings.currency} per 1,000"
        difference, low, high = (figure(one[name], "+") for name in ("difference", "low", "high"))
        took = "" if math.isnan(one["p95_ms"]) else f", p95 {ms(one['p95_ms'])} ms"
        yield f"{one['name']} ({' and '.join(one['is'])}{took}{costs}; {difference}, {low} to {high})"


def _shown(row: Row, settings: Rerank) -> str:
    mean, low, high = row.interval(settings.quality)
    on = "" if row.k is None else f" (the first {row.k} documents of each query)"
    took = "" if math.isnan(row.figure(P95_MS)) else f", p95 {ms(row.figure(P95_MS))} ms"
    cost = f", {row.figure(COST):.6g} {settings.currency} per 1,000 queries" if row.figure(COST) else ""
    return f"{row.name}{on}, {settings.quality} {figure(mean)} ({figure(low)} to {figure(high)}){took}{cost}"


def _limits(settings: Rerank) -> str:
    """Return the limits in words."""
    named = {
        "p95_ms": "p95 latency of at most {:g} ms",
        "cost_per_1000": f"a cost of at most {{:g}} {settings.currency} per 1,000 queries",
    }
    return " and ".join(named[name].format(limit) for name, limit in settings.limits.items())
