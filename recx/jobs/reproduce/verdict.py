"""Expected and measured figures side by side, and what that says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from recx.jobs.reproduce.spec import Expected, Reproduction
from recx.jobs.study.cells import CellOutcome

Verdict = Literal["reproduced", "differs", ""]
SLACK = 1e-9
"""Differences of rounding, on top of every tolerance."""
NOT_RUN = "not run here"
"""The word for a figure that was not measured."""


@dataclass(frozen=True)
class Measured:
    """A figure of a chain in a world.

    Attributes:
        value: Its mean over the seeds.
        sd: Its standard deviation over the seeds; NaN for one.
        seeds: The number of seeds that gave a figure.
        reason: Why there is none, in a sentence.
    """

    value: float = math.nan
    sd: float = math.nan
    seeds: int = 0
    reason: str = ""


Figures = Mapping[tuple[str, str, str], Measured]
"""Chain, world and full name of a metric -> what was measured."""


@dataclass(frozen=True)
class Row:
    """One expected figure.

    Attributes:
        chain: The chain, or the model that no chain is; "" for given lists.
        world: The world, or the name of the lists.
        metric: The metric.
        expected: The expected value.
        tolerance: The largest difference that is none.
        origin: Whose figure is expected, see ``spec.ORIGINS``.
        source: Where it stands.
        measured: What was measured.
    """

    chain: str
    world: str
    metric: str
    expected: float
    tolerance: float
    origin: str
    source: str
    measured: Measured

    @property
    def verdict(self) -> Verdict:
        """``reproduced`` within the tolerance, ``differs`` beyond it, and none without a measured figure."""
        if not math.isfinite(self.measured.value):
            return ""
        near = abs(self.measured.value - self.expected) <= self.tolerance + SLACK
        return "reproduced" if near else "differs"


def figures_of(outcomes: Sequence[CellOutcome]) -> Figures:
    """Return the figures of a study's runs: of each chain in each world, the mean over the seeds that finished."""
    of_seeds: dict[tuple[str, str, str], list[float]] = {}
    failed: dict[tuple[str, str], str] = {}
    for one in outcomes:
        place = one.cell.chain, one.cell.world
        if one.evaluation is None:
            failed.setdefault(place, one.reason)
            continue
        for metric, value in one.evaluation.means.items():
            of_seeds.setdefault((*place, metric), []).append(float(value))
    found = {
        key: Measured(fmean(values), stdev(values) if len(values) > 1 else math.nan, len(values))
        for key, values in of_seeds.items()
    }
    done = {key[:2] for key in found}
    return {**found, **{(*place, ""): Measured(reason=why) for place, why in failed.items() if place not in done}}


def rows_of(found: Reproduction, figures: Figures | None = None) -> list[Row]:
    """Return a row for each expected figure.

    Args:
        found: The reproduction.
        figures: What was measured; None: what its file says was measured.
    """
    return list(_rows(found, figures))


def _rows(found: Reproduction, figures: Figures | None) -> Iterator[Row]:
    for entry in found.expected:
        for metric, value in entry.figures.items():
            measured = _noted(entry, metric) if figures is None or entry.model else _of(figures, entry, metric)
            shared = entry.tolerance, entry.origin, entry.source
            yield Row(entry.chain or entry.model, entry.world, metric, value, *shared, measured)


def _noted(entry: Expected, metric: str) -> Measured:
    value = entry.measured.get(metric)
    return Measured() if value is None else Measured(value, seeds=1)


def _of(figures: Figures, entry: Expected, metric: str) -> Measured:
    place = entry.chain, entry.world
    return figures.get((*place, metric)) or figures.get((*place, "")) or Measured()


def summary(rows: Sequence[Row]) -> str:
    """Return how many figures were reproduced, differ and were not measured, such as ``3 reproduced, 1 differs``."""
    counts = Counter(row.verdict for row in rows)
    if counts[""] == len(rows):
        return NOT_RUN
    differ = "differs" if counts["differs"] == 1 else "differ"
    told = ((counts["reproduced"], "reproduced"), (counts["differs"], differ), (counts[""], NOT_RUN))
    return ", ".join(f"{count} {word}" for count, word in told if count)
