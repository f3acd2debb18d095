"""The bootstrap and sign flips: against exact enumeration, scipy, values worked by hand, and loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from threadpoolctl import threadpool_limits

from recx.core import resampling
from recx.core.resampling import Procedure, bootstrap, effective, sign_flip
from recx.core.types import Doubles

NAN = np.nan


def column(*values: float) -> Doubles:
    return np.array(values, dtype=np.float64)[:, None]


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few dozen users fill several cells and the last one in part."""
    monkeypatch.setattr(resampling, "CELL", 8)


# The bootstrap


def test_the_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(3).gamma(1.0, size=(80, 1))
    low, high = bootstrap(values, resamples=20_000, seed=1)
    theirs = stats.bootstrap(
        (values[:, 0],), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    error = values.std() / np.sqrt(80)
    assert low[0] == pytest.approx(theirs.low, abs=0.05 * error)
    assert high[0] == pytest.approx(theirs.high, abs=0.05 * error)


@pytest.mark.usefixtures("small_cells")
def test_cells_draw_as_one_would() -> None:
    values = np.random.default_rng(3).gamma(1.0, size=(30, 1))
    low, high = bootstrap(values, resamples=20_000, level=0.8, seed=1)
    drawn = values[np.random.default_rng(0).integers(30, size=(20_000, 30)), 0].mean(axis=1)
    error = values.std() / np.sqrt(30)
    assert (low[0], high[0]) == pytest.approx(np.quantile(drawn, [0.1, 0.9]), abs=0.05 * error)


@pytest.mark.usefixtures("small_cells")
def test_every_resample_has_as_many_users_and_all_are_as_likely() -> None:
    n_users, draws = 21, 2_000
    counts = np.hstack([cell.copy() for cell in resampling._counts(np.random.default_rng(0), n_users, draws)])
    assert counts.shape == (draws, n_users)
    assert (counts.sum(axis=1) == n_users).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(n_users), abs=5 / np.sqrt(draws))
    assert counts.var() == pytest.approx(1 - 1 / n_users, abs=0.03)


def test_a_single_hit_in_four_by_hand() -> None:
    """The mean of a resample is Binomial(4, 1/4) / 4: 0 in 31.6 %, at most 2/4 in 94.9 %, at most 3/4 in 99.6 %."""
    low, high = bootstrap(column(1, 0, 0, 0), level=0.95)
    assert (low[0], high[0]) == (0.0, 0.75)
    low, high = bootstrap(column(1, 0, 0, 0), level=0.8)
    assert (low[0], high[0]) == (0.0, 0.5)


def test_users_left_out_of_a_column_are_left_out_of_its_mean() -> None:
    rng = np.random.default_rng(5)
    values = rng.random((40, 3))
    values[rng.random((40, 3)) < 0.4] = NAN
    values[:, 2] = NAN
    values[7, 2] = 0.25
    low, high = bootstrap(values, resamples=500, seed=9)
    counts = np.vstack([next(resampling._counts(r, 40, n)).copy() for r, n in _blocks(9, 500)])
    for place in range(2):
        means = []
        for weights in counts:
            there = ~np.isnan(values[:, place])
            if weights[there].sum():
                means.append((weights[there] * values[there, place]).sum() / weights[there].sum())
        assert (low[place], high[place]) == pytest.approx(np.quantile(means, [0.025, 0.975]))
    assert np.isnan([low[2], high[2]]).all()  # of one user


def _blocks(seed: int, draws: int) -> list[tuple[np.random.Generator, int]]:
    rng = np.random.default_rng(seed)
    return [(rng, min(resampling.BLOCK, draws - start)) for start in range(0, draws, resampling.BLOCK)]


def test_nobody_and_one_user_alone_have_no_interval() -> None:
    assert np.isnan(bootstrap(np.empty((0, 2)))).all()
    assert np.isnan(bootstrap(column(0.5))).all()
    assert np.isnan(bootstrap(column(0.5, NAN, NAN))).all()
    assert [*np.ravel(bootstrap(column(0.5, 0.5)))] == [0.5, 0.5]
    low, high = bootstrap(np.array([[NAN, 1.0], [NAN, 2.0]]), resamples=50)
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == (1.0, 2.0)


def test_columns_share_their_resamples() -> None:
    values = np.random.default_rng(0).random((50, 2))
    both = np.hstack([values, values[:, :1] + 1])
    low, high = bootstrap(both, resamples=300)
    assert low[2] == pytest.approx(low[0] + 1)
    alone = bootstrap(values[:, 1:], resamples=300)
    assert (low[1], high[1]) == pytest.approx((alone[0][0], alone[1][0]))


def test_the_seed_alone_decides() -> None:
    values = np.random.default_rng(0).random((9_000, 3))
    with threadpool_limits(1):
        one = [*bootstrap(values, resamples=70, seed=4), sign_flip(values - 0.5, draws=70, seed=4)]
    two = [*bootstrap(values, resamples=70, seed=4), sign_flip(values - 0.5, draws=70, seed=4)]
    assert all(np.allclose(a, b, rtol=1e-13) for a, b in zip(one, two, strict=True))
    assert not np.allclose(one[0], bootstrap(values, resamples=70, seed=5)[0], rtol=1e-9)


