"""The evaluation as an object: means, users, intervals, rules, counts; arrays and saved runs as well as frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.entities import Entities
from recx.core.errors import InputError, RecxError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of
from recx.core.types import Doubles, Interactions, RankedLists
from recx.experiment import saved_runs

LISTS = pd.DataFrame(
    [
        ("ann", "a", 0.9),
        ("ann", "b", 0.8),
        ("ann", "c", 0.7),
        ("bob", "b", 0.9),
        ("bob", "a", 0.9),
        ("dan", "c", 0.9),
        ("zoe", "q", 0.9),
    ],
    columns=["user", "item", "score"],
)
TRUTH = pd.DataFrame(
    [
        ("ann", "b", 2.0),
        ("bob", "b", 1.0),
        ("bob", "x", 3.0),
        ("cat", "a", 1.0),
        ("dan", "c", 0.5),
        ("eve", "a", -1.0),
        ("ann", "b", 1.0),
    ],
    columns=["user", "item", "grade"],
)


def world(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lists of n users, 10 items each of 50, and one target each."""
    rng = np.random.default_rng(seed)
    items = np.argsort(rng.random((n, 50)), axis=1)[:, :10]
    lists = pd.DataFrame({"user": np.repeat(np.arange(n), 10), "item": items.ravel(), "score": rng.random(n * 10)})
    return lists, pd.DataFrame({"user": np.arange(n), "item": rng.integers(0, 50, n)})


def test_means_and_values_of_users_are_those_of_a_small_world() -> None:
    evaluation = recx.evaluate(LISTS, TRUTH, ["mrr", "recall_at_1", "auc", "num_queries", "coverage_at_1"])
    assert evaluation.users.tolist() == ["ann", "bob", "cat"]
    assert evaluation.values["mrr"].tolist() == [0.5, 1, 0]
    assert evaluation.values["recall_at_1"].tolist() == [0, 0.5, 0]
    assert evaluation.values["auc"] == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)
    assert evaluation.scalars == {"num_queries": 3.0, "coverage_at_1": 2 / 5}
    expected = {"mrr": 0.5, "recall_at_1": 1 / 6, "auc": 0.5, "num_queries": 3, "coverage_at_1": 0.4}
    assert evaluation.means == pytest.approx(expected)
    assert evaluation.per_user.columns.tolist() == ["user", "mrr", "recall_at_1", "auc"]
    assert evaluation.per_user["user"].tolist() == ["ann", "bob", "cat"]


def test_what_was_left_out_or_merged_is_counted() -> None:
    notes = recx.evaluate(LISTS, TRUTH, ["mrr", "hit_at_1", "auc"]).notes
    assert notes == {
        "users_only_in_lists": 1,  # zoe
        "items_unknown": 1,  # q
        "targets_duplicated": 1,
        "targets_negative": 1,
        "targets_below_rel_threshold": 2,
        "targets_seen_in_history": 0,
        "users_judged": 3,
        "users_without_target": 2,  # dan, eve
        "users_without_list": 1,  # cat
        "duplicates_in_lists": 0,
        "tied_at_1": pytest.approx(1 / 3),  # bob
        "auc_one_class_users": 1,
    }


def test_items_that_only_lists_know_are_counted_once() -> None:
    lists = LISTS.assign(item=["a", "b", "new", "new", "newer", "c", "c"])
    assert recx.evaluate(lists, TRUTH, ["mrr"]).notes["items_unknown"] == 2
    known = pd.DataFrame({"user": ["ann"], "item": ["newer"]})
    assert recx.evaluate(lists, TRUTH, ["mrr"], history=known).notes["items_unknown"] == 1


def test_without_a_choice_six_figures_at_10_are_judged() -> None:
    names = ["ndcg_at_10", "recall_at_10", "hit_at_10", "precision_at_10", "map_at_10", "mrr_at_10"]
    evaluation = recx.evaluate(LISTS, TRUTH)
    assert list(evaluation.means) == names
    assert evaluation.name == "run"
    assert recx.evaluate(LISTS, TRUTH, name="mine").name == "mine"


