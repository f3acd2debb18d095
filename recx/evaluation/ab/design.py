"""Whether users were dealt as intended, and how many the next test needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from recx.evaluation.ab.differences import Pair
from recx.evaluation.warnings import SIGNIFICANT

MISMATCH = 0.001
"""Below this p the numbers of users do not have the intended ratio (Fabijan et al. 2019)."""


@dataclass(frozen=True)
class SampleRatio:
    """The check of the sample ratio: whether arms have as many users as intended.

    Source: Fabijan, Gupchup, Gupta, Omhover, Qin, Vermeer and Dmitriev, Diagnosing Sample Ratio Mismatch in Online
    Controlled Experiments (KDD 2019).

    Attributes:
        users: The users of control and treatment.
        expected: As many as were intended of them.
        chi_square: Pearson's statistic, of one degree of freedom.
        p: Its p-value.
    """

    users: tuple[int, int]
    expected: tuple[float, float]
    chi_square: float
    p: float

    @property
    def mismatch(self) -> bool:
        """Whether nothing can be concluded, since users of one arm were lost or added."""
        return self.p < MISMATCH


def sample_ratio(users: tuple[int, int], shares: tuple[float, float]) -> SampleRatio:
    """Check the numbers of users against their intended shares."""
    control, treatment = (sum(users) * share for share in shares)
    chi_square = (users[0] - control) ** 2 / control + (users[1] - treatment) ** 2 / treatment
    return SampleRatio(users, (control, treatment), chi_square, 2 * NormalDist().cdf(-math.sqrt(chi_square)))


def detectable(pair: Pair, power: float) -> float:
    """Return the smallest difference that this test detects with the given power, two-sided at the level 0.05.

    (z(1 - 0.05 / 2) + z(power)) times the standard error; NaN if no user differs from the others of the arm. Source:
    Bloom, Minimum Detectable Effects (Evaluation Review 19, 1995).
    """
    return _quantiles(power) * math.sqrt(sum(one.squared_error for one in pair)) or math.nan


def users_needed(pair: Pair, effect: float, shares: tuple[float, float], power: float) -> tuple[float, float]:
    """Return the users of control and treatment that a test of this effect needs, two-sided at the level 0.05.

    n = (z(1 - 0.05 / 2) + z(power))² (V_control / share_control + V_treatment / share_treatment) / effect² in both,
    with the variances between users of this test. So users must have as many lists as here. Infinite for an effect
    of 0; NaN if it is unknown, or if no user differs from the others of the arm.
    """
    spread = sum(one.variance / share for one, share in zip(pair, shares, strict=True))
    if not (spread > 0 and math.isfinite(effect)):
        return math.nan, math.nan
    if not effect:
        return math.inf, math.inf
    whole = _quantiles(power) ** 2 * spread / effect**2
    control, treatment = (float(max(2, math.ceil(whole * share))) for share in shares)
    return control, treatment


def _quantiles(power: float) -> float:
    return NormalDist().inv_cdf(1 - SIGNIFICANT / 2) + NormalDist().inv_cdf(power)
