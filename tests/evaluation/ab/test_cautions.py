"""Sentences to read first: each where it is due, and none where all is well."""

from __future__ import annotations

import numpy as np

from recx.core.resampling import Procedure
from recx.evaluation.ab.arms import arm_of
from recx.evaluation.ab.cautions import cautions
from recx.evaluation.ab.design import sample_ratio
from recx.evaluation.ab.differences import differences, ratios_of


def said(one, other, notes=None, shares=(0.5, 0.5)):
    arms = (arm_of("A", one), arm_of("B", other))
    table = differences(arms, ratios_of(arms, ["ctr"]), Procedure(resamples=300, draws=19))
    ratio = sample_ratio((arms[0].n_users, arms[1].n_users), shares)
    return list(cautions(arms, ratio, table, notes or {}))


def sums(seed, users, lists=3.0, length=5, heavy=0):
    """Return the sums of users with some lists of equal length; the first one may have very many, and clicks all."""
    rng = np.random.default_rng(seed)
    n = 1 + rng.poisson(lists, users)
    shown = n * length
    clicks = rng.binomial(shown, 0.2)
    if heavy:
        n[0], shown[0], clicks[0] = heavy, heavy * length, heavy * length
    return np.column_stack([n, np.minimum(n, clicks), shown, clicks, np.minimum(n, clicks) / 2]).astype(float)


def test_nothing_is_said_where_all_is_well():
    assert said(sums(0, 100), sums(1, 100)) == []


def test_few_users():
    assert said(sums(0, 20), sums(1, 25)) == ["fewer than 30 users, so intervals and tests say little: A 20, B 25"]


def test_a_mismatch_comes_first():
    found = said(sums(0, 100), sums(1, 20))
    assert found[0].startswith("sample ratio mismatch: 100 users in A and 20 in B, where 60.0 and 60.0 were intended")
    assert "(chi-square 53.3, p 3e-13)" in found[0]
    assert said(sums(0, 100), sums(1, 50), shares=(2 / 3, 1 / 3)) == []


def test_arms_that_show_more():
    [more] = said(sums(0, 200), sums(1, 200, lists=6.0))
    assert more.startswith("the arms differ in lists a user (A ")
    [longer] = said(sums(0, 200), sums(1, 200, length=8))
    assert longer.startswith("the arms differ in items a list (A 5, B 8; p ")


def test_one_user_who_decides():
    found = said(sums(0, 100), sums(1, 100, heavy=1000))
    assert (
        "the standard errors of bootstrap and delta method differ by more than 20%, so few users decide: ctr" in found
    )


def test_users_who_are_all_alike():
    alike = np.tile([2.0, 1.0, 4.0, 1.0, 1.0], (40, 1))
    assert said(alike, alike) == [
        "no user differs from the others of the arm, and an interval without width is not certainty: ctr"
    ]


def test_every_count_has_its_sentence():
    notes = dict.fromkeys(
        ("rows_without_arm", "rows_of_other_arms", "users_in_both_arms", "clicks_not_shown", "repeated_clicks"), 1234
    )
    found = said(sums(0, 100), sums(1, 100), notes)
    assert len(found) == 5
    assert all(": 1,234" in sentence for sentence in found)