def test_frames_are_left_as_they_are() -> None:
    lists, truth = LISTS.copy(), TRUTH.copy()
    recx.evaluate(lists, truth, ["mrr"], on_duplicates="first")
    pd.testing.assert_frame_equal(lists, LISTS)
    pd.testing.assert_frame_equal(truth, TRUTH)


# Intervals


def test_an_interval_is_that_of_a_loop_over_resamples() -> None:
    """Two thousand resamples by a loop of its own; other random numbers, so near and not equal."""
    evaluation = recx.evaluate(*world(), ["mrr", "hit_at_5"])
    rng = np.random.default_rng(5)
    for name in ("mrr", "hit_at_5"):
        values = evaluation.values[name]
        means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(2000)]
        width = np.quantile(means, 0.975) - np.quantile(means, 0.025)
        low, high = evaluation.interval(name)
        assert (low, high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.1 * width)
        assert low < evaluation.means[name] < high
        narrow = evaluation.interval(name, level=0.5)
        assert low < narrow[0] < narrow[1] < high


def test_intervals_depend_on_the_seed_alone() -> None:
    lists, truth = world()
    first, again = (recx.evaluate(lists, truth, ["mrr", "ndcg"]) for _ in range(2))
    alone = recx.evaluate(lists, truth, ["ndcg"])
    assert first.interval("ndcg") == again.interval("ndcg")
    assert first.interval("ndcg") == pytest.approx(alone.interval("ndcg"), abs=1e-12)
    assert first.interval("ndcg") == pytest.approx(first.intervals()["ndcg"], abs=1e-12)
    assert first.interval("ndcg", seed=1) != first.interval("ndcg")


def test_an_interval_leaves_out_the_users_that_its_metric_leaves_out() -> None:
    evaluation = recx.evaluate(LISTS, TRUTH, ["auc"])
    assert evaluation.interval("auc") == (0.5, 0.5)


def test_one_number_has_no_interval() -> None:
    evaluation = recx.evaluate(LISTS, TRUTH, ["mrr", "num_queries"])
    with pytest.raises(InputError, match="'num_queries' is one number without values per user"):
        evaluation.interval("num_queries")
    with pytest.raises(InputError, match="there is no metric 'mr' here: did you mean 'mrr'"):
        evaluation.interval("mr")
    assert list(evaluation.intervals()) == ["mrr"]
    assert recx.evaluate(LISTS, TRUTH, ["num_queries"]).intervals() == {}


# Rules


def test_the_protocol_is_the_same_for_the_same_truth_in_whatever_order_and_type() -> None:
    lists, truth = world()
    card = recx.evaluate(lists, truth, ["mrr"]).protocol
    other_lists = world(seed=1)[0]
    assert recx.evaluate(other_lists, truth.sample(frac=1, random_state=0), ["ndcg"]).protocol == card
    small = truth.astype({"user": "int16", "item": "Int64"}).assign(grade=np.float32(1))
    assert recx.evaluate(lists, pd.concat([small, small[:5]]), ["mrr"]).protocol == card


@pytest.mark.parametrize(
    "change",
    [
        lambda truth: truth[1:],
        lambda truth: truth.assign(item=(truth["item"] + 1) % 50),
        lambda truth: truth.assign(grade=[2, *[1] * (len(truth) - 1)]),
        lambda truth: truth.assign(user=truth["user"].to_numpy()[::-1]),
    ],
    ids=["a row less", "other items", "another grade", "other users"],
)
def test_another_truth_is_another_protocol(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    lists, truth = world()
    cards = [recx.evaluate(lists, table, ["mrr"]).protocol for table in (truth, change(truth))]
    assert cards[0]["truth"] != cards[1]["truth"]
    assert {**cards[0], "truth": None} == {**cards[1], "truth": None}


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"order": "given"}, "order"),
        ({"on_duplicates": "first"}, "on_duplicates"),
        ({"threshold": 0.7}, "threshold"),
        ({"max_grade": 4}, "max_grade"),
        ({"metrics": [recx.metric("mrr", rel_threshold=2)]}, "metrics"),
        ({"items": pd.DataFrame({"item": range(60)})}, "catalogue"),
        ({"history": pd.DataFrame({"user": [1], "item": [1]})}, "history_events"),
    ],
)
def test_every_rule_is_on_the_protocol(settings: dict[str, Any], rule: str) -> None:
    lists, truth = world()
    plain = recx.evaluate(lists, truth.assign(grade=2), ["mrr"]).protocol
    other = recx.evaluate(lists, truth.assign(grade=2), **{"metrics": ["mrr"], **settings}).protocol
    assert {name for name in plain if plain[name] != other[name]} == {rule}
    assert json.dumps(other)


