"""Which of two runs' models is to be used: the better one on the users of ``fold=valid``, if that is no chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.trackers import Verdict
from recx.evaluation.compare import compare
from recx.evaluation.rules import differing, rules
from recx.experiment.chosen_by import FOLDER
from recx.experiment.saved_runs import FIGURES, SavedRun

LEVEL = 0.05
"""The better one must be better with a p below this one (the paired test of ``recx compare``, by sign flips)."""
SHOWN = 3
"""Differing rules that are named."""


@dataclass(frozen=True)
class ContestOnValid:
    """Compares a run with others by the values of their users on ``fold=valid``, which the best runs of sweeps keep.

    Attributes:
        folder: The run's folder.
    """

    folder: Path
    files: tuple[str, ...] = tuple(f"{FOLDER}/{name}" for name in FIGURES)

    def verdict(self, champion: Path | None) -> Verdict:
        """Return whether this run is better than another one, whose files are in a folder; None: there is no other."""
        if not self._has_values(self.folder):
            return Verdict(False, "it has no values of fold=valid, which the best run of a sweep has")
        if champion is None:
            return Verdict(True, "it has values of fold=valid")
        if not self._has_values(champion):
            return Verdict(False, "that one has left no values of fold=valid in the store, so nothing was compared")
        try:
            return _compared(SavedRun(self.folder / FOLDER), SavedRun(champion / FOLDER))
        except InputError as error:
            return Verdict(False, str(error))

    def _has_values(self, run: Path) -> bool:
        return all((run / name).is_file() for name in self.files)


def _compared(ours: SavedRun, theirs: SavedRun) -> Verdict:
    objective = str(ours.config.get("objective"))
    if theirs.config.get("objective") != objective:
        return Verdict(False, f"the objectives differ ({objective}, {theirs.config.get('objective')})")
    if ours.data_hash != theirs.data_hash:
        return Verdict(False, "the runs are of different data")
    if found := differing(rules(ours.protocol), rules(theirs.protocol), [objective]):
        return Verdict(False, f"the rules of their protocol cards differ ({_shown(found)})")
    mine, other = ours.evaluation, theirs.evaluation
    if set(mine.users.tolist()) != set(other.users.tolist()):
        return Verdict(False, f"they judge different users ({len(mine.users):,}, {len(other.users):,})")
    [row] = compare(other, mine, metrics=[objective]).table.to_dict("records")
    counted = [int(np.count_nonzero(~np.isnan(run.values[objective]))) for run in (mine, other)]
    if counted != [row["users"]] * 2:
        return Verdict(False, f"{objective} counts different users in both")
    figures = (
        f"valid/{objective} {row['mean_run']:.4f}, {row['difference']:+.4f} over {row['users']:,} users, p = "
        f"{row['p_sign_flip']:.2g}"
    )
    if row["difference"] > 0 and row["p_sign_flip"] < LEVEL:
        return Verdict(True, figures)
    return Verdict(False, f"{figures}, which is not better with p < {LEVEL}")


def _shown(found: Mapping[str, tuple[str, str]]) -> str:
    """Return the first rules that differ between two protocol cards."""
    shown = [f"{name}: {one}, {other}" for name, (one, other) in list(found.items())[:SHOWN]]
    return "; ".join(shown) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
