"""A run's figures by name, its files, and reading them back."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.fit_summary import FitSummary
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests, Split
from recx.experiment import saved_runs
from recx.experiment.experiment import Result


@dataclass(frozen=True)
class Part:
    """Stand-in for any part, of which only the settings matter here."""

    k: int = 3


@dataclass(frozen=True)
class Chain:
    splitter: Part = Part()
    retriever: Part = Part()
    evaluator: Part = Part()
    fold: str = "test"
    n_candidates: int = 3
    refit: bool = True


@dataclass(frozen=True)
class Weighted:
    summary: FitSummary = field(
        default_factory=lambda: FitSummary(
            notes={"users_without_positive": 1}, weights={"clicks_1h": np.float32(0.5), "age": np.float32(-2)}
        )
    )


@dataclass(frozen=True)
class Kept:
    """A fitted retriever that reports its training."""

    summary: FitSummary = field(default_factory=lambda: FitSummary(curves={"kept/loss": [2.0, 1.5]}))


def small_result(user_ids: list[Any], item_ids: list[Any], *, predict: bool = False) -> Result:
    """Return a run of three users and four items; the second user's list is empty."""
    users, items = (
        Entities(np.array(user_ids, dtype=_kind(user_ids))),
        Entities(np.array(item_ids, dtype=_kind(item_ids))),
    )
    history = Interactions(
        indptr=indptr_of(np.array([2, 1, 1])),
        item=np.array([0, 1, 1, 2], np.int32),
        time=np.array([1000, 2000, 1500, 3000]),
        weight=np.ones(4, np.float32),
        users=users,
        items=items,
        notes={"duplicate_rows": 7},
    )
    lists = RankedLists(
        user=np.array([0, 1, 2], np.int32),
        indptr=np.array([0, 2, 2, 5]),
        item=np.array([2, 3, 0, 1, 3], np.int32),
        score=np.array([0.5, 0.25, 3, 2, -1], np.float32),
        columns={"knn_rank": np.array([1, np.nan, 1, 2, 3], np.float32)},
    )
    target = None if predict else history.keep(np.array([False, True, True, True]))
    report = Evaluation(
        users=history.users.ids[[0, 2]],
        values={"end_to_end/hit_at_5": np.array([1.0, 0.0]), "ranking/hit_at_5": np.array([1.0, np.nan])},
        scalars={"ranking/users": 1, "ranking/auc": math.nan},
        notes={"users_without_list": 1},
    )
    fold = Fold(history, target, Requests(np.arange(3, dtype=np.int32), np.array([2001, 1501, 3001])))
    return Result(
        experiment=Chain(fold="predict" if predict else "test"),  # type: ignore[arg-type]
        interactions=history,
        split=Split(None, fold, {"users_left_out_too_few_events": 2, "later_events": 5}),
        retriever=Kept(),  # type: ignore[arg-type]
        ranker=Weighted(),  # type: ignore[arg-type]
        candidates=lists,
        recommendations=lists,
        report=None if predict else report,
        seconds={"load": 0.5, "total": 2.0},
    )


def _kind(ids: list[Any]) -> Any:
    return object if isinstance(ids[0], str) else np.int64


STRINGS = ["ann", "bé", "007"], ["x", "y", "z", "ü"]
NUMBERS = [5, 2**60, 7], [10, 20, 30, 40]


@pytest.fixture
def result() -> Result:
    return small_result(*NUMBERS)


def test_metrics_are_flat_and_complete(result: Result) -> None:
    metrics = result.metrics
    assert metrics["end_to_end/hit_at_5"] == 0.5
    assert metrics["ranking/hit_at_5"] == 1.0
    assert metrics["time/load"] == 0.5
    sizes = ("users", "items", "events", "requests", "targets", "candidates")
    assert [metrics[f"data/{name}"] for name in sizes] == [3, 4, 4, 3, 3, 5]
    assert metrics["data/candidates_per_request"] == pytest.approx(5 / 3)
    noted = ("duplicate_rows", "users_left_out_too_few_events", "users_without_positive", "users_without_list")
    assert [metrics[f"data/{name}"] for name in noted] == [7, 2, 1, 1]
    assert all(type(value) is float for value in metrics.values())


