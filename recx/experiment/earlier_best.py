"""The best earlier run that answered the same requests: what a run's headline is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.chosen import chain
from recx.core.fold_names import inside
from recx.core.system.own_folder import is_unfinished
from recx.core.system.plain_files import read_text
from recx.experiment.saved_runs import SavedRun

PATTERNS = ("*/*/metrics.json", "sweeps/*/best/metrics.json")
MOST = 500
"""Runs that are looked at, the newest."""
SAME = ("fold", "truth", "data_hash")
"""Entries of the protocol card that two comparable runs share."""


@dataclass(frozen=True)
class EarlierBest:
    """An earlier run.

    Attributes:
        value: Its objective.
        about: Its retriever and ranker.
        folder: Its folder below that of all runs.
    """

    value: float
    about: str
    folder: str


def earlier_best(outputs: Path, folder: Path, card: Mapping[str, Any], objective: str) -> EarlierBest | None:
    """Return the run with the highest objective among those on the same data and targets; None if there is none.

    Args:
        outputs: The folder of all runs.
        folder: The run's own folder, which is left out.
        card: Its protocol card.
        objective: The name of the metric.
    """
    if not card.get("truth"):
        return None
    finished = [
        path for pattern in PATTERNS for path in outputs.glob(pattern) if path.parent.resolve() != folder.resolve()
    ]
    best: tuple[float, Path] | None = None
    for path in sorted(finished, key=lambda path: path.stat().st_mtime, reverse=True)[:MOST]:
        value = _objective(path.parent, card, objective)
        if value is not None and (best is None or value > best[0]):
            best = value, path.parent
    if best is None:
        return None
    value, place = best
    return EarlierBest(value, chain(SavedRun(place).config), place.relative_to(outputs).as_posix())


def _objective(folder: Path, card: Mapping[str, Any], objective: str) -> float | None:
    """Return the objective of a run of the same protocol; None if it is another, unfinished or damaged."""
    try:
        other = json.loads(read_text(folder / "protocol.json"))
        if is_unfinished(folder) or any(other.get(name) != card.get(name) for name in SAME):
            return None
        return float(inside(json.loads(read_text(folder / "metrics.json")))[objective])
    except Exception:  # a damaged file may raise anything, and is no comparison
        return None