# Many users

SHARES = [(10_000, 3_000), (30_000, 2_010), (300_000, 2_010), (300_000, 60_000)]


@pytest.mark.parametrize(("n_users", "hits"), SHARES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_interval_of_many_is_within_a_hundredth_of_the_bootstrap(n_users: int, hits: int, level: float) -> None:
    """The sum of a resample of hits is binomial, so that the ends of infinitely many resamples are known."""
    values = np.zeros((n_users, 1))
    values[:hits] = 1
    low, high = bootstrap(values, level=level, resamples=1)
    exactly = stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], n_users, hits / n_users) / n_users
    assert (low[0], high[0]) == pytest.approx(tuple(exactly), abs=0.006 * (exactly[1] - exactly[0]))


def test_the_interval_of_many_skewed_values_is_that_of_their_resamples() -> None:
    values = np.random.default_rng(3).gamma(0.3, size=(20_000, 1))
    approximated = np.ravel(bootstrap(values))
    rng = np.random.default_rng(0)
    drawn = [values[rng.integers(20_000, size=20_000)].mean() for _ in range(2_000)]
    width = approximated[1] - approximated[0]
    assert approximated == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.04 * width)


def test_the_interval_of_many_counts_users_with_a_value() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((20_000, 1))
    values[rng.random(20_000) < 0.6] = NAN
    known = values[~np.isnan(values)]
    error = known.std() / np.sqrt(len(known))
    ends = known.mean() - 1.959964 * error, known.mean() + 1.959964 * error
    assert np.ravel(bootstrap(values)) == pytest.approx(ends, rel=1e-9)


def test_few_of_many_are_drawn_as_all_of_them_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random((600, 2)) < 0.05, rng.gamma(1.0, size=(600, 2)), 0.0)
    values[:400, 1] = NAN
    whole = np.array(bootstrap(values, resamples=20_000))
    monkeypatch.setattr(resampling, "MANY", 600)
    monkeypatch.setattr(resampling, "DRAWN_AT_ONCE", 1_000)
    apart = np.array(bootstrap(values, resamples=20_000))
    assert apart == pytest.approx(whole, abs=0.05 * (whole[1] - whole[0]).max())
    assert (apart != whole).any()
    alone = np.array(bootstrap(values[:, 1:], resamples=20_000))
    assert (alone[:, 0] == apart[:, 1]).all()


def test_nobody_and_equals_of_many() -> None:
    values = np.full((10_000, 4), NAN)
    values[0, 1] = values[1, 2] = 0.5
    values[:, 3] = 0.25
    values[2, 2] = 0.5
    low, high = bootstrap(values, resamples=20)
    assert np.isnan([low[:2], high[:2]]).all()
    assert low[2:].tolist() == high[2:].tolist() == [0.5, 0.25]


def test_a_user_who_alone_decides_is_drawn() -> None:
    """One user among 10,000 has a value: it occurs 0 to 3 times in 98 % of the resamples (Poisson)."""
    values = np.zeros((10_000, 1))
    values[7] = 1
    low, high = bootstrap(values)
    assert (low[0], high[0]) == (0, 3 / 10_000)


@pytest.mark.parametrize(("n", "more"), [(2_000, 40), (2_000, 88), (12_000, 216), (12_000, 280)])
def test_p_of_many_is_that_of_all_choices_of_signs(n: int, more: int) -> None:
    """Of equal differences, the number of one sign is binomial."""
    zeros = 9_000
    up = (n + more) // 2
    differences = np.concatenate([np.ones(up), -np.ones(n - up), np.zeros(zeros)])[:, None]
    exactly = 2 * stats.binom.sf(up - 1, n, 0.5)
    assert sign_flip(differences)[0] == pytest.approx(exactly, rel=0.052, abs=1e-4)


def test_flips_of_few_among_many_are_drawn_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.zeros((700, 2))
    differences[300:360] = np.random.default_rng(8).normal(0.25, 1, size=(60, 2))
    alone = sign_flip(differences[300:360])
    monkeypatch.setattr(resampling, "MANY", 700)
    assert sign_flip(differences).tolist() == alone.tolist()
    assert np.isnan(sign_flip(np.full((700, 1), NAN))).all()
    assert sign_flip(np.zeros((700, 1))).tolist() == [1.0]


def test_p_of_many_is_never_0() -> None:
    assert sign_flip(np.full((20_000, 1), 0.5), draws=199)[0] == 1 / 200


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_the_effective_number_lies_between_1_and_those_that_differ(wholes: list[int]) -> None:
    deviations = np.array(wholes, dtype=np.float64)
    n = int((deviations != 0).sum())
    found = effective(deviations)
    assert 1 - 1e-9 <= found <= n + 1e-9 if n else found == np.inf
    assert effective(np.full(7, 0.3)) == pytest.approx(7)