def test_weights_come_from_the_ranker(result: Result) -> None:
    assert result.weights == {"clicks_1h": 0.5, "age": -2.0}
    assert replace(result, ranker=Part()).weights == {}  # type: ignore[arg-type]


def test_importances_are_figures(result: Result) -> None:
    assert result.metrics["weight/age"] == -2.0
    grown = replace(result, ranker=Weighted(FitSummary(importances={"age": 0.75, "clicks": 0.25})))  # type: ignore[arg-type]
    figures = {name: value for name, value in grown.metrics.items() if name.startswith(("weight", "importance"))}
    assert figures == {"importance/age": 0.75, "importance/clicks": 0.25}


@pytest.mark.parametrize("ids", [STRINGS, NUMBERS], ids=["strings", "numbers"])
def test_a_saved_run_reads_back(tmp_path: Path, ids: tuple[list[Any], list[Any]]) -> None:
    user_ids, item_ids = ids
    result = small_result(user_ids, item_ids)
    saved_runs.save(result, tmp_path / "run", {"split": {"n": 1}, "ks": (5, 10), "uri": None}, {"fold": "test"})
    saved = saved_runs.load(tmp_path / "run")

    frame = saved.recommendations
    assert list(frame.columns) == ["user", "rank", "item", "score", "retriever_rank", "retriever_score", "knn_rank"]
    assert frame["user"].tolist() == [user_ids[0]] * 2 + [user_ids[2]] * 3
    assert frame["item"].tolist() == [item_ids[number] for number in (2, 3, 0, 1, 3)]
    assert frame["rank"].tolist() == [1, 2, 1, 2, 3]
    np.testing.assert_array_equal(frame["score"], result.recommendations.score)
    np.testing.assert_array_equal(frame["knn_rank"], result.recommendations.columns["knn_rank"])
    np.testing.assert_array_equal(frame["retriever_rank"], frame["rank"])
    np.testing.assert_array_equal(frame["retriever_score"], frame["score"])
    assert saved.candidates.equals(frame.drop(columns=["retriever_rank", "retriever_score"]))
    assert saved.per_user["user"].tolist() == [user_ids[0], user_ids[2]]
    np.testing.assert_array_equal(saved.per_user["ranking/hit_at_5"], [1.0, np.nan])
    assert saved.config == {"split": {"n": 1}, "ks": [5, 10], "uri": None}
    assert saved.protocol == {"fold": "test"}
    assert saved.metrics == pytest.approx(result.metrics, nan_ok=True)


def test_metrics_file_is_strict_json(tmp_path: Path, result: Result) -> None:
    saved_runs.save(result, tmp_path, {}, {})
    stored = json.loads((tmp_path / "metrics.json").read_text(), parse_constant=pytest.fail)
    assert stored["ranking/auc"] is None
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_prediction_has_no_per_user_file(tmp_path: Path) -> None:
    result = small_result(*NUMBERS, predict=True)
    saved_runs.save(result, tmp_path, {}, {})
    assert "data/targets" not in result.metrics
    assert len(saved_runs.load(tmp_path).recommendations) == 5
    with pytest.raises(InputError, match=r"has no per_user\.parquet"):
        _ = saved_runs.load(tmp_path).per_user


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, result: Result) -> None:
    saved_runs.save(result, tmp_path, {}, {})
    before = (tmp_path / "recommendations.parquet").read_bytes()
    broken = replace(result, recommendations=replace(result.candidates, item=np.array([99] * 5, np.int32)))
    with pytest.raises(IndexError):
        saved_runs.save(broken, tmp_path, {}, {})
    assert (tmp_path / "recommendations.parquet").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_last_is_the_newest_that_finished(tmp_path: Path, result: Result) -> None:
    for number, run in enumerate(["2026-01-02/09-00_a", "2026-01-01/10-00_b", "sweeps/2026-01-01_08-00/0"]):
        saved_runs.save(result, tmp_path / run, {}, {})
        os.utime(tmp_path / run / "metrics.json", (1000 - number, 1000 - number))
    (tmp_path / "2026-01-03" / "11-00_unfinished").mkdir(parents=True)
    copy = tmp_path / "mlflow-artifacts" / "ab" / "artifacts"
    saved_runs.save(result, copy, {}, {})
    assert saved_runs.load("last", tmp_path).folder == tmp_path / "2026-01-02/09-00_a"
    assert saved_runs.load("2026-01-01/10-00_b", tmp_path).folder == tmp_path / "2026-01-01/10-00_b"