# Thresholds of a metric's own


def test_a_metric_may_have_a_threshold_of_its_own() -> None:
    """Grades: ann 2, bob 1 and 3, cat 1, dan 0.5. Without a cut of its own a metric goes by that of all."""
    low = recx.metric("recall", rel_threshold=0.5, label="mild")
    high = recx.metric("recall", rel_threshold=2, label="strict")
    evaluation = recx.evaluate(LISTS, TRUTH, ["recall", low, high])
    assert evaluation.users.tolist() == ["ann", "bob", "cat", "dan"]
    nan = np.nan
    assert evaluation.values["recall"] == pytest.approx([1, 0.5, 0, nan], nan_ok=True)
    assert evaluation.values["mild"] == pytest.approx([1, 0.5, 0, 1])
    assert evaluation.values["strict"] == pytest.approx([1, 0, nan, nan], nan_ok=True)
    assert evaluation.means == pytest.approx({"recall": 0.5, "mild": 0.625, "strict": 0.5})
    assert evaluation.protocol["metrics"] == {"mild": {"rel_threshold": 0.5}, "strict": {"rel_threshold": 2}}


@dataclass(frozen=True)
class Length:
    """A metric of another package that uses the common threshold."""

    name: str = "length"

    def __call__(self, judged: JudgedLists) -> Doubles:
        assert judged.rel_threshold == 2
        return judged.lists.lengths.astype(np.float64)


def test_no_figure_depends_on_which_others_are_asked_for() -> None:
    """A lower threshold of one metric brings users in whom the others must not see."""
    names = ["coverage_at_1", "gini", "accuracy", "auc_pooled", "hit_num_at_1", "num_queries", "ndcg", Length()]
    alone = recx.evaluate(LISTS, TRUTH, names, rel_threshold=2)
    both = recx.evaluate(LISTS, TRUTH, [*names, recx.metric("mrr", rel_threshold=0.5)], rel_threshold=2)
    assert len(both.users) == len(alone.users) + 2
    assert {name: both.means[name] for name in alone.means} == pytest.approx(alone.means)
    assert both.values["length"] == pytest.approx([3, 2, np.nan, np.nan], nan_ok=True)


def test_a_metric_that_returns_the_wrong_shape_is_named() -> None:
    @dataclass(frozen=True)
    class Rows:
        name: str = "rows"

        def __call__(self, judged: JudgedLists) -> Any:
            return judged.gain

    with pytest.raises(RecxError, match="the metric 'rows' must return one number, or one for each of the 3 users"):
        recx.evaluate(LISTS, TRUTH, [Rows()])


def test_numbers_of_numpy_are_numbers() -> None:
    metric = recx.metric("f", k=np.int64(5), beta=np.float32(2), rel_threshold=np.float64(1))
    assert metric.name == "f2_at_5"
    assert type(metric.k) is int
    assert recx.evaluate(LISTS, TRUTH, [metric, "f2_at_4"]).means["f2_at_5"] > 0
    with pytest.raises(InputError, match=r"k=5\.0: it must be a whole number"):
        recx.metric("f", k=np.float64(5))


def test_a_threshold_of_float64_does_not_widen_grades_of_float32() -> None:
    lists, target = arrays([[0]], [(0, 0, 3.3)])
    for threshold in (3.3, np.float64(3.3)):
        assert recx.evaluate(lists, target, [recx.metric("hit", 1, rel_threshold=threshold)]).means["hit_at_1"] == 1


def test_a_label_distinguishes_two_metrics_of_one_name() -> None:
    twice = [recx.metric("ndcg", 5), recx.metric("ndcg", 5, rel_threshold=2)]
    with pytest.raises(InputError, match="'ndcg_at_5' is listed twice: remove one of them, or give it a label"):
        recx.evaluate(LISTS, TRUTH, twice)
    assert list(recx.evaluate(LISTS, TRUTH, [twice[0], replace(twice[1], label="strict")]).means) == [
        "ndcg_at_5",
        "strict",
    ]


