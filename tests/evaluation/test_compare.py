"""Comparing evaluations: pairs, figures worked by hand, laws, and the warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recx
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation.compare import Comparison, compare

NAN = np.nan
QUICK = {"resamples": 200, "draws": 200}


def evaluation(
    name: str,
    ndcg: list[float],
    *,
    users: list[Any] | None = None,
    slices: dict[str, list[float]] | None = None,
    **more: Any,
) -> Evaluation:
    rules = more.pop("rules", {})
    scalars = more.pop("scalars", {})
    values = {"ndcg": ndcg, **more}
    return Evaluation(
        name=name,
        users=np.array(range(len(ndcg)) if users is None else users),
        values={metric: np.array(column, dtype=np.float64) for metric, column in values.items()},
        scalars=scalars,
        rules=rules,
        slices={by: np.array(column, dtype=np.float64) for by, column in (slices or {}).items()},
    )


def row(comparison: Comparison, **where: Any) -> dict[str, Any]:
    table = comparison.table
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return dict(table.to_dict("records")[0])


A = evaluation("a", [0.0, 0.5, 0.25, 1.0])
B = evaluation("b", [0.5, 0.5, 0.0, 1.0])


def test_four_users_by_hand() -> None:
    """Differences 0.5, 0, -0.25, 0: mean 0.0625, standard deviation 0.3146; t = 0.3974 with 3 degrees."""
    found = row(compare(A, B, resamples=2000, draws=20_000))
    assert (found["metric"], found["slice"], found["baseline"], found["run"]) == ("ndcg", "all", "a", "b")
    assert (found["users"], found["wins"], found["ties"], found["losses"]) == (4, 1, 2, 1)
    assert (found["mean_baseline"], found["mean_run"], found["difference"]) == (0.4375, 0.5, 0.0625)
    assert found["relative"] == pytest.approx(1 / 7)
    assert found["d_z"] == pytest.approx(0.19868, abs=1e-5)
    assert found["p_t"] == pytest.approx(stats.ttest_rel([0.5, 0.5, 0, 1], [0, 0.5, 0.25, 1]).pvalue)
    assert found["p_sign_flip"] == 1.0
    assert found["p_t_holm"] == found["p_t"]
    assert found["mean_baseline_low"] <= 0.25
    assert found["mean_run_high"] == 0.875  # 1 has a chance of 1/256, 0.875 or more of 9/256
    assert -0.25 <= found["difference_low"] < 0 < found["difference_high"] <= 0.5


def test_a_run_against_itself() -> None:
    found = compare(B, B, **QUICK)
    assert (found.baseline, found.runs) == ("b", ("b (2)",))
    same = row(found)
    assert (same["p_t"], same["p_sign_flip"], same["p_holm"], same["p_t_holm"]) == (1, 1, 1, 1)
    assert (same["wins"], same["losses"], same["ties"]) == (0, 0, 4)
    assert (same["difference"], same["difference_low"], same["difference_high"], same["d_z"]) == (0, 0, 0, 0)


def random_pair(seed: int = 0, n: int = 60) -> tuple[Evaluation, Evaluation]:
    rng = np.random.default_rng(seed)
    return tuple(  # type: ignore[return-value]
        evaluation(
            name,
            list(rng.random(n)),
            hit=[*(rng.random(n - 1) < 0.5), NAN],
            users=list(order),
            slices={"history_length": list(order % 7)},
        )
        for name, order in (("a", np.arange(n)), ("b", rng.permutation(n) + 3))
    )


def test_the_other_way_round_negates_and_keeps_p() -> None:
    a, b = random_pair()
    there, back = (compare(*pair, **QUICK).table for pair in ((a, b), (b, a)))
    np.testing.assert_array_equal(there["difference"], -back["difference"])
    np.testing.assert_array_equal(there["d_z"], -back["d_z"])
    np.testing.assert_allclose(there["difference_low"], -back["difference_high"])
    for kept in ("p_t", "p_sign_flip", "p_holm", "p_t_holm", "users", "ties"):
        np.testing.assert_array_equal(there[kept], back[kept])
    np.testing.assert_array_equal(there["wins"], back["losses"])
    np.testing.assert_array_equal(there["mean_run_low"], back["mean_baseline_low"])


def test_figures_are_those_of_a_loop_over_the_shared_users() -> None:
    a, b = random_pair()
    frames = [one.per_user.set_index("user") for one in (a, b)]
    table = compare(a, b, **QUICK).table.set_index("metric")
    for metric in ("ndcg", "hit"):
        both = pd.DataFrame({"a": frames[0][metric], "b": frames[1][metric]}).dropna()
        found = table.loc[metric]
        assert found["users"] == len(both)
        assert found["mean_baseline"] == pytest.approx(both["a"].mean())
        assert found["mean_run"] == pytest.approx(both["b"].mean())
        assert found["wins"] == (both["b"] > both["a"]).sum()
        assert found["p_t"] == pytest.approx(stats.ttest_rel(both["b"], both["a"]).pvalue)


def test_the_interval_of_a_mean_is_that_of_the_evaluation() -> None:
    found = row(compare(A, B, resamples=500))
    assert (found["mean_baseline_low"], found["mean_baseline_high"]) == A.interval("ndcg", resamples=500)
    assert (found["mean_run_low"], found["mean_run_high"]) == B.interval("ndcg", resamples=500)


def test_holm_runs_over_all_rows() -> None:
    a, b = random_pair(1)
    c = evaluation("c", list(np.linspace(0, 1, 60)), hit=[1.0] * 60, slices={})
    table = compare(a, b, c, by="history_length", **QUICK).table
    assert len(table) == 2 * 2 * table["slice"].nunique()
    from recx.evaluation.statistics import holm

    np.testing.assert_array_equal(table["p_holm"], holm(table["p_sign_flip"].to_numpy()))
    known = table["p_sign_flip"].notna()
    assert (table["p_holm"] >= table["p_sign_flip"])[known].all()
    smallest = table["p_sign_flip"].idxmin()
    assert table["p_holm"][smallest] == pytest.approx(min(1, known.sum() * table["p_sign_flip"][smallest]))


def test_rows_stand_by_metric_then_slice_then_run() -> None:
    slices = {"history_length": [1.0, 1.0, 5.0, 9.0]}
    runs = [
        evaluation(name, [0.0, 1.0, 0.5, base], mrr=[base] * 4, slices=slices)
        for name, base in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    ]
    table = compare(*runs, ["mrr", "ndcg"], by="history_length", **QUICK).table
    slice_names = ["all", "1", "5", "9"]
    assert table["metric"].tolist() == ["mrr"] * 8 + ["ndcg"] * 8
    assert table["slice"].tolist() == [name for name in slice_names for _ in range(2)] * 2
    assert table["run"].tolist() == ["b", "c"] * 8
    assert table["difference"][:8].tolist() == pytest.approx([0.1, 0.2] * 4)


@pytest.mark.parametrize(
    ("values", "labels", "sizes"),
    [
        ([1, 1, 1, 2, 3, 4, 5, 6, 7, 20], ["1", "2 to 3", "4 to 6", "7 to 20"], [3, 2, 3, 2]),
        ([1, 1, 1, 1, 1, 1, 1, 9], ["1", "9"], [7, 1]),
        ([3, 3, 3, 3], ["3"], [4]),
        ([0.5, 0.25, 0.125, 2000.25], ["0.125", "0.25", "0.5", "2,000"], [1, 1, 1, 1]),
        ([0.111111, 0.111112, 0.111113, 0.111114], None, [1, 1, 1, 1]),
        ([1, 2, 3, NAN], ["1", "2", "3"], [1, 1, 1]),
    ],
)
def test_quarters_of_users(values: list[float], labels: list[str] | None, sizes: list[int]) -> None:
    runs = [evaluation(name, [0.5] * len(values), slices={"history_length": values}) for name in "ab"]
    comparison = compare(*runs, by="history_length", **QUICK)
    table = comparison.table[comparison.table["slice"] != "all"]
    if labels is not None:
        assert table["slice"].tolist() == labels
    assert table["users"].tolist() == sizes
    assert table["slice"].is_unique
    if np.isnan(values).any():
        assert comparison.notes["users_without_slice"] == 1
        assert "users without history_length only count in the rows of all users: 1" in comparison.warnings


def test_a_list_may_stand_behind_the_runs() -> None:
    a, b = random_pair()
    assert compare(a, b, ["hit"], **QUICK).table["metric"].tolist() == ["hit"]
    assert compare(a, b, metrics=("hit", "hit"), **QUICK).table["metric"].tolist() == ["hit"]
    assert recx.compare(a, b, **QUICK).table["metric"].tolist() == ["ndcg", "hit"]


# Warnings


def test_cards_that_differ_are_said_first() -> None:
    rules = {"seen": "drop", "split": {"n": 1, "kind": "leave_last"}}
    a = evaluation("a", [0.0] * 4, rules=rules)
    b = evaluation("b", [0.0] * 4, rules={**rules, "split": {"n": 2, "kind": "leave_last"}, "k": 5})
    found = compare(a, b, **QUICK).warnings
    assert found[:3] == [
        "the protocol cards of a and b differ, so their figures may mean different things:",
        "split.n: 1 vs 2",
        "k: nothing vs 5",
    ]
    assert not any("protocol" in sentence for sentence in [*found[3:], *compare(a, a, **QUICK).warnings])


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ({"fold": "valid"}, {"fold": "test"}, r"a and b are of different folds \(valid, test\)"),
        ({"truth": "0"}, {"truth": "1"}, "a and b are of different data"),
        ({"data_hash": "0"}, {"data_hash": "1", "truth": "1"}, "a and b are of different data"),
    ],
)
def test_runs_of_different_folds_or_data_are_refused(ours: dict[str, str], theirs: dict[str, str], reason: str) -> None:
    a, b = evaluation("a", [0.0, 1.0], rules=ours), evaluation("b", [0.5, 1.0], rules=theirs)
    with pytest.raises(InputError, match=f"{reason}.*--anyway"):
        compare(a, b, **QUICK)
    shown = compare(a, b, anyway=True, **QUICK)
    assert not shown.tested
    assert shown.table["mean"].tolist() == [0.5, 0.75]
    assert shown.table["users"].tolist() == [2, 2]
    assert list(shown.table) == ["metric", "run", "users", "mean", "mean_low", "mean_high"]
    assert shown.warnings[0].endswith("nothing is tested")


def test_runs_with_the_same_targets_are_compared_though_their_data_differ() -> None:
    a = evaluation("a", [0.0, 1.0], rules={"truth": "0", "data_hash": "0"})
    b = evaluation("b", [0.5, 1.0], rules={"truth": "0", "data_hash": "1"})
    found = compare(a, b, **QUICK)
    assert found.tested
    assert "data_hash: 0 vs 1" in found.warnings


def test_a_long_rule_is_cut() -> None:
    a, b = (evaluation(name, [0.0] * 4, rules={"hash": name * 500}) for name in "ab")
    assert len(compare(a, b, **QUICK).warnings[0]) < 250


def test_users_that_are_not_shared_are_counted_and_reported() -> None:
    a = evaluation("a", [0.1, 0.2, 0.3, 0.4], users=["u", "v", "w", "x"])
    b = evaluation("b", [0.5, 0.6, 0.3], users=["x", "w", "z"])
    comparison = compare(a, b, **QUICK)
    found = row(comparison)
    assert (found["users"], found["mean_baseline"], found["mean_run"]) == (2, pytest.approx(0.35), pytest.approx(0.55))
    assert comparison.notes == {"b/users_only_in_baseline": 2, "b/users_only_in_run": 1}
    assert "users of a that are not in b are left out of this pair: 2 of 4" in comparison.warnings
    assert "users of b that are not in a are left out of this pair: 1 of 3" in comparison.warnings


def test_each_pair_has_its_own_users() -> None:
    a, b, c = (
        evaluation("a", [0.1, 0.2, 0.4], users=[1, 2, 3]),
        evaluation("b", [0.1, 0.2], users=[1, 2]),
        evaluation("c", [0.3, 0.9], users=[3, 9]),
    )
    comparison = compare(a, b, c, **QUICK)
    assert row(comparison, run="b")["mean_baseline"] == pytest.approx(0.15)
    assert row(comparison, run="c")["mean_baseline"] == pytest.approx(0.4)
    assert row(comparison, run="c")["users"] == 1
    assert comparison.notes == {
        "b/users_only_in_baseline": 1,
        "c/users_only_in_baseline": 2,
        "c/users_only_in_run": 1,
    }


def test_pairs_with_one_value_are_counted_and_reported() -> None:
    a = evaluation("a", [0.1, NAN, NAN, 0.4], hit=[1, 1, 0, 0])
    b = evaluation("b", [NAN, 0.2, NAN, 0.4], hit=[1, 1, 0, 0])
    comparison = compare(a, b, **QUICK)
    assert row(comparison, metric="ndcg")["users"] == 1
    assert comparison.notes == {"b/one_sided/ndcg": 2}
    assert "users that count in only one of a and b are left out: ndcg 2" in comparison.warnings


def test_metrics_that_are_not_shared_are_reported() -> None:
    a, b = evaluation("a", [0.0] * 4, hit=[1] * 4), evaluation("b", [0.0] * 4, mrr=[1] * 4)
    comparison = compare(a, b, **QUICK)
    assert comparison.table["metric"].tolist() == ["ndcg"]
    assert "not every run has a value per user of hit, mrr: left out" in comparison.warnings
    assert not any("hit" in sentence for sentence in compare(a, b, ["ndcg"], **QUICK).warnings)


def test_what_is_easily_misread_is_reported() -> None:
    few = compare(A, B, **QUICK).warnings
    assert few == [
        "fewer than 30 users, so intervals and tests say little: all users",
        "too few users differ for p flip ever to fall below 0.05 (with n of them it is 2/2^n at least): ndcg",
    ]
    rng = np.random.default_rng(0)
    base = rng.random(40_000)
    many = compare(
        evaluation("a", list(base), hit=[0.0] * 40_000),
        evaluation("b", list(base + 0.02 + rng.normal(size=40_000)), hit=[0.0] * 39_999 + [1.0]),
        resamples=20,
        draws=200,
    ).warnings
    assert many == [
        "every user has the same value in one of the runs, and an interval without width is not certainty: hit",
        "too few users differ for p flip ever to fall below 0.05 (with n of them it is 2/2^n at least): hit",
        "more than half of the differences are 0, so the tests rest on the other users: hit",
        "significant, but hardly an effect (|d_z| below 0.05; with many users almost everything is significant): ndcg",
    ]


def test_the_run_is_named_if_there_are_several() -> None:
    c = evaluation("c", [0.0, 0.5, 0.25, 0.9], slices={})
    message = compare(A, B, c, **QUICK).warnings
    assert "fewer than 30 users, so intervals and tests say little: all users (b), all users (c)" in message
    assert "more than half of the differences are 0, so the tests rest on the other users: ndcg (c)" in message


def test_a_clean_comparison_has_no_warnings() -> None:
    rng = np.random.default_rng(0)
    a, b = (evaluation(name, list(rng.random(50))) for name in "ab")
    comparison = compare(a, b, **QUICK)
    assert comparison.warnings == []
    assert comparison.notes == {}


# Bad input

STRANGERS = evaluation("s", [0.0] * 4, users=list("wxyz"))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((), "at least two runs are needed, but there is none"),
        ((A,), "at least two runs are needed, but there is 1"),
        ((A, ["ndcg"]), "at least two runs are needed, but there is 1"),
        (([A, B],), "a list is not an evaluation"),
        ((A, "outputs/b"), "a str is not an evaluation"),
        ((A, B, []), r"metrics=\[\]: give a list"),
        ((A, B, ["ndgc"]), "a has no metric 'ndgc': did you mean 'ndcg'"),
        ((A, B, ["gini"]), "a has no metric 'gini'"),
        ((A, STRANGERS), r"a and s have no user in common \(such as 0 and 'w'\)"),
    ],
)
def test_runs_and_metrics_that_cannot_be_compared(given: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(*given, **QUICK)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"metrics": "ndcg"}, r"metrics='ndcg': give a list"),
        ({"by": "history_length"}, r"by='history_length': a has no such slice"),
        ({"level": 1}, "level=1: it must be above 0 and below 1"),
        ({"level": NAN}, "level=nan"),
        ({"level": "0.9"}, "level=0.9: it must be a number"),
        ({"resamples": 0}, "resamples=0: it must be 1 or more"),
        ({"draws": 2.5}, "draws=2.5"),
        ({"seed": -1}, "seed=-1: it must be 0 or more"),
        ({"seed": True}, "seed=true"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(A, B, **settings)


def test_a_slice_that_is_missing_names_those_there_are() -> None:
    a = evaluation("a", [0.0] * 4, slices={"history_length": [1, 2, 3, 4]})
    with pytest.raises(InputError, match="did you mean 'history_length'"):
        compare(a, B, by="history")
    none = evaluation("a", [0.0] * 4, slices={"history_length": [NAN] * 4})
    with pytest.raises(InputError, match="no user that a shares with others"):
        compare(none, B, by="history_length")


def test_one_number_cannot_be_tested() -> None:
    a, b = (evaluation(name, [0.0] * 4, scalars={"coverage": 0.5}) for name in "ab")
    with pytest.raises(InputError, match="'coverage' is one number and has no value per user"):
        compare(a, b, ["coverage"])


def test_sampled_and_full_metrics_are_never_compared() -> None:
    full = evaluation("full", [0.0] * 4)
    sampled = Evaluation(full.users, {"ndcg_sampled_100": full.values["ndcg"]}, name="sampled")
    for runs, metric in (((full, sampled), "ndcg"), ((full, sampled), "ndcg_sampled_100"), ((sampled, full), "ndcg")):
        with pytest.raises(InputError, match="never compared"):
            compare(*runs, [metric])
    with pytest.raises(InputError, match="full, sampled have no metric in common"):
        compare(full, sampled)


def test_slices_that_are_not_there_say_how_to_get_them() -> None:
    with pytest.raises(InputError, match=r"a has no such slice: give history= to recx.evaluate"):
        compare(evaluation("a", [0.0] * 4), evaluation("b", [1.0] * 4), by="history_length", **QUICK)
    with pytest.raises(InputError, match=r"by=\['history_length'\]"):
        compare(evaluation("a", [0.0] * 4), evaluation("b", [1.0] * 4), by=["history_length"], **QUICK)  # type: ignore[arg-type]


def test_what_runs_and_comparisons_show_at_a_prompt_is_short() -> None:
    a, b = evaluation("a", [0.0] * 4), evaluation("b", [1.0] * 4)
    assert repr(a).startswith("<Evaluation 'a' of 4 users: ")
    assert repr(compare(a, b, **QUICK)).startswith("<Comparison of b with a: ")
    assert max(len(repr(a)), len(repr(compare(a, b, **QUICK)))) < 200
