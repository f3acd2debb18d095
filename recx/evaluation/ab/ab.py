"""Analyses an online test of two arms from a log of impressions: ``recx.ab``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from recx.core.resampling import Procedure
from recx.evaluation.ab.arms import SUMS, Arm, arms_of
from recx.evaluation.ab.cautions import cautions
from recx.evaluation.ab.design import detectable, sample_ratio, users_needed
from recx.evaluation.ab.differences import Pair, differences, ratios_of
from recx.evaluation.ab.log import read_log
from recx.evaluation.ab.outcome import ABTest
from recx.evaluation.ab.settings import Settings, chosen_metrics
from recx.evaluation.warnings import SIGNIFICANT

if TYPE_CHECKING:
    import pandas as pd

    from recx.evaluation.evaluate import Given

NAMES = {"hits": "lists_with_click"}
COUNTED = [name for name in SUMS if name != "reciprocal"]


def ab(
    log: Given,
    *,
    columns: Mapping[str, str] | None = None,
    control: str | None = None,
    treatment: str | None = None,
    metrics: Sequence[str] | None = None,
    ratio: str = "1:1",
    mde: float | str | None = None,
    both_arms: Literal["refuse", "drop"] = "refuse",
    missing_arm: Literal["refuse", "drop"] = "refuse",
    clicks_not_shown: Literal["refuse", "drop"] = "refuse",
    clicked_as: Literal["items", "flags"] | None = None,
    first_position: int | None = None,
    gaps: Literal["refuse", "keep"] = "refuse",
    power: float = 0.8,
    level: float = 0.95,
    resamples: int = 10_000,
    draws: int = 10_000,
    seed: int = 0,
) -> ABTest:
    """Compare the two arms of an online test.

    ``hit_rate`` is the share of lists with a click, ``ctr`` the share of shown items that were clicked, ``mrr`` the
    mean over lists of 1 / the position of the topmost click, 0 without one. All three are ratios of sums over users,
    who are what was assigned to arms: users are resampled and permuted, never lists or clicks.

    Args:
        log: A data frame (pandas, Polars, PyArrow), or the path of a CSV, TSV, Parquet or JSON lines file. Either a row
            for each list: user, arm, shown (its items from the top), clicked (those that were clicked, or a 0 or 1 for
            each one shown). Or a row for each item shown: user, arm, list (perhaps), item (perhaps), position, clicked
            (0 or 1).
        columns: Role -> its column, where that has another name, such as ``{"arm": "variant"}``.
        control: The name of the control, by default the arm that is called control, baseline, a, 0 or the like.
        treatment: The name of the other arm, by default the one that is not the control; both are needed where the log
            has more than two.
        metrics: Names of metrics; None: hit_rate, ctr and mrr.
        ratio: The users that control and treatment were meant to get, such as ``90:10``.
        mde: The smallest effect that matters, for the size of the next test: ``"2%"`` of the control's value, or 0.002
            in units of the metrics.
        both_arms: Whether to refuse a log with users in more than one arm, or to leave them out.
        missing_arm: Whether to refuse a log with rows without an arm, or to leave them out.
        clicks_not_shown: Whether to refuse a log with clicks on items that their list does not show, or to leave these
            out.
        clicked_as: Whether ``clicked`` has the items that were clicked or flags, where it could be both.
        first_position: The number of the first position, 0 or 1; None: 1, and a log with a 0 is refused.
        gaps: Whether to refuse a list whose positions leave some out, or to take them as they are.
        power: The power for which the smallest detectable effect and the next test are computed, at the level 0.05.
        level: The level of the intervals.
        resamples: The number of resamples of the bootstrap.
        draws: The number of permutations.
        seed: The seed of both.

    Returns:
        The figures of both arms, their differences, the check of the sample ratio and the size of the next test.

    Raises:
        InputError: The log or a setting cannot be used, or can be read in two ways; the message says which, where, why.
    """
    settings = Settings(
        control=control,
        treatment=treatment,
        ratio=ratio,
        mde=mde,
        both_arms=both_arms,
        missing_arm=missing_arm,
        clicks_not_shown=clicks_not_shown,
        clicked_as=clicked_as,
        first_position=first_position,
        gaps=gaps,
        power=power,
        level=level,
        resamples=resamples,
        draws=draws,
        seed=seed,
    )
    shares, effect, names = settings.shares(), settings.effect(), chosen_metrics(metrics)
    found = read_log(log, columns or {}, names, settings)
    arms, procedure = arms_of(found), Procedure(level, resamples, draws, seed)
    check = sample_ratio((arms[0].n_users, arms[1].n_users), shares)
    ratios = ratios_of(arms, names)
    table = differences(arms, ratios, procedure)
    higher = np.where(table["difference"] > 0, arms[1].name, arms[0].name)
    told = (table["p_holm"] < SIGNIFICANT) & (not check.mismatch)
    smallest = np.array([detectable(ratios[name], power) for name in names])
    of_control = table["control"].to_numpy()
    relative = np.divide(smallest, of_control, out=np.full(len(names), np.nan), where=of_control > 0)
    table = table.assign(higher=np.where(told, higher, ""), mde=smallest, mde_relative=relative)
    empty = int((found.lists.shown == 0).sum())
    notes = {**found.notes, **({"empty_lists": empty} if empty else {})}
    return ABTest(
        control=arms[0].name,
        treatment=arms[1].name,
        arms=_counts(arms),
        table=table,
        power=_next_test(ratios, effect, shares, power),
        sample_ratio=check,
        procedure=procedure,
        power_level=power,
        warnings=list(cautions(arms, check, table, notes)),
        notes=notes,
    )


def _counts(arms: tuple[Arm, Arm]) -> pd.DataFrame:
    """Return the counts of both arms (see ``ABTest.arms``)."""
    import pandas as pd

    counts = [{NAMES.get(name, name): arm.total(name) for name in COUNTED} for arm in arms]
    return pd.DataFrame([{"arm": arm.name, "users": arm.n_users, **of} for arm, of in zip(arms, counts, strict=True)])


def _next_test(
    ratios: Mapping[str, Pair], given: tuple[float, bool] | None, shares: tuple[float, float], power: float
) -> pd.DataFrame:
    """Return how many users the next test needs (see ``ABTest.power``)."""
    import pandas as pd

    rows = []
    for name, pair in ratios.items():
        control, treatment = (one.value for one in pair)
        effects = {"observed": abs(treatment - control)}
        if given is not None:
            effects["mde"] = given[0] * control if given[1] else given[0]
        for what, effect in effects.items():
            users = users_needed(pair, effect, shares, power)
            relative = effect / control if control else np.nan
            values = (name, what, effect, relative, *users)
            rows.append(values)
    columns = ["metric", "effect_of", "effect", "relative", "users_control", "users_treatment"]
    return pd.DataFrame(rows, columns=columns)
