"""What the log of an online test says of its two arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recx.core.html_table import number, sentences, table, title
from recx.core.resampling import ENOUGH, MANY, Procedure
from recx.evaluation.ab.cautions import ONE_LOOK
from recx.evaluation.ab.design import SampleRatio
from recx.evaluation.warnings import SIGNIFICANT

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ABTest:
    """The result of ``recx.ab``.

    Attributes:
        control: The name of the control.
        treatment: The name of the other arm.
        arms: A row for each arm: arm, users, lists, lists_with_click, shown (items), clicks.
        table: A row for each metric: metric, control and treatment (its value in each arm), difference (treatment -
            control), relative (the difference over the control's value; NaN where that is 0), each with its interval
            (``_low``, ``_high``); se_bootstrap and se_delta (the standard error of the difference by the cluster
            bootstrap and by the delta method), p (permutation of users), p_holm (adjusted over the metrics), higher
            (the arm that is told apart as the higher one, p_holm below 0.05, else ""; "" too where the sample ratio is
            not the intended one), mde and mde_relative (the smallest difference that this test detects with the power).
        power: How many users the next test needs: a row for each metric and effect, with metric, effect_of
            (``observed``, or ``mde`` where that is set), effect, relative, users_control, users_treatment (infinite for
            an effect of 0).
        sample_ratio: The check of the numbers of users.
        procedure: The settings of intervals and tests.
        power_level: The power of mde and of the next test.
        warnings: Sentences to read before the numbers; a sample ratio mismatch comes first.
        notes: Counts of what was left out, or is odd.
    """

    control: str
    treatment: str
    arms: pd.DataFrame
    table: pd.DataFrame
    power: pd.DataFrame
    sample_ratio: SampleRatio
    procedure: Procedure
    power_level: float
    warnings: list[str]
    notes: Mapping[str, int]

    @property
    def verdicts(self) -> list[str]:
        """A sentence for each metric: whether the arms are told apart."""
        if self.sample_ratio.mismatch:
            return ["nothing is concluded: the arms do not have the intended numbers of users"]
        said = []
        for row in self.table.to_dict("records"):
            if row["higher"]:
                lower = self.control if row["higher"] == self.treatment else self.treatment
                said.append(f"{row['metric']}: {row['higher']} above {lower}")
            else:
                least = "no user differs from the others of the arm"
                if row["mde"] > 0:
                    least = f"this test detects differences from {row['mde']:.3g} on"
                said.append(f"{row['metric']}: not told apart; {least}")
        return said

    @property
    def about(self) -> list[str]:
        """How intervals and tests were computed, and for how many looks they hold."""
        procedure, users = self.procedure, int(self.arms["users"].sum())
        permuted = f"permutation of users, {procedure.draws:,} draws"
        if users >= MANY:
            permuted += f", or the normal approximation where {ENOUGH:,} users or more are effective"
        return [
            f"Low, high: {procedure.in_words(users)['intervals']}",
            f"p: {permuted}, two-sided; Holm: adjusted over the metrics ({len(self.table)})",
            "se: standard error of the difference by the bootstrap; delta: by the delta method",
            f"MDE: the smallest difference detected with power {self.power_level:g} at the level {SIGNIFICANT:g}, of "
            "one metric; an effect that was observed in one test is often larger than it is",
            ONE_LOOK,
        ]

    def __repr__(self) -> str:
        said = "; ".join([*self.verdicts, f"warnings: {len(self.warnings)}"])
        return f"<ABTest of {self.treatment} against {self.control}: {said}>"

    def _repr_html_(self) -> str:
        head = ["metric", self.control, self.treatment, "difference", "interval", "relative", "p (Holm)", "MDE"]
        rows = [
            [
                str(row["metric"]),
                *(number(row[name]) for name in ("control", "treatment")),
                number(row["difference"], "+"),
                f"{number(row['difference_low'], '+')} to {number(row['difference_high'], '+')}",
                *(number(row[name]) for name in ("relative", "p_holm", "mde")),
            ]
            for row in self.table.to_dict("records")
        ]
        heading = title(f"{self.treatment} against {self.control}")
        return str(heading + sentences(self.warnings) + table(head, rows) + sentences([*self.verdicts, *self.about]))
