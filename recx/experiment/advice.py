"""What the figures of a run call for: one sentence each, with the figures it is based on.

The rules are in ``advice.toml``; each sentence shows its bounds or figures, so that anyone can disagree.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from math import log, nan
from pathlib import Path

RULES = tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8"))["advice"]
FIGURES = {
    "queries": ("num_queries",),
    "top_1": ("end_to_end/top_1_accuracy",),
    "top_3": ("end_to_end/top_3_accuracy",),
    "recall": ("funnel/candidate_recall",),
    "mrr": ("ranking/mrr", "ranking/mrr_at_10"),
    "auc": ("end_to_end/auc_pooled", "end_to_end/auc", "calibration/auc_after"),
    "loss": ("end_to_end/logloss", "calibration/logloss_after"),
    "targets": ("data/targets",),
    "candidates": ("data/candidates",),
}
"""Figure of the rules -> metrics, of which the first that is a number counts."""


def advice(metrics: Mapping[str, float]) -> list[str]:
    """Return what a run's figures call for.

    Args:
        metrics: Every figure of the run by its full name, see ``Result.metrics``.

    Returns:
        One sentence for each rule that applies; none if nothing was evaluated.
    """
    if "num_queries" not in metrics:
        return []
    numbers = {name: value for name, value in metrics.items() if value == value}
    figures = {
        figure: next((numbers[name] for name in names if name in numbers), nan) for figure, names in FIGURES.items()
    }
    figures["base"] = _loss_of_the_base_rate(**{name: figures[name] for name in ("targets", "candidates", "recall")})
    excess = figures["loss"] - figures["base"]
    figures["miscalibrated"] = float(excess > 0) if excess == excess else nan
    judged = {name.removeprefix("end_to_end/") for name in metrics if name.startswith("end_to_end/")} - {"users"}
    figures["only_first_place"] = bool(judged) and judged <= {"hit_at_1", "top_1_accuracy", "precision_at_1"}
    return [
        rule["say"].format(**figures, metrics=", ".join(sorted(judged)))
        for rule in RULES
        if all(low <= figures[name] < high for name, (low, high) in rule["if"].items())
    ]


def _loss_of_the_base_rate(targets: float, candidates: float, recall: float) -> float:
    """Return the approximate log loss of predicting the share of targets among the candidates for every row."""
    if not candidates or not targets * recall > 0:
        return nan
    share = min(targets * recall / candidates, 1.0)
    return 0.0 if share == 1 else -share * log(share) - (1 - share) * log(1 - share)