# Beyond accuracy

HISTORY = pd.DataFrame(
    [("ann", "a"), ("bob", "a"), ("yan", "a"), ("yan", "b"), ("bob", "b"), ("bob", "b")], columns=["user", "item"]
)
ITEMS = pd.DataFrame(
    {
        "item": ["a", "b", "c", "d", "q", "x"],
        "category": ["news", "news", "sport", None, "sport", "news"],
        "embedding": [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], None, [1.0, 1.0], None],
    }
)


def test_beyond_accuracy_with_a_history_and_a_catalogue() -> None:
    names = ["coverage", "novelty_at_1", "popularity_at_2", "new_items", "diversity_at_2", "category_diversity"]
    evaluation = recx.evaluate(LISTS, TRUTH, [*names, "serendipity_at_2"], history=HISTORY, items=ITEMS)
    assert evaluation.users.tolist() == ["ann", "bob", "cat"]
    values = {name: values.tolist() for name, values in evaluation.values.items()}
    assert evaluation.scalars["coverage"] == 3 / 6  # a, b, c are shown to those who are judged
    assert values["novelty_at_1"] == pytest.approx([0, np.log2(3 / 2), 0])  # all three users had a, two had b
    assert values["popularity_at_2"] == [3, 3, 0]
    assert values["new_items"] == pytest.approx([1 / 3, 0, 0])
    assert values["diversity_at_2"] == pytest.approx([1, 1, 0])
    assert values["category_diversity"] == pytest.approx([2 / 3, 0, 0])
    assert values["serendipity_at_2"] == [0, 0, 0]  # a and b are the most popular items
    assert evaluation.slices["history_length"].tolist() == [1, 3, 0]
    assert evaluation.slices["item_popularity"].tolist() == [3, 1.5, 3]
    assert evaluation.notes["targets_seen_in_history"] == 1  # bob had b
    assert recx.evaluate(LISTS, TRUTH, ["mrr"]).slices == {}


def test_history_and_items_come_from_files_too(tmp_path: Path) -> None:
    HISTORY.to_csv(tmp_path / "history.csv", index=False)
    ITEMS[["item", "category"]].to_csv(tmp_path / "items.csv", index=False)
    LISTS.to_csv(tmp_path / "lists.csv", index=False)
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    names = ["coverage", "popularity", "category_diversity"]
    files = {name: tmp_path / f"{name}.csv" for name in ("history", "items")}
    evaluation = recx.evaluate(tmp_path / "lists.csv", tmp_path / "truth.csv", names, **files)
    assert evaluation.means == recx.evaluate(LISTS, TRUTH, names, history=HISTORY, items=ITEMS).means
    assert evaluation.name == str(tmp_path / "lists.csv")


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (ITEMS.assign(item="a"), "items: the item a occurs twice: keep one row per item"),
        (ITEMS.assign(item=range(6)), r"item ids differ in type \(str in recommendations, .*int in items"),
        (ITEMS.assign(embedding=1.0), "'embedding' must hold one array of numbers per item, not an array of"),
        (ITEMS.assign(embedding=[[]] * 6), "'embedding' must hold one array of numbers per item"),
        (ITEMS.assign(embedding=[[1.0], [1.0, 2.0], *[None] * 4]), "'embedding' must hold arrays of one length"),
        (ITEMS.rename(columns={"item": "id"}), "items: column 'item' is missing"),
        (ITEMS[:0], "items has no rows"),
    ],
)
def test_an_invalid_catalogue_is_rejected(items: pd.DataFrame, said: str) -> None:
    with pytest.raises(InputError, match=said):
        recx.evaluate(LISTS, TRUTH, ["coverage"], items=items)


def test_a_catalogue_may_know_nothing_of_its_items() -> None:
    nothing = ITEMS.assign(embedding=None, category=None)
    assert recx.evaluate(LISTS, TRUTH, ["coverage"], items=nothing).means["coverage"] == 0.5
    for figure in ("diversity", "category_diversity"):
        with pytest.raises(InputError, match=f"{figure} needs .* but no item has one"):
            recx.evaluate(LISTS, TRUTH, [figure], items=nothing)


# Arrays


