"""Which rankers are not told apart in quality, and about how many queries would tell them apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recx.evaluation.statistics import users_to_tell_apart
from recx.evaluation.warnings import LISTED, SIGNIFICANT
from recx.jobs.benchmark.outcome import Outcome, Row
from recx.report.terminal.formats import figure

MOST = 1_000_000
"""Above this number of queries, no number is named."""


def not_told_apart(outcome: Outcome, best: Row) -> Iterator[str]:
    """Yield what is not told apart from the best ranker, and which other pairs are not.

    Args:
        outcome: Of the benchmark.
        best: The best ranker in quality.
    """
    metric = outcome.settings.quality
    alike = [test for test in outcome.against_best if not test["p_holm"] < SIGNIFICANT]
    if alike:
        yield f"{_head(f'from {best.name}', metric, len(outcome.against_best))}: {_listed(alike, outcome.against_best)}"
    elif outcome.against_best:
        tests = _tests(len(outcome.against_best))
        yield f"{best.name} is told apart from every other ranker in {metric} ({tests})"
    others = [pair for pair in outcome.pairs if best.name not in (pair["run"], pair["baseline"])]
    others = [pair for pair in others if not pair["p_holm"] < SIGNIFICANT]
    if others:
        yield f"{_head('from each other', metric, len(outcome.pairs))}: {_listed(others, outcome.pairs, both=True)}"


def _head(whom: str, metric: str, tests: int) -> str:
    return f"not told apart {whom} in {metric} ({_tests(tests)})"


def _tests(tests: int) -> str:
    return f"paired, Holm over {tests} test{'' if tests == 1 else 's'}"


def _listed(rows: Sequence[Mapping[str, Any]], family: Sequence[Mapping[str, Any]], both: bool = False) -> str:
    """Return each difference with its interval, its queries, and how many more of them would tell it from 0."""
    said = []
    for row in rows[:LISTED]:
        name = f"{row['run']} and {row['baseline']}" if both else row["run"]
        difference, low, high = (figure(row[key], "+") for key in ("difference", "difference_low", "difference_high"))
        enough = _enough(row, len(family))
        said.append(f"{name} ({difference}, {low} to {high}, {row['users']:,} queries; {enough})")
    return ", ".join(said) + (f" … ({len(rows)} in all)" if len(rows) > LISTED else "")


def _enough(row: Mapping[str, Any], tests: int) -> str:
    """Return how many queries would tell a difference of this size from 0, in words."""
    needed = users_to_tell_apart(row["d_z"], tests)
    if math.isnan(needed):
        return "too few to say how many would tell them apart"
    if math.isinf(needed):
        return "no number of queries would tell them apart if there is no difference"
    if needed > MOST:
        return f"more than {MOST:,} queries would be needed to tell them apart"
    return f"about {_rounded(max(needed, row['users'] + 1)):,} queries would tell them apart"


def _rounded(queries: float) -> int:
    """Return a number rounded up to two significant digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(queries)) - 1)
    return math.ceil(queries / unit) * unit
