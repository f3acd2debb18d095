"""What a test, an interval or a comparison cannot say is said: equal differences, one user, few users, missing lists.

Public reports 16, 33 and 34, and variants of them.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli.commands import evaluate as command
from recx.core.evaluation import Evaluation
from recx.evaluation.compare import Comparison, compare
from recx.report.terminal.print_comparison import json_of

NAN = np.nan
SAME = "every user has the same difference: without variance there is no t-test"
FEW = "too few users differ for p flip ever to fall below 0.05"


def evaluation(name: str, values: list[float], **notes: float) -> Evaluation:
    return Evaluation(np.arange(len(values)), {"mrr": np.array(values, dtype=np.float64)}, name=name, notes=notes)


def compared(differences: list[float]) -> Comparison:
    return compare(evaluation("a", [0.0] * len(differences)), evaluation("b", differences), resamples=50, draws=99)


def told(comparison: Comparison, sentence: str) -> bool:
    return any(warning.startswith(sentence) for warning in comparison.warnings)


def test_four_users_better_by_the_same() -> None:
    """2 of the 16 choices of signs are as extreme; the t-test has no variance to estimate."""
    recs = pd.DataFrame([(u, i, 2 - i) for u in range(4) for i in (0, 1)], columns=["user", "item", "score"])
    truth = pd.DataFrame({"user": range(4), "item": 1})
    a = recx.evaluate(recs, truth, metrics=["mrr"], name="a")
    b = recx.evaluate(recs.assign(score=-recs.score), truth, metrics=["mrr"], name="b")
    comparison = recx.compare(a, b, ["mrr"])
    row = comparison.table.iloc[0]
    assert (row.difference, row.p_sign_flip, row.p_holm) == (0.5, 2 / 16, 2 / 16)
    assert np.isnan(row.p_t)
    assert np.isnan(row.p_t_holm)
    assert told(comparison, SAME)
    assert told(comparison, FEW)
    [found] = json.loads(json_of(comparison))["rows"]
    assert (found["p_t"], found["p_sign_flip"]) == (None, 0.125)


@pytest.mark.parametrize(
    ("differences", "same", "few"),
    [
        ([0.5] * 40, True, False),
        ([-1 / 3] * 7, True, False),
        ([0.3 - 0.1, 0.5 - 0.3, 0.2] * 5, True, False),  # equal but for rounding
        ([0.25, 0.25], True, True),
        ([0.5, 0.25, 0.5, 0.5, 0.5], False, True),  # 2/2^5 = 0.0625
        ([0.5, 0.25, 0.5, 0.5, 0.5, 0.5], False, False),  # 2/2^6 = 0.03125
        ([0.5] * 3 + [0.0] * 100, False, True),  # three of many
        ([0.0] * 8, False, False),  # equal runs: p = 1, and nothing to explain
    ],
)
def test_what_is_said_of_equal_and_of_few_differences(differences: list[float], same: bool, few: bool) -> None:
    comparison = compared(differences)
    row = comparison.table.iloc[0]
    assert (told(comparison, SAME), told(comparison, FEW)) == (same, few)
    assert np.isnan(row.p_t) == same
    assert row.p_sign_flip > 0


def test_a_run_in_which_all_users_are_equal_is_named() -> None:
    a, b = evaluation("a", [0.25, 0.5, 1.0] * 20), evaluation("b", [1.0] * 60)
    for given in ((a, b), (b, a)):
        comparison = compare(*given, resamples=50, draws=99)
        assert told(comparison, "every user has the same value in one of the runs, and an interval without width")
    again = compare(a, evaluation("c", [0.5, 0.5, 0.25] * 20), resamples=50, draws=99)
    assert not told(again, "every user has the same value")


@pytest.mark.parametrize("n", range(1, 9))
def test_few_users_are_tested_exactly(n: int) -> None:
    wholes = np.random.default_rng(n).integers(1, 9, n)
    sums = np.array(list(product((1, -1), repeat=n))) @ wholes
    expected = (np.abs(sums) >= wholes.sum()).mean()
    assert compared([float(whole) for whole in wholes]).table["p_sign_flip"][0] == expected == 2 / 2**n


def test_one_pair_has_neither_interval_nor_t_test() -> None:
    comparison = compared([0.5, NAN, NAN])
    row = comparison.table.iloc[0]
    assert (row.users, row.difference, row.p_sign_flip) == (1, 0.5, 1.0)
    assert np.isnan([row.difference_low, row.difference_high, row.mean_run_low, row.p_t]).all()
    assert told(comparison, "fewer than 30 users, so intervals and tests say little")


@pytest.fixture
def files(here: Path) -> Path:
    shown = pd.DataFrame([(u, i, -k) for u in range(40) for k, i in enumerate("abc")])
    shown.to_csv("r.csv", index=False, header=["user", "item", "score"])
    return here


@pytest.mark.parametrize(
    ("targets", "interval", "said"),
    [
        ({0: "b"}, [None, None], "one user alone has no interval: mrr"),
        ({0: "b", 1: "b"}, [0.5, 0.5], "every user has the same value, and an interval without width is not certainty"),
        (dict.fromkeys(range(40), "a"), [1.0, 1.0], "every user has the same value"),
        ({0: "a", 1: "b"}, [0.5, 1.0], "fewer than 30 users, so intervals say little"),
    ],
    ids=["one", "two alike", "many alike", "two"],
)
def test_what_an_interval_cannot_say(
    files: Path, targets: dict[int, str], interval: list[float | None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame(targets.items(), columns=["user", "item"]).to_csv("t.csv", index=False)
    command.run(["r.csv", "t.csv", "--metrics", "mrr"])
    printed = " ".join(capsys.readouterr().out.split())
    assert said in printed
    assert ("– to –" in printed) == (interval == [None, None])
    command.run(["r.csv", "t.csv", "--metrics", "mrr", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["intervals"]["mrr"] == interval
    assert any(warning.startswith(said) for warning in found["warnings"])


def test_users_who_differ_leave_nothing_to_warn_of(files: Path) -> None:
    truth = pd.DataFrame({"user": range(40), "item": ["a", "b"] * 20})
    assert recx.evaluate("r.csv", truth, ["mrr"]).warnings == []


# Lists that are missing


def test_a_run_with_a_list_for_one_user_of_200_is_named() -> None:
    rng = np.random.default_rng(0)
    truth = pd.DataFrame({"user": np.arange(200), "item": rng.integers(0, 50, 200)})
    rows = [(u, i, -k) for u in range(200) for k, i in enumerate(rng.permutation(50)[:10])]
    lists = pd.DataFrame(rows, columns=["user", "item", "score"])
    whole = recx.evaluate(lists, truth, ["ndcg_at_10"], name="whole")
    crashed = recx.evaluate(lists[lists["user"] == 0], truth, ["ndcg_at_10"], name="crashed")
    for given in ((whole, crashed), (crashed, whole)):  # whichever comes first
        comparison = recx.compare(*given, ["ndcg_at_10"], draws=99, resamples=99)
        assert comparison.warnings[0].startswith("crashed has no list for 199 of its 200 users, who count 0")
        assert comparison.notes == {"crashed/users_without_list": 199}
    assert not any("no list" in warning for warning in recx.compare(whole, whole, draws=99, resamples=99).warnings)


def test_missing_lists_of_every_run_are_counted_each() -> None:
    runs = [evaluation(name, [0.0, 0.5, 1.0], users_without_list=n) for name, n in (("a", 1), ("b", 0), ("c", 2))]
    comparison = compare(*runs, resamples=9, draws=9)
    assert comparison.notes == {"a/users_without_list": 1, "c/users_without_list": 2}
    assert [warning.split(" has ")[0] for warning in comparison.warnings[:2]] == ["a", "c"]
    assert json.loads(json_of(comparison))["notes"]["c/users_without_list"] == 2
