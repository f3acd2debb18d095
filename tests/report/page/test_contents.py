"""The data of a run's page agrees with the run's own files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from recx.core.types import Array
from recx.experiment import saved_runs
from recx.experiment.explain import Reopened
from recx.report.page import write
from recx.report.page.report_data import KINDS
from recx.report.page.section_training import MOST_ROWS, distributions, learned, table_of

Page = dict[str, Any]


@pytest.fixture(scope="module")
def page(folders: dict[str, Path]) -> Page:
    return write.read(folders["linear"])


@pytest.fixture(scope="module")
def metrics(folders: dict[str, Path]) -> dict[str, float]:
    return dict(json.loads((folders["linear"] / "metrics.json").read_text()))


def test_the_answer_is_the_runs_figures(page: Page, metrics: dict[str, float]) -> None:
    answer = page["answer"]
    assert answer["k"] == 5
    assert answer["shown"] == pytest.approx(metrics["end_to_end/hit_at_5"])
    before = answer["kinds"]["hit"] + answer["kinds"]["lost by the ranker"]
    assert answer["shown_before"] == pytest.approx(before / answer["users"])
    assert answer["shown_before"] == pytest.approx(dict(map(tuple, page["curves"]["recall"]["candidates"]))[5])
    assert answer["found"] == pytest.approx(1 - metrics["funnel/lost_in_retrieval"])
    assert answer["funnel"]["lost in ranking"] == pytest.approx(metrics["funnel/lost_in_ranking_at_5"])
    assert sum(answer["funnel"].values()) == pytest.approx(1)
    assert answer["lift"]["value"] == pytest.approx(metrics["funnel/lift_ndcg_at_5"])
    assert answer["lift"]["low"] <= answer["lift"]["value"] <= answer["lift"]["high"]
    assert sum(answer["kinds"].values()) == answer["users"] == metrics["num_queries"]
    assert answer["headline"][0]["name"] == "end_to_end/ndcg_at_5"


def test_the_page_has_its_data_its_words_and_its_reference_lines(page: Page) -> None:
    assert page["data"] == "news (made up)"
    assert page["nouns"]["users"] == "readers"
    lines = page["references"]
    assert lines["users"] == page["answer"]["users"]
    assert set(lines["popularity"]) == set(lines["random"])
    assert {"end_to_end/ndcg_at_5", "retrieval/recall_at_50"} <= set(lines["random"])
    assert lines["random"]["end_to_end/ndcg_at_5"] < lines["popularity"]["end_to_end/ndcg_at_5"]


def test_the_best_earlier_run_on_the_same_targets_is_named(folders: dict[str, Path]) -> None:
    earlier = write.read(folders["identity"])["earlier"]
    assert earlier["about"] == "union_news + linear"
    assert earlier["value"] == write.read(folders["linear"])["answer"]["headline"][0]["value"]
    assert folders["linear"].as_posix().endswith(earlier["folder"])


def test_every_metric_has_a_row_with_its_interval(page: Page, metrics: dict[str, float]) -> None:
    rows = {row["name"]: row for row in page["metrics"]}
    judged = [name for name in metrics if name.startswith(("retrieval/", "ranking/", "end_to_end/", "funnel/"))]
    assert set(rows) == {name for name in judged if not name.endswith("/users")}
    for name, row in rows.items():
        assert row["value"] == pytest.approx(metrics[name])
        assert row["low"] <= row["value"] <= row["high"]
    assert rows["ranking/ndcg_at_5"]["users"] == metrics["ranking/users"]


def test_the_curves_go_through_the_metrics(page: Page, metrics: dict[str, float]) -> None:
    lines = {"candidates": "retrieval", "recommendations": "end_to_end"}
    compared = 0
    for figure, curves in page["curves"].items():
        for shown, line in lines.items():
            values = dict(map(tuple, curves[shown]))
            assert list(values) == list(range(1, 101))
            for k in (5, 10, 20, 50):
                if f"{line}/{figure}_at_{k}" in metrics:
                    assert values[k] == pytest.approx(metrics[f"{line}/{figure}_at_{k}"])
                    compared += 1
    assert compared == 10


def test_the_groups_of_a_slice_add_up(page: Page, metrics: dict[str, float]) -> None:
    slices = {one["name"]: one["groups"] for one in page["slices"]}
    assert {"history_length", "item_popularity", "item_age", "hour", "category"} <= set(slices)
    for name in ("history_length", "item_popularity", "hour"):
        users = np.array([group["users"] for group in slices[name]])
        assert users.sum() == page["answer"]["users"]
        for figure, metric in (("ndcg", "end_to_end/ndcg_at_5"), ("lift", "funnel/lift_ndcg_at_5")):
            means = np.array([group[figure] for group in slices[name]])
            assert means @ users / users.sum() == pytest.approx(metrics[metric])
            assert all(group[f"{figure}_low"] <= group[figure] <= group[f"{figure}_high"] for group in slices[name])
        assert sum(group["higher"] for group in slices[name]) == page["answer"]["higher"]


def test_the_examples_are_the_runs_lists(page: Page, folders: dict[str, Path]) -> None:
    run = saved_runs.load(folders["linear"])
    shown = run.recommendations.groupby("user")["item"].apply(list)
    found = run.candidates.groupby("user")["item"].apply(list)
    rows, items = page["examples"]["rows"], page["examples"]["items"]
    assert {row["kind"] for row in rows} == {kind for kind in KINDS if page["answer"]["kinds"][kind]}
    assert len(rows) <= 300
    for row in rows:
        user = int(row["user"])
        names = [items[number]["name"] for number in row["shown"]]
        assert names == list(map(str, shown[user][:10]))
        [target] = [items[number]["name"] for number in row["targets"]]
        for rank, lists in ((row["rank"], shown), (row["retrieved"], found)):
            where = list(map(str, lists[user]))
            assert rank == (where.index(target) + 1 if target in where else None)


def test_the_reasons_are_those_of_explain(page: Page, folders: dict[str, Path]) -> None:
    reopened = Reopened.of(saved_runs.load(folders["linear"]))
    found = [row for row in page["examples"]["rows"] if row["kind"] == "lost in ranking"][:5]
    assert found
    for row in found:
        contributions = reopened.explain(row["user"]).contributions
        reach = {name: values[0] - values[row["rank"] - 1] for name, values in contributions.items()}
        strongest = sorted(abs(value) for value in reach.values())[-5:]
        assert [abs(part["first"] - part["target"]) for part in row["why"]] == pytest.approx(strongest[::-1])
        for part in row["why"]:
            assert part["first"] == pytest.approx(contributions[part["feature"]][0])
            assert part["target"] == pytest.approx(contributions[part["feature"]][row["rank"] - 1])


def test_the_run_is_described(page: Page, folders: dict[str, Path]) -> None:
    run = page["run"]
    stages = {row["stage"]: row for row in run["stages"]}
    assert list(stages)[:2] == ["load", "split"]
    assert list(stages)[-1] == "total"
    assert all(row["cached"] == 0 for stage, row in stages.items() if stage != "total")
    assert {stage: row["passes"] for stage, row in stages.items() if row["passes"] > 1} == {
        "fit_retriever": 2,
        "retrieve": 2,
    }
    peaks = [row["peak"] for stage, row in stages.items() if stage != "total"]
    assert min(peaks) > 10
    assert run["counts"]["users"] == 300
    assert run["protocol"]["split.part"].endswith("LeaveLast")
    assert run["config"]["seed"] == "0"
    assert "recx" in run["versions"]
    assert run["words"][:2] == ["+experiment=news", "tracker=console"]


def test_a_partly_cached_stage_is_marked(folders: dict[str, Path]) -> None:
    stages = {row["stage"]: (row["cached"], row["passes"]) for row in write.read(folders["half"])["run"]["stages"]}
    assert (stages["retrieve"], stages["rank"], stages["fit_retriever"][1]) == ((1, 2), (0, 1), 1)
    text = (folders["half"] / "report.html").read_text(encoding="utf-8")
    assert "<td>1 of 2</td>" in text


def test_empty_sections_are_left_out(folders: dict[str, Path]) -> None:
    identity, predicted = (write.read(folders[name]) for name in ("identity", "predict"))
    assert "learnt" not in identity
    assert not any(row.get("why") for row in identity["examples"]["rows"])
    assert identity["answer"]["lift"] == {"value": 0, "low": 0, "high": 0}
    assert not {"answer", "metrics", "curves", "slices"} & set(predicted)
    assert predicted["learnt"]["weights"]
    assert len(predicted["examples"]["rows"]) == 60  # all requests
    assert "kind" not in predicted["examples"]["rows"][0]


def test_distributions_are_shares_of_either_class() -> None:
    matrix = np.array([[0, 7], [0, 7], [1, 7], [2, 7]], np.float32)
    target = np.array([False, False, True, True])
    [found] = distributions({"a": matrix[:, 0], "constant": matrix[:, 1]}, target, {"constant": 9.0})
    assert found["feature"] == "a"
    assert sum(found["shares"]["targets"]) == pytest.approx(1)
    assert found["shares"]["other candidates"][0] == 1
    assert distributions({"a": matrix[:, 0]}, np.ones(4, bool), {}) == []


def test_long_curves_are_thinned_evenly_and_long_tables_end_early() -> None:
    table: dict[str, Array] = {"x": np.arange(1001), "y": np.full(1001, np.nan)}
    curve, other = table_of("roc_curve", table), table_of("other", table)
    assert curve["of"] == other["of"] == 1001
    assert len(curve["rows"]) == len(other["rows"]) == MOST_ROWS
    assert (curve["rows"][0]["x"], curve["rows"][-1]["x"]) == (0, 1000)
    assert [row["x"] for row in other["rows"]] == list(range(MOST_ROWS))
    assert table_of("other", {"x": np.zeros(0)}) == {"of": 0, "rows": []}


def test_all_weights_of_a_wide_model_are_listed_the_strongest_first() -> None:
    weight = np.random.default_rng(0).normal(size=300)
    columns = {"feature": np.array([f"f{place}" for place in range(300)]), "weight": weight, "low": weight - 1}
    result = SimpleNamespace(tables={"weights": columns}, importances={}, curves={}, collinear=[])
    found = learned(cast(Any, result), None, {})
    assert set(found) == {"weights"}
    assert {row["feature"]: row["weight"] for row in found["weights"]} == dict(
        zip(columns["feature"].tolist(), weight.tolist(), strict=True)
    )
    strength = [abs(row["weight"]) for row in found["weights"]]
    assert strength == sorted(strength, reverse=True)


def test_users_who_gained_are_those_of_the_table_of_users(page: Page, folders: dict[str, Path]) -> None:
    table = pd.read_parquet(folders["linear"] / "per_user.parquet")
    assert page["answer"]["higher"] == int((table["funnel/lift_ndcg_at_5"] > 0).sum())
    assert page["answer"]["lower"] == int((table["funnel/lift_ndcg_at_5"] < 0).sum())