def arrays(
    shown: list[list[int]], targets: list[tuple[int, int, float]], n_items: int = 50
) -> tuple[RankedLists, Interactions]:
    """Return lists of users 0, 1 ... whose scores fall by one a rank, and the targets (user, item, grade)."""
    n = [len(items) for items in shown]
    lists = RankedLists(
        user=np.arange(len(shown), dtype=np.int32),
        indptr=indptr_of(np.array(n)),
        item=np.array([item for items in shown for item in items], dtype=np.int32),
        score=np.array([-float(rank) for length in n for rank in range(length)], dtype=np.float32),
    )
    frame = pd.DataFrame(targets, columns=["user", "item", "weight"])
    entities = {"users": Entities(np.arange(300)), "items": Entities(np.arange(n_items))}
    graded = Interactions.from_frame(frame.assign(weight=frame["weight"] + 1), **entities)  # it leaves out weights of 0
    return lists, replace(graded, weight=graded.weight - 1)


def test_arrays_and_frames_give_the_same() -> None:
    lists, truth = world()
    lists = lists.sort_values(["user", "score"], ascending=[True, False])
    grades = np.random.default_rng(2).integers(0, 4, len(truth)).astype(float)
    truth = truth.assign(grade=grades)
    names = ["ndcg_at_5", "mrr", "auc", "auc_pooled", "coverage_at_3", "num_queries"]
    of_frames = recx.evaluate(lists, truth, names, items=pd.DataFrame({"item": range(50)}))
    shown = [group["item"].tolist() for _, group in lists.groupby("user")]
    of_arrays = recx.evaluate(*arrays(shown, list(truth.itertuples(index=False, name=None))), names)
    assert of_arrays.users.tolist() == of_frames.users.tolist()
    assert {**of_arrays.means, "auc_pooled": 0} == pytest.approx({**of_frames.means, "auc_pooled": 0})  # other scores
    assert of_arrays.notes == of_frames.notes
    assert of_arrays.protocol["truth"] == of_frames.protocol["truth"]


BOTH = arrays([[0, 1], [2, 1]], [(0, 0, 1.0), (1, 1, 1.0)], n_items=3)
FEW = arrays([[0]], [(0, 0, 1.0)], n_items=2)[1]


@pytest.mark.parametrize(
    ("lists", "settings", "said"),
    [
        ({"score": np.array([1, np.nan, 2, 1], np.float32)}, {}, "list of user 0 has a score that is not finite"),
        ({"score": np.array([1, 0, np.inf, 1], np.float32)}, {}, "list of user 1 has a score that is not finite"),
        ({"score": np.array([1, 0, 1, 2], np.float32)}, {}, "list of user 1 has scores that rise along the list"),
        ({"item": np.array([0, 1, 3, 1], np.int32)}, {}, "list of user 1 has an item outside the catalogue"),
        ({"item": np.array([-1, 1, 2, 1], np.int32)}, {}, "list of user 0 has an item outside the catalogue"),
        ({"user": np.array([1, 1], np.int32)}, {}, "two lists of one user"),
        ({"item": np.array([0, 1, 2, 2], np.int32)}, {}, "the list of user 1 shows the item 2 twice"),
        ({"user": np.array([7, 8], np.int32)}, {}, "none of the 2 users with a target has a list"),
        ({}, {"history": LISTS}, "history is of type DataFrame"),
        ({}, {"items": ITEMS}, "items is of type DataFrame"),
        ({}, {"history": FEW}, "300 users and 2 items, but relevance 300 and 3: number users and items the same way"),
        ({}, {"items": Entities(np.arange(2))}, "number users and items the same way"),
    ],
)
def test_arrays_that_violate_an_invariant_are_rejected(
    lists: dict[str, Any], settings: dict[str, Any], said: str
) -> None:
    assert recx.evaluate(*BOTH, ["mrr"]).means["mrr"] == 0.75
    with pytest.raises(InputError, match=said):
        recx.evaluate(replace(BOTH[0], **lists), BOTH[1], ["mrr"], **settings)


