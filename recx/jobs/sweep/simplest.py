"""``choose=simplest``: of the trials that are not told apart from the best, the one that is simplest.

Simpler is, in this order: fewer features; a larger penalty (``l2``) of the ranker; a larger one of the retriever; fewer
seconds, where no trial of them took a stage from the cache, so that all did the same work; the better mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.experiment.saved_runs import SavedRun
from recx.jobs.sweep.variants import Variant


@dataclass(frozen=True)
class Cost:
    """How simple a variant is.

    Attributes:
        features: How many features its ranker uses.
        ranker_l2: The penalty of the ranker, 0 where it has none.
        retriever_l2: That of the retriever.
        seconds: How long its trials took on average; 0 where that does not compare.
    """

    features: int
    ranker_l2: float
    retriever_l2: float
    seconds: float

    @property
    def order(self) -> tuple[float, ...]:
        """What variants are sorted by, the simplest first."""
        return (self.features, -self.ranker_l2, -self.retriever_l2, self.seconds)


def simplest(alike: Sequence[Variant]) -> tuple[Variant, str]:
    """Return the simplest variant and, in words, how it is simpler than the best.

    Args:
        alike: The variants that are not told apart from the best, the best first.
    """
    fresh = not any(one.cached for one in alike)
    costs = [_cost(one, fresh) for one in alike]
    place = min(range(len(alike)), key=lambda at: costs[at].order)  # of equals the first, which has the better mean
    return alike[place], _difference(costs[place], costs[0])


def _cost(variant: Variant, fresh: bool) -> Cost:
    config = SavedRun(Path(variant.done[0].folder)).config
    ranker, retriever = config.get("ranker"), config.get("retriever")
    uses = isinstance(ranker, Mapping) and "features" in ranker
    seconds = variant.seconds / len(variant.trials) if fresh else 0.0
    return Cost(len(config.get("feature") or ()) if uses else 0, _l2(ranker), _l2(retriever), seconds)


def _l2(part: Any) -> float:
    value = part.get("l2") if isinstance(part, Mapping) else None
    return float(value) if isinstance(value, int | float) else 0.0


def _difference(one: Cost, best: Cost) -> str:
    """Return the first respect in which one is simpler than the best, "" where it is not."""
    if one.features < best.features:
        return f"{one.features} feature{'s' * (one.features != 1)} instead of {best.features}"
    for what in ("ranker", "retriever"):
        ours, theirs = (getattr(cost, f"{what}_l2") for cost in (one, best))
        if ours > theirs:
            return f"penalty of the {what} {ours:g} instead of {theirs:g}"
    return f"{one.seconds:.1f} s instead of {best.seconds:.1f} s" if one.seconds < best.seconds else ""
