"""What a fitted retriever or ranker reports of its fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from recx.core.types import Array, Notes, RankedLists


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What there is to report of a fit; every field is optional.

    Attributes:
        notes: Counts of what the fit dropped, set aside or found odd.
        curves: Name of a metric -> its value after each epoch.
        tables: Name of a table -> its columns by name, one value per row.
        weights: Feature -> its weight (rankers).
        collinear: Groups of features whose weights cannot be read singly, since the features explain one another.
        importances: Feature -> its share of the importance of all features (rankers).
        held_out: ``before`` and ``after`` calibration -> lists with the probabilities for those users of the past
            fold who were set aside for calibration (rankers).
    """

    notes: Notes = field(default_factory=dict)
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    collinear: Sequence[Sequence[str]] = ()
    importances: Mapping[str, float] = field(default_factory=dict)
    held_out: Mapping[str, RankedLists] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, float]:
        """``weight/NAME``, ``weight_low/NAME`` and ``weight_high/NAME`` if there are bounds, ``importance/NAME``."""
        table = self.tables.get("weights", {})
        bounds = {
            f"weight_{end}/{name}": float(bound)
            for end in ("low", "high")
            for name, bound in zip(table.get("feature", ()), table.get(end, ()), strict=True)
            if bound == bound
        }
        weights = {f"weight/{name}": float(weight) for name, weight in self.weights.items()}
        return weights | bounds | {f"importance/{name}": float(share) for name, share in self.importances.items()}


@runtime_checkable
class Summarised(Protocol):
    """A fitted retriever or ranker that has something to report of its fit."""

    @property
    def summary(self) -> FitSummary:
        """What to report of the fit."""


def summary_of(part: object) -> FitSummary:
    """Return the summary of a fitted part, an empty one if it has no ``summary``."""
    return part.summary if isinstance(part, Summarised) else FitSummary()
