"""Evaluates predicted probabilities of clicks: order, log loss and calibration, over every row that was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, Share, check
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.types import Fold, RankedLists
from recx.evaluation.ctr import calibration
from recx.evaluation.ctr.figures import entropy, figures, row_losses
from recx.evaluation.ctr.rows import Rows
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.evaluation.metrics.classification import auc, clipped_rows, one_class_users
from recx.evaluation.metrics.curves import pr_curve, roc_curve
from recx.evaluation.slices import slices_of


@dataclass(frozen=True)
class Ctr:
    """The figures of the ranker's scores as probabilities of a click, over the rows of all requests.

    Unlike those of ``recx.evaluation.evaluator.Evaluator``, they count the lists of requests without a click too, where
    the data keeps these: a click rate without them would be too high. A row is clicked if its gain is above 0. Clicks
    on items that were not among the candidates play no part, and are counted.

    Attributes:
        bins: Number of groups of equal size by predicted probability (10: deciles).
        by: Calibration by slices: ``rank``, the place in the list, or columns of the lists, the items or the users.
        level: Confidence level of all intervals, which are over users.
        resamples: Number of bootstrap samples.
        seed: Seed of the bootstrap, the same for all runs that are compared.
    """

    rel_threshold: ClassVar[float] = ANY_GAIN

    bins: Annotated[int, Ge(2)] = 10
    by: Sequence[str] = ("rank",)
    level: Share = 0.95
    resamples: PositiveInt = 1_000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "evaluator")
        for name in self.by:
            if list(self.by).count(name) > 1:
                raise InputError(f"evaluator.by: {name!r} is listed twice: remove one of them")

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        """Compute figures with intervals, curves, and tables of calibration.

        Raises:
            InputError: A score is no probability, all rows were clicked or none, or ``by`` names no column.
        """
        truth = GroundTruth.of(fold, ANY_GAIN)
        everybody = truth.with_users(recommendations.user)
        judged = everybody.judge(recommendations)
        rows = Rows.of(judged)
        groups = calibration.deciles(rows.p, self.bins, "predicted")
        sampling = (self.level, self.resamples, self.seed)
        scalars = {
            **figures(rows, *sampling),
            "mean_predicted": float(rows.p.mean()),
            **calibration.errors(rows, groups.place, *sampling),
        }
        with np.errstate(invalid="ignore"):  # a user without rows has no mean
            loss_of_user = rows.by_user(row_losses(rows)) / rows.rows_of_user
        gain_of_user = 1 - loss_of_user / entropy(rows.click_rate)
        tables = {
            "roc_curve": roc_curve(judged),
            "pr_curve": pr_curve(judged),
            "calibration": calibration.table(rows, groups, self.level),
        }
        for name in self.by:
            slices = calibration.slices(name, recommendations, fold, self.bins)
            tables[f"calibration_by_{name}"] = calibration.table(rows, slices, self.level)
        shown = int(rows.clicked.sum())
        return Evaluation(
            fold.history.users.ids[everybody.user],
            {"end_to_end/auc": auc(judged, None), "end_to_end/information_gain_of_user": gain_of_user},
            {f"end_to_end/{name}": value for name, value in scalars.items()}
            | {"end_to_end/users": float(rows.n_users), "end_to_end/rows": float(len(rows))},
            {
                **truth.notes,
                "users_without_target": len(everybody.user) - len(truth.user),
                "users_without_list": int((rows.rows_of_user == 0).sum()),
                "clicks_not_shown": len(truth.item) - shown,
                **one_class_users(judged, None),
                **clipped_rows(judged, None),
            },
            slices=slices_of(everybody, fold.history),
            tables=tables,
        )