def test_arrays_and_frames_are_not_mixed() -> None:
    with pytest.raises(InputError, match="relevance is of type DataFrame"):
        recx.evaluate(BOTH[0], TRUTH)
    with pytest.raises(InputError, match="recommendations is of type DataFrame"):
        recx.evaluate(LISTS, BOTH[1])
    with pytest.raises(InputError, match="a target of user 1 has the weight nan"):
        recx.evaluate(BOTH[0], replace(BOTH[1], weight=np.array([1, np.nan], np.float32)))


# A run of recx


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[recx.Result, saved_runs.SavedRun]:
    """A small run with every curve and table that needs no probabilities."""
    folder = tmp_path_factory.mktemp("run")
    with chdir(folder):
        result = recx.run(
            [
                "+experiment=news",
                "tracker=console",
                "dataset.readers=200",
                "dataset.articles=80",
                "evaluator.tables=[roc_curve,confusion_matrix,classification,cascade]",
                "evaluator.max_grade=1",
            ]
        )
        [saved] = (folder / "outputs").glob("2*/*")
    return result, saved_runs.load(saved)


def test_a_saved_run_is_an_evaluation(run: tuple[recx.Result, saved_runs.SavedRun]) -> None:
    result, saved = run
    evaluation = saved.evaluation
    report = result.report
    assert report is not None
    assert evaluation.name == saved.folder.name
    assert evaluation.users.tolist() == report.users.tolist()
    assert evaluation.means == pytest.approx(report.means, nan_ok=True)
    assert list(evaluation.slices) == ["history_length", "item_popularity"]
    assert evaluation.slices["history_length"] == pytest.approx(report.slices["history_length"])
    assert evaluation.notes["users_without_list"] == 0
    assert "notes" not in evaluation.protocol
    low, high = evaluation.interval("end_to_end/ndcg_at_5")
    assert low <= evaluation.means["end_to_end/ndcg_at_5"] <= high
    twice = recx.compare(saved, evaluation, ["end_to_end/ndcg_at_5"], resamples=10, draws=10)
    assert twice.table["difference"].tolist() == [0]


def test_what_a_run_wrote_is_judged_as_the_run_judged_it(run: tuple[recx.Result, saved_runs.SavedRun]) -> None:
    result, saved = run
    target = result.split.fold.target
    assert target is not None
    truth = pd.DataFrame({"user": target.users.ids[target.user], "item": target.items.ids[target.item]})
    evaluation = recx.evaluate(saved.folder / "recommendations.parquet", truth, ["ndcg_at_5", "hit_at_10", "mrr"])
    assert evaluation.means == pytest.approx(
        {name: saved.metrics[f"end_to_end/{name}"] for name in ("ndcg_at_5", "hit_at_10", "mrr")}
    )
    same = recx.evaluate(result.recommendations, target, ["ndcg_at_5"], history=result.split.fold.history)
    assert same.means["ndcg_at_5"] == pytest.approx(evaluation.means["ndcg_at_5"])
    assert len(same.slices["history_length"]) == len(same.users)


def test_curves_and_tables_of_a_run_are_files(run: tuple[recx.Result, saved_runs.SavedRun]) -> None:
    _, saved = run
    drawn = {"roc_curve", "confusion_matrix", "classification", "cascade", "weights"}
    tables = {*drawn, "collinear_features", "permutation_importance"}
    assert {path.stem for path in (saved.folder / "tables").glob("*.csv")} == tables
    assert {path.stem for path in (saved.folder / "figures").glob("*.svg")} == drawn
    curve = pd.read_csv(saved.folder / "tables" / "roc_curve.csv")
    assert curve.columns.tolist() == ["threshold", "false_positive_rate", "true_positive_rate"]
    assert (curve["true_positive_rate"].iloc[0], curve["true_positive_rate"].iloc[-1]) == (0, 1)
    rows = pd.read_csv(saved.folder / "tables" / "confusion_matrix.csv")["rows"].sum()
    assert rows == len(saved.recommendations)


def test_an_evaluation_is_shown_as_a_table_after_its_warnings() -> None:
    shown = replace(recx.evaluate(LISTS, TRUTH, ["mrr", "recall_at_1"]), name="<run>")._repr_html_()
    assert "&lt;run&gt;" in shown
    assert "3 users" in shown
    assert 0 < shown.index("intervals say little") < shown.index("<table>")
    assert ">0.5000<" in shown  # mrr
    assert ">0.1667<" in shown  # recall