def test_the_last_of_all_may_be_a_benchmark_whose_rankers_are_the_runs(tmp_path: Path, result: Result) -> None:
    with pytest.raises(InputError, match="no run has finished"):
        saved_runs.last(tmp_path, "*/*/benchmark.json")
    run, benchmark = tmp_path / "2026-01-02" / "09-00_a", tmp_path / "2026-01-02" / "10-00_b"
    saved_runs.save(result, run, {}, {})
    assert saved_runs.last(tmp_path, "*/*/benchmark.json") == run
    benchmark.mkdir()
    (benchmark / "benchmark.json").write_text("{}")
    os.utime(run / "metrics.json", (1000, 1000))
    assert saved_runs.last(tmp_path, "*/*/benchmark.json") == benchmark
    assert saved_runs.load("last", tmp_path).folder == run
    with pytest.raises(InputError, match="not a run: none of its rankers finished"):
        saved_runs.load(benchmark)
    for name in ("bm25", "linear"):
        saved_runs.save(result, benchmark / name, {}, {})
    with pytest.raises(InputError, match=f"name a ranker, {benchmark / 'bm25'} or {benchmark / 'linear'}$"):
        saved_runs.load("2026-01-02/10-00_b", tmp_path)


def test_errors_name_the_way_out(tmp_path: Path, result: Result) -> None:
    with pytest.raises(InputError, match="no run has finished"):
        saved_runs.load("last", tmp_path)
    saved_runs.save(result, tmp_path / "2026-01-01" / "10-00_news", {}, {})
    with pytest.raises(InputError, match="did you mean '2026-01-01/10-00_news'"):
        saved_runs.load("2026-01-01/10-00_new", tmp_path)
    with pytest.raises(InputError, match="does not hold a finished run"):
        saved_runs.load("2026-01-01", tmp_path)