def test_the_words_say_where_nothing_is_drawn() -> None:
    few, many = Procedure().in_words(9_999), Procedure(level=0.9, resamples=50).in_words(10_000)
    assert few["intervals"] == "95 % percentile bootstrap over users, 10,000 resamples"
    assert few["flips"] == "sign-flip randomisation, 10,000 draws (exact with up to 16 users that differ)"
    assert many["intervals"] == (
        "90 % percentile bootstrap over users, 50 resamples, or its normal approximation where 2,000 users or more are "
        "effective"
    )
    assert "the normal approximation where 2,000 users or more are effective)" in many["flips"]


# Sign flips


def exact(differences: list[float]) -> float:
    """Return the share of all choices of signs whose sum is at least as far from 0, by enumeration in whole numbers."""
    wholes = [round(1000 * difference) for difference in differences]
    sums = [
        abs(sum(s * d for s, d in zip(signs, wholes, strict=True))) for signs in product((1, -1), repeat=len(wholes))
    ]
    return sum(total >= abs(sum(wholes)) for total in sums) / len(sums)


@pytest.mark.parametrize(
    "differences",
    [
        [0.1, 0.2, 0.3],
        [0.1, 0.2, -0.3],
        [0.3, 0.0, 0.0, -0.1],
        [0.7, 0.1, 0.1, 0.1, 0.1, -0.2, 0.3],
        [1, 1, 1, 1, 1, 1, -1, 1],
        [0.001, 0.5, 0.25, -0.125, 0.3, 0.3, 0.1, 0.9, -0.4],
    ],
)
def test_sign_flips_are_all_choices_of_signs(differences: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    p = exact(differences)
    assert sign_flip(column(*differences), draws=10)[0] == p  # counted, whatever the draws
    monkeypatch.setattr(resampling, "EXACT", -1)
    draws = 40_000
    drawn = sign_flip(column(*differences), draws=draws)[0]
    assert drawn == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / draws) + 1e-4)


def test_few_differences_among_many_users_are_counted_too() -> None:
    """All of 5 differences point the same way: 2 of 32 choices of signs; a column of 17 is drawn."""
    values = np.zeros((300, 3))
    values[10:15, 0], values[:16, 1], values[:17, 2] = 0.5, 0.5, 0.5
    p = sign_flip(values, draws=99)
    assert p[:2].tolist() == [2 / 32, 2 / 2**16]
    assert p[2] == 1 / 100


def test_sign_flips_are_those_of_scipy() -> None:
    differences = np.random.default_rng(8).normal(0.25, 1, size=60)
    theirs = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).pvalue
    assert 0.001 < theirs < 0.5
    assert sign_flip(column(*differences), draws=20_000)[0] == pytest.approx(theirs, abs=0.012)


@pytest.mark.usefixtures("small_cells")
def test_cells_flip_every_user_on_their_own() -> None:
    coins = np.hstack(list(resampling._coins(np.random.default_rng(0), 21, 4_000)))
    assert coins.shape == (4_000, 21)
    assert set(np.unique(coins)) == {0.0, 1.0}
    together = np.cov(coins.T)
    assert np.diag(together) == pytest.approx(np.full(21, 0.25), abs=0.005)
    assert np.abs(together - np.diag(np.diag(together))).max() < 0.02


def test_equal_sums_count_whatever_their_rounding() -> None:
    """0.1 + 0.2 and 0.3 differ in floating point; of the 8 choices all but (+, +, -) and (-, -, +) are as extreme."""
    assert sign_flip(column(0.1, 0.2, -0.3), draws=1000)[0] == 1.0
    assert sign_flip(column(0.1, 0.1, 0.1), draws=1000)[0] == 0.25


def test_p_is_never_0() -> None:
    assert sign_flip(np.full((100, 1), 0.5), draws=199)[0] == 1 / 200


def test_pairs_that_do_not_exist_change_nothing() -> None:
    known = [0.3, -0.1, 0.2, 0.4]
    assert sign_flip(column(*known, NAN, NAN)) == sign_flip(column(*known)) == exact(known)


@pytest.mark.parametrize(("differences", "p"), [([0, 0, 0], 1.0), ([0.5], 1.0), ([NAN, NAN], NAN), ([], NAN)])
def test_corner_cases_of_sign_flips_warn_of_nothing(differences: list[float], p: float) -> None:
    np.testing.assert_array_equal(sign_flip(column(*differences), draws=99), [p])


# Laws

some_differences = st.lists(st.integers(-8, 8), min_size=2, max_size=12).map(lambda ints: np.array(ints)[:, None] / 8)


@given(some_differences)
def test_the_other_way_round_is_the_same_test(differences: Doubles) -> None:
    assert sign_flip(-differences, draws=200) == sign_flip(differences, draws=200)
    low, high = bootstrap(differences, resamples=200)
    mirrored = bootstrap(-differences, resamples=200)
    np.testing.assert_allclose([mirrored[0], mirrored[1]], [-high, -low], atol=1e-12)


@given(some_differences)
def test_an_interval_lies_within_the_values(differences: Doubles) -> None:
    low, high = bootstrap(differences, resamples=200)
    assert differences.min() - 1e-12 <= low[0] <= high[0] <= differences.max() + 1e-12
