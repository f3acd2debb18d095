"""Sentences to read before the figures of an online test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from recx.core.resampling import FEW_USERS, ROUNDING
from recx.evaluation.ab.arms import Arm
from recx.evaluation.ab.design import SampleRatio
from recx.evaluation.ab.ratios import normal_p, ratio_of
from recx.evaluation.warnings import some

if TYPE_CHECKING:
    import pandas as pd

ONE_LOOK = (
    "Peeking: p and intervals hold for one look, at an end that was set before the start: who looks again and again "
    "until p is below 0.05 finds a difference far more often than in 5 % of tests without any (Johari et al., KDD 2017)"
)
APART = 0.2
"""By this share the two standard errors may differ."""
EXPOSED = 0.01
"""Below this p the arms differ in how much was shown."""
DRAWS = 10**9
"""A p of the normal distribution itself is as that of so many draws."""

OF_COUNTS = {
    "rows_without_arm": "rows without an arm, which are left out: {n:,}",
    "rows_of_other_arms": "rows of other arms, which are left out: {n:,}; if several treatments are tested against one "
    "control, the p-values of all must be adjusted together",
    "users_in_both_arms": "users in more than one arm, who are left out: {n:,}; if one of the arms made them change, "
    "the users left in both are not alike",
    "clicks_not_shown": "clicks on items that were not shown, which are left out: {n:,}",
    "repeated_clicks": "clicks that repeat another one of their list and item, which counts once: {n:,}",
    "empty_lists": "lists that show no item, and count 0 in hit_rate and mrr: {n:,}",
    "lists_without_name": "the log does not name its lists, so all rows of a user count as one list (lists: {n:,})",
}
"""Count -> what it says."""


def cautions(arms: tuple[Arm, Arm], ratio: SampleRatio, table: pd.DataFrame, notes: Mapping[str, int]) -> Iterator[str]:
    """Yield what must be known before the figures are relied on; a sample ratio mismatch comes first."""
    names = [arm.name for arm in arms]
    if ratio.mismatch:
        wanted = " and ".join(f"{expected:,.1f}" for expected in ratio.expected)
        yield (
            f"sample ratio mismatch: {ratio.users[0]:,} users in {names[0]} and {ratio.users[1]:,} in {names[1]}, "
            f"where {wanted} were intended (chi-square {ratio.chi_square:.1f}, p {ratio.p:.1g}): users of one arm were "
            "lost or added, so nothing is concluded from the differences: find the cause first"
        )
    yield from (sentence.format(n=notes[name]) for name, sentence in OF_COUNTS.items() if notes.get(name))
    few = [f"{arm.name} {arm.n_users:,}" for arm in arms if arm.n_users < FEW_USERS]
    if few:
        yield f"fewer than {FEW_USERS} users, so intervals and tests say little: {some(few)}"
    yield from _exposure(arms)
    yield from _spread(table)


def _exposure(arms: tuple[Arm, Arm]) -> Iterator[str]:
    """Yield a sentence for each denominator in which the arms differ."""
    for what, above, below in (("lists a user", "lists", ""), ("items a list", "shown", "lists")):
        pair = []
        for arm in arms:
            ones = np.ones(len(arm.users))
            sums = arm.ratio_of(above, below or above)
            pair.append(ratio_of(sums[0], sums[1] if below else ones, arm.users))
        error = math.sqrt(sum(one.squared_error for one in pair))
        p = normal_p(pair[1].value - pair[0].value, error, DRAWS)
        if p < EXPOSED:
            shown = ", ".join(f"{arm.name} {one.value:.4g}" for arm, one in zip(arms, pair, strict=True))
            yield (
                f"the arms differ in {what} ({shown}; p {p:.1g}), so their ratios are of different lists: a lower "
                "ratio may come of more use, not of worse lists"
            )


def _spread(table: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on figures that vary too little, or whose two standard errors disagree."""
    flat = table["se_delta"] <= ROUNDING
    if flat.any():
        yield (
            "no user differs from the others of the arm, and an interval without width is not certainty: "
            f"{some(table['metric'][flat].tolist())}"
        )
    apart = ~flat & ((table["se_bootstrap"] / table["se_delta"].where(~flat, 1.0) - 1).abs() > APART)
    if apart.any():
        yield (
            f"the standard errors of bootstrap and delta method differ by more than {APART:.0%}, so few users decide: "
            f"{some(table['metric'][apart].tolist())}"
        )