@pytest.mark.parametrize("name", ["recommendations.parquet", "metrics.json", "config.yaml", "protocol.json"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, result: Result, name: str) -> None:
    saved_runs.save(result, tmp_path, {}, {})
    (tmp_path / name).write_bytes(b"\x00{[")
    with pytest.raises(InputError, match=f"{name} is damaged"):
        getattr(saved_runs.load(tmp_path), name.partition(".")[0])


def test_curves_come_from_the_fitted_parts(result: Result) -> None:
    assert result.curves == {"kept/loss": [2.0, 1.5]}


@pytest.mark.parametrize("ids", [STRINGS, NUMBERS], ids=["strings", "numbers"])
@pytest.mark.parametrize("name", ["recommendations", "candidates", "per_user"])
@pytest.mark.parametrize("fold", ["test", "valid"])
def test_frames_of_a_result_are_those_of_its_files(
    tmp_path: Path, ids: tuple[list[Any], list[Any]], name: str, fold: str
) -> None:
    result = replace(small_result(*ids), experiment=Chain(fold=fold))  # type: ignore[arg-type]
    result = replace(result, report=replace(result.report, slices={"history_length": np.array([2.0, 1.0])}))  # type: ignore[type-var]
    saved_runs.save(result, tmp_path / "run", {"fold": fold}, {})
    frame = result.frame(name)
    pd.testing.assert_frame_equal(frame, getattr(saved_runs.load(tmp_path / "run"), name))
    assert frame["user"].tolist() == [ids[0][user] for user in ([0, 2] if name == "per_user" else [0, 0, 2, 2, 2])]


def test_a_frame_that_is_not_there_is_named(result: Result) -> None:
    with pytest.raises(InputError, match="no frame 'recomendations': did you mean 'recommendations'"):
        result.frame("recomendations")
    with pytest.raises(InputError, match="no frame 'per_user', since it has no targets"):
        small_result(*NUMBERS, predict=True).frame("per_user")


def test_a_run_keeps_as_much_of_its_lists_as_it_was_told(tmp_path: Path, result: Result) -> None:
    other = replace(result, recommendations=result.candidates.reorder(np.array([1, 2, 1, 2, 3.0])))
    kept = {}
    for lists in ("all", "top:2", "top:3", "off", False):
        kept[lists] = tmp_path / str(lists)
        saved_runs.save(other, kept[lists], {"lists": lists}, {})
    whole = saved_runs.load(kept["all"])
    assert whole.recommendations["retriever_rank"].tolist() == [2, 1, 3, 2, 1]
    assert whole.candidates["item"].tolist() == [30, 40, 10, 20, 40]
    assert saved_runs.load(kept["top:3"]).candidates.equals(whole.candidates)  # no list is longer
    first = saved_runs.load(kept["top:2"])
    pd.testing.assert_frame_equal(
        first.recommendations, whole.recommendations.query("rank <= 2").reset_index(drop=True)
    )
    with pytest.raises(InputError, match=r"this run kept the first 2 of each list \(lists=top:2\), and here whole"):
        _ = first.candidates
    for lists in ("off", False):
        assert not (kept[lists] / "recommendations.parquet").exists()
        for name in ("recommendations", "candidates"):
            with pytest.raises(InputError, match=r"this run kept no lists \(lists=off\): run it again with lists=all"):
                getattr(saved_runs.load(kept[lists]), name)
        assert saved_runs.load(kept[lists]).metrics == pytest.approx(whole.metrics, nan_ok=True)


def test_a_run_of_an_earlier_recx_has_its_candidates_in_a_file_of_their_own(tmp_path: Path, result: Result) -> None:
    saved_runs.save(result, tmp_path, {}, {})
    now = saved_runs.load(tmp_path)
    now.candidates.to_parquet(tmp_path / "candidates.parquet")
    now.candidates.to_parquet(tmp_path / "recommendations.parquet")  # without the retriever's ranks, as it was
    then = saved_runs.load(tmp_path)
    assert then.candidates.equals(now.candidates)
    assert then.recommendations.equals(now.candidates)
    (tmp_path / "candidates.parquet").unlink()  # as it was with a ranker of a benchmark
    with pytest.raises(InputError, match=r"has no candidates\.parquet: this run did not write it"):
        _ = saved_runs.load(tmp_path).candidates


def test_a_saved_run_is_shown_as_a_table(tmp_path: Path, result: Result) -> None:
    folder = tmp_path / "run"
    saved_runs.save(result, folder, {"fold": "test", "dataset": {"path": "<b>"}}, {})
    shown = saved_runs.load(folder)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert ">0.5000<" in shown
    assert "data/" not in shown


@pytest.mark.parametrize("name", ["metrics.json", "config.yaml"])
@pytest.mark.parametrize("content", [None, "[1]", "fold: [", '{"ranking/hit_at_5": "x"}'])
def test_a_saved_run_with_a_file_that_cannot_be_read_says_so(
    tmp_path: Path, result: Result, name: str, content: str | None
) -> None:
    folder = tmp_path / "run"
    saved_runs.save(result, folder, {"fold": "test"}, {})
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    assert name in saved_runs.SavedRun(folder)._repr_html_()
