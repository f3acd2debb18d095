"""How the metrics of two arms differ: a row a metric, with intervals, standard errors and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from recx.core.resampling import Procedure
from recx.core.types import Doubles
from recx.evaluation.ab.arms import Arm
from recx.evaluation.ab.ratios import Ratio, is_approximated, normal_p, permuted, ratio_of, resampled
from recx.evaluation.statistics import holm

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[Ratio, Ratio]


def ratios_of(arms: tuple[Arm, Arm], metrics: Sequence[str]) -> dict[str, Pair]:
    """Return metric -> its ratio in control and treatment."""
    control, treatment = arms
    return {
        name: (
            ratio_of(*control.of_metric(name), control.users),
            ratio_of(*treatment.of_metric(name), treatment.users),
        )
        for name in metrics
    }


def differences(arms: tuple[Arm, Arm], ratios: dict[str, Pair], procedure: Procedure) -> pd.DataFrame:
    """Return the table of differences but for what it says of the next test (see ``ABTest.table``)."""
    import pandas as pd

    rows, p = {}, {}
    approximated = {name: is_approximated(pair) for name, pair in ratios.items()}
    for quick in (True, False):
        metrics = [name for name, is_quick in approximated.items() if is_quick == quick]
        if not metrics:
            continue
        drawn = resampled(arms, metrics, quick, procedure)
        p_drawn = [] if quick else permuted(arms, metrics, procedure).tolist()
        for at, name in enumerate(metrics):
            pair = ratios[name]
            ends = _normal_intervals(pair, procedure.level) if quick else _percentiles(drawn[name], procedure.level)
            rows[name] = _row(name, pair, ends, drawn[name])
            error = math.sqrt(sum(one.squared_error for one in pair))
            difference = pair[1].value - pair[0].value
            p[name] = normal_p(difference, error, procedure.draws) if quick else p_drawn[at]
    table = pd.DataFrame([rows[name] for name in ratios])
    found = np.array([p[name] for name in ratios])
    found[np.isnan(table["difference"])] = np.nan
    return table.assign(p=found, p_holm=holm(found))


def _row(name: str, pair: Pair, ends: dict[str, tuple[float, float]], drawn: Doubles) -> dict[str, object]:
    control, treatment = pair
    values = {"control": control.value, "treatment": treatment.value, **_differences(control.value, treatment.value)}
    row: dict[str, object] = {"metric": name}
    for what, value in values.items():
        low, high = ends[what]
        row |= {what: value, f"{what}_low": low, f"{what}_high": high}
    apart = drawn[1] - drawn[0]
    known = apart[np.isfinite(apart)]
    return {
        **row,
        "se_bootstrap": float(known.std(ddof=1)) if len(known) > 1 else np.nan,
        "se_delta": math.sqrt(control.squared_error + treatment.squared_error),
    }


def _differences(control: float, treatment: float) -> dict[str, float]:
    return {"difference": treatment - control, "relative": treatment / control - 1 if control else np.nan}


def _percentiles(drawn: Doubles, level: float) -> dict[str, tuple[float, float]]:
    """Return the percentile intervals of resampled values [2, n_resamples]; values that do not exist are left out."""
    control, treatment = drawn
    ratio = np.divide(treatment, control, out=np.full(len(control), np.nan), where=control > 0)
    values = {"control": control, "treatment": treatment, "difference": treatment - control, "relative": ratio - 1}
    found = {}
    for name, of_name in values.items():
        known = of_name[np.isfinite(of_name)]
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
        found[name] = (float(low), float(high))
    return found


def _normal_intervals(pair: Pair, level: float) -> dict[str, tuple[float, float]]:
    """Return the intervals by the delta method, of the relative difference by that of the ratio's logarithm."""
    z, (control, treatment) = NormalDist().inv_cdf((1 + level) / 2), pair
    errors = [math.sqrt(one.squared_error) for one in pair]
    of_ratio = math.hypot(*(error / one.value for error, one in zip(errors, pair, strict=True)))
    ratio, difference = treatment.value / control.value, treatment.value - control.value
    reach = z * math.hypot(*errors)
    return {
        "control": (control.value - z * errors[0], control.value + z * errors[0]),
        "treatment": (treatment.value - z * errors[1], treatment.value + z * errors[1]),
        "difference": (difference - reach, difference + reach),
        "relative": (ratio * math.exp(-z * of_ratio) - 1, ratio * math.exp(z * of_ratio) - 1),
    }
