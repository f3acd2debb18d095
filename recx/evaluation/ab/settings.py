"""The settings of the analysis of an online test, and how ratios and effects are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from recx.core.bounds import PositiveInt, Seed, Share, checked
from recx.core.errors import InputError, did_you_mean

METRICS: Mapping[str, tuple[str, str]] = {
    "hit_rate": ("hits", "lists"),
    "ctr": ("clicks", "shown"),
    "mrr": ("reciprocal", "lists"),
}
"""Metric -> the sums over lists whose ratio it is (see ``recx.evaluation.ab.arms.SUMS``)."""

RefuseOrDrop = Literal["refuse", "drop"]


@dataclass(frozen=True)
@checked("")
class Settings:
    """Those of ``recx.ab``, which explains them."""

    control: str | None
    treatment: str | None
    ratio: str
    mde: float | str | None
    both_arms: RefuseOrDrop
    missing_arm: RefuseOrDrop
    clicks_not_shown: RefuseOrDrop
    clicked_as: Literal["items", "flags"] | None
    first_position: Annotated[int, Interval(ge=0, le=1)] | None
    gaps: Literal["refuse", "keep"]
    power: Share
    level: Share
    resamples: PositiveInt
    draws: PositiveInt
    seed: Seed

    def shares(self) -> tuple[float, float]:
        """Return the shares of the users that control and treatment are meant to get.

        Raises:
            InputError: The ratio is not two positive numbers.
        """
        try:
            control, treatment = (float(part) for part in self.ratio.split(":"))
        except ValueError:
            control, treatment = 0.0, 0.0
        if not (0 < control < math.inf and 0 < treatment < math.inf):
            raise InputError(
                f"ratio={self.ratio}: write the users of control and treatment that were intended, such as 1:1 or 90:10"
            )
        return control / (control + treatment), treatment / (control + treatment)

    def effect(self) -> tuple[float, bool] | None:
        """Return the smallest effect that matters, and whether it is a share of the control's figure; None: not set.

        Raises:
            InputError: It is no effect above 0.
        """
        if self.mde is None:
            return None
        text = str(self.mde).strip()
        relative = text.endswith("%")
        try:
            value = float(text.removesuffix("%")) / (100 if relative else 1)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise InputError(
                f"mde={self.mde}: write an effect above 0: 2% of the control's figure, or 0.002 in units of the metrics"
            )
        return value, relative


def chosen_metrics(metrics: object) -> tuple[str, ...]:
    """Return the metrics to compute; None: all.

    Raises:
        InputError: One is unknown, or there is none.
    """
    if metrics is None:
        return tuple(METRICS)
    if not isinstance(metrics, list | tuple) or not metrics:
        raise InputError(f"metrics={metrics!r}: give a list of names, such as ['ctr', 'mrr']")
    for name in metrics:
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise InputError(f"metrics: there is no metric {name!r} of an online test: {hint}")
    return tuple(dict.fromkeys(metrics))
