"""How good a ranker's probabilities are before and after calibration, on users held out from its training."""

from __future__ import annotations

from collections.abc import Mapping

from recx.core.judged_lists import JudgedLists
from recx.core.types import Fold, RankedLists
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.evaluation.metrics.classification import auc_pooled, logloss
from recx.evaluation.metrics.curves import Table, reliability


def judged(held_out: Mapping[str, RankedLists], past: Fold) -> dict[str, JudgedLists]:
    """Match the lists of a ranker's held-out users (``before``, ``after``) with the targets of the past fold."""
    if not held_out:
        return {}
    truth = GroundTruth.of(past, ANY_GAIN)
    return {name: truth.with_users(lists.user).judge(lists) for name, lists in held_out.items()}


def figures(held_out: Mapping[str, JudgedLists]) -> dict[str, float]:
    """Return ``calibration/auc_before`` (over all rows together), ``calibration/logloss_before`` and so on."""
    return {
        **{f"calibration/auc_{when}": auc_pooled(lists, None) for when, lists in held_out.items()},
        **{f"calibration/logloss_{when}": logloss(lists, None).value for when, lists in held_out.items()},
    }


def tables(held_out: Mapping[str, JudgedLists]) -> dict[str, Table]:
    """Return the tables ``reliability_before`` and ``reliability_after``."""
    return {f"reliability_{when}": reliability(lists).value for when, lists in held_out.items()}
