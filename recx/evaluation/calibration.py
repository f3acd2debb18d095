"""How good a ranker's probabilities are on the users it set apart, before and after they were calibrated."""

from __future__ import annotations

from collections.abc import Mapping

from recx.core.judged_lists import JudgedLists
from recx.core.types import Fold, RankedLists
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.evaluation.metrics.classification import auc_pooled, logloss
from recx.evaluation.metrics.curves import Table, reliability


def judged(held_out: Mapping[str, RankedLists], past: Fold) -> dict[str, JudgedLists]:
    """Hold the lists of the users that a ranker set apart (``before``, ``after``) against the past fold's targets."""
    truth = GroundTruth.of(past, ANY_GAIN) if held_out else None
    return {} if truth is None else {name: truth.judge(lists) for name, lists in held_out.items()}


def figures(held_out: Mapping[str, JudgedLists]) -> dict[str, float]:
    """Return ``calibration/auc_before`` (of all rows together), ``calibration/logloss_before`` and so on."""
    measures = {"auc": auc_pooled, "logloss": logloss}
    return {
        f"calibration/{name}_{when}": measure(lists, None)
        for name, measure in measures.items()
        for when, lists in held_out.items()
    }


def tables(held_out: Mapping[str, JudgedLists]) -> dict[str, Table]:
    """Return ``reliability_before`` and ``reliability_after``."""
    return {f"reliability_{when}": reliability(lists) for when, lists in held_out.items()}
