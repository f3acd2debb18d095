"""Faults found by adversarial testing of evaluating, comparing and starting a plugin, one test each."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli.commands import new_plugin
from recx.core.errors import InputError, RecxError
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.evaluation.compare import compare
from recx.evaluation.evaluate import evaluate
from recx.evaluation.evaluator import Evaluator
from recx.experiment.saved_runs import SavedRun

SHOWN = pd.DataFrame({"user": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 9], "score": [0.9, 0.6, 0.4, 0.3, 0.2]})
TRUTH = pd.DataFrame({"user": [1, 2, 3], "item": [2, 9, 4]})


def refused(message: str, *tables: Any, **settings: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        evaluate(*(tables or (SHOWN, TRUTH)), **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("metrics", [None, 5, recx.metric("ndcg", 2)], ids=["none", "number", "a single metric"])
def test_metrics_that_are_not_a_list_are_refused(metrics: Any) -> None:
    refused("metrics=.*: give a list, such as", metrics=metrics)


@pytest.mark.parametrize("figure", ["ndcg", "precision", "map", "coverage", "top_accuracy"])
def test_a_cut_beyond_all_lists_is_computed_or_refused(figure: str) -> None:
    assert math.isfinite(*evaluate(SHOWN, TRUTH, [recx.metric(figure, 10**12)]).means.values())
    with pytest.raises(InputError, match="it must be 1 or more and at most"):
        recx.metric(figure, 10**30)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rel_threshold", None),
        ("rel_threshold", "1"),
        ("rel_threshold", [1]),
        ("rel_threshold", -1),
        ("max_grade", math.nan),
        ("threshold", "a"),
        ("threshold", math.inf),
    ],
)
def test_settings_are_checked_although_no_metric_needs_them(setting: str, value: Any) -> None:
    refused(f"^{setting}=.*: it must be (a number|above 0)", metrics=(), **{setting: value})


def test_ranks_are_not_taken_for_scores() -> None:
    """Minus the rank is below every threshold, so accuracy and the like were silently wrong."""
    ranks = SHOWN.drop(columns="score").assign(rank=[1, 2, 3, 1, 2])
    refused("'class_recall' uses the scores, not the ranks", ranks, TRUTH, metrics=["auc", "class_recall"])
    assert evaluate(ranks, TRUTH, ["auc", "mrr"]).means == {"auc": 0.25, "mrr": pytest.approx(1 / 3)}


@pytest.mark.parametrize("grade", [1024, 1e5, 1e308])
def test_grades_whose_power_of_two_overflows_are_refused(grade: float) -> None:
    graded = TRUTH.assign(grade=[grade, 1, 1])
    refused(f"a target has the grade {re.escape(f'{grade:g}')}, and 2", SHOWN, graded, metrics=["ndcg_exp_at_2"])
    refused("max_grade=.*at most 1000", SHOWN, graded, metrics=["err"], max_grade=grade)
    with pytest.raises(InputError, match=r"evaluator\.max_grade=.*at most 1000"):
        Evaluator((), (), (), max_grade=grade, tables=["cascade"])
    assert evaluate(SHOWN, graded, ["ndcg_at_2"]).means["ndcg_at_2"] == pytest.approx(2 / math.log2(3) / 3)


def test_a_beta_whose_square_overflows_is_refused() -> None:
    with pytest.raises(InputError, match=r"beta=1e\+200: it must be above 0 and at most 1000000"):
        recx.metric("f", 2, beta=1e200)


@pytest.mark.parametrize("label", ["", "a b", "<b>", "a/b", 3])
def test_an_invalid_label_is_refused(label: Any) -> None:
    with pytest.raises(InputError, match=r"it must be (text|only letters, digits and _)"):
        recx.metric("ndcg", 2, label=label)


def test_no_metric_takes_the_place_of_the_users() -> None:
    refused("cannot be called 'user'", metrics=[recx.metric("ndcg", 2, label="user")])


class Odd:
    """A metric that returns what it was given."""

    name = "odd"

    def __init__(self, value: object) -> None:
        self.value = value

    def __call__(self, judged: JudgedLists) -> Any:
        return self.value


@pytest.mark.parametrize("value", [None, "x", math.inf, [0.0, math.inf, 1.0], [None, "a", 1]])
def test_a_metric_that_returns_no_finite_numbers_is_refused(value: object) -> None:
    odd: Metric = Odd(value)
    with pytest.raises(RecxError, match="the metric 'odd' must return finite numbers"):
        evaluate(SHOWN, TRUTH, [odd])


@pytest.mark.parametrize(
    "settings",
    [
        *({"level": level} for level in (0, 1, 1.5, math.nan, "a", True)),
        *({"resamples": resamples} for resamples in (0, -1, 2.5)),
        *({"seed": seed} for seed in (-1, None)),
    ],
    ids=str,
)
def test_intervals_are_checked_as_comparisons_are(settings: dict[str, Any]) -> None:
    ev = evaluate(SHOWN, TRUTH, ["mrr"])
    for act in (lambda: ev.interval("mrr", **settings), lambda: compare(ev, ev, **settings)):
        with pytest.raises(InputError, match="it must be "):
            act()


def test_a_comparison_takes_any_run_of_names() -> None:
    ev = evaluate(SHOWN, TRUTH, ["mrr", "map"])
    assert compare(ev, ev, metrics=iter(["map"]), resamples=9).table["metric"].tolist() == ["map"]  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["user", "item"])
def test_a_missing_id_among_categories_is_named(column: str) -> None:
    frame = SHOWN.assign(**{column: pd.Series([1, None, 2, 3, 4], dtype="Int64").astype("category")})
    refused(f"column '{column}', row 2: the id is missing", frame, TRUTH)


def test_column_names_of_two_levels_are_refused() -> None:
    frame = SHOWN.set_axis(pd.MultiIndex.from_product([SHOWN.columns, ["a"]]), axis=1)
    refused("column names of 2 levels", frame, TRUTH)


ITEMS = pd.DataFrame({"item": [1, 2, 3, 4, 9]})


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (ITEMS.assign(category=[["a"]] * 5), "column 'category' must hold one text or number per item"),
        (pd.concat([ITEMS, ITEMS.assign(category=1, item=1)["category"].to_frame()] * 2, axis=1), "more than once"),
        (ITEMS.assign(embedding=[np.ones((2, 2))] * 5), r"not an array of shape \(2, 2\)"),
        (ITEMS.assign(embedding=[None] * 5), "diversity needs embeddings, but no item has one"),
    ],
    ids=["category of lists", "twice", "matrices", "no embedding at all"],
)
def test_what_the_items_say_is_checked(items: pd.DataFrame, message: str) -> None:
    refused(message, SHOWN, TRUTH, metrics=["diversity_at_2", "category_diversity_at_2"], items=items)


@pytest.mark.parametrize("vector", [[1e200, 1.0], [math.inf, 1.0], [1.0, math.nan]], ids=str)
def test_an_embedding_that_is_not_finite_is_named(vector: list[float]) -> None:
    """The diversity of users who were shown it was 0 or NaN, without any count."""
    items = ITEMS.assign(embedding=[[1.0, 1.0], vector, None, [math.nan, math.nan], [1.0, 0.0]])
    refused("the embedding of item 2 holds a number that is", SHOWN, TRUTH, metrics=["diversity_at_2"], items=items)


@pytest.mark.parametrize("rows", ["1, 2,3\n1, 3,2\n2, 9,1\n", "1,2 ,3\n1,3,2\n2,9,1\n"], ids=["all", "one"])
def test_blanks_around_whole_numbers_are_ignored(rows: str, tmp_path: Path) -> None:
    """They became texts that matched no number of the other file: silent zeros."""
    (tmp_path / "shown.csv").write_text(f"user,item,score\n{rows}", encoding="utf-8")
    (tmp_path / "truth.csv").write_text("user,item\n1,2\n2,9\n", encoding="utf-8")
    assert evaluate(tmp_path / "shown.csv", tmp_path / "truth.csv", ["mrr"]).means == {"mrr": 1.0}


@pytest.mark.parametrize("tag", ["", " ", " tag", " a tag of words"])
def test_a_trec_run_may_lack_its_tag(tag: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"u1 Q0 b 1 2.5{tag}\r\n  u1 Q0 a 2 1.5 t\r\n\r\nu2\tQ0 c 1 0.5\n", encoding="utf-8")
    (tmp_path / "qrels").write_bytes(b"\xef\xbb\xbfu1 0 a 1\nu2 0 c 1\n")
    assert evaluate(tmp_path / "run", tmp_path / "qrels", ["mrr"]).means == {"mrr": 0.75}


def test_one_very_long_id_costs_no_memory() -> None:
    """The truth's hash once put all ids into one array as wide as the longest: here 40 GB."""
    users = ["u" * 500_000, *(f"u{number}" for number in range(20_000))]
    table = pd.DataFrame({"user": users, "item": "i"})
    ev = evaluate(table.assign(score=1.0), table, ["mrr"])
    assert ev.protocol["truth"] == evaluate(table.assign(score=2.0), table[::-1], ["mrr"]).protocol["truth"]
    assert ev.protocol["truth"] != evaluate(table.assign(score=1.0), table[1:], ["mrr"]).protocol["truth"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    pd.DataFrame({"user": [1, 2], "end_to_end/mrr": [0.5, 1.0]}).to_parquet(folder / "per_user.parquet")
    for name in ("metrics", "protocol"):
        (folder / f"{name}.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.drop(columns="user"),
        lambda table: table.assign(**{"end_to_end/mrr": "x"}),
        lambda table: pd.concat([table, table]),
    ],
    ids=["no users", "texts", "users twice"],
)
def test_a_table_that_no_run_wrote_is_refused(
    damage: Callable[[pd.DataFrame], pd.DataFrame], finished: Path, tmp_path: Path
) -> None:
    assert SavedRun(finished).evaluation.means == {"end_to_end/mrr": 0.75}
    folder = shutil.copytree(finished, tmp_path / "run")
    damage(pd.read_parquet(folder / "per_user.parquet")).to_parquet(folder / "per_user.parquet")
    with pytest.raises(InputError, match=r"per_user.parquet must have one row per user .*run the experiment again"):
        _ = SavedRun(folder).evaluation


@pytest.mark.parametrize("name", ["popularity", "linear", "true", "nan"])
def test_a_plugin_takes_no_name_that_could_not_be_chosen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two options of one name stop every command once the plugin is installed; ``retriever=true`` is a boolean."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="choose another name"):
        new_plugin.run([name])
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_is_given_is_changed() -> None:
    given = [
        SHOWN.sample(frac=1, random_state=0),
        pd.concat([TRUTH, TRUTH]).assign(grade=[1, -1, 2] * 2),
        pd.DataFrame({"user": [1, 5, 1], "item": [1, 9, 1]}),
        ITEMS.assign(category=["a", "b", None, "a", "c"], embedding=[np.ones(2), None, np.zeros(2), None, None]),
    ]
    for frame in given:
        frame.attrs["mine"] = 1
    before = [frame.copy(deep=True) for frame in given]
    metrics = ["ndcg_at_2", "auc", "novelty_at_2", "diversity_at_2", "category_diversity_at_2", "entropy"]
    evaluate(given[0], given[1], metrics, history=given[2], items=given[3])
    for frame, copy in zip(given, before, strict=True):
        pd.testing.assert_frame_equal(frame, copy)
        assert frame.attrs == {"mine": 1}
