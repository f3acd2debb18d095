"""The fitted ranker of a run, read from the chain that the run kept."""

from __future__ import annotations

from pathlib import Path

from recx.core.protocols import Explainable, FittedRanker, Ranker, is_trained
from recx.experiment.contributions import AddedUp
from recx.experiment.model.folder import MODEL, read


def explainable_of(folder: Path, ranker: Ranker | FittedRanker) -> Explainable | None:
    """Return the fitted ranker of a run, collinear features added up; None if it is not explainable, or was not kept.

    Args:
        folder: The run's folder, from which the fitted ranker is loaded.
        ranker: The ranker of the run's configuration.

    Raises:
        InputError: Its files are missing or damaged.
    """
    fitted: Ranker | FittedRanker = ranker
    if is_trained(ranker) and (folder / MODEL).exists():
        fitted = read(folder / MODEL).chain.ranker
    return AddedUp(fitted) if isinstance(fitted, Explainable) else None
