"""The evaluator of predicted clicks counts every list that was asked for, also those without a click."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import recx
from recx.config.compose import compose, plain
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.ctr.evaluator import Ctr
from recx.experiment.build import experiment
from recx.experiment.scores import check_probabilities
from recx.parts.dataset.synthetic_clicks import SyntheticClicks
from recx.parts.retriever.given import Given
from recx.parts.split.by_query import ByQuery


def fold_of(targets: list[tuple[int, int, float]], n_users: int = 3) -> Fold:
    """A fold of (user, item, weight), by user; a weight of 0: the user asked and chose nothing."""
    user, item, weight = (np.array(column) for column in zip(*targets, strict=True))
    events = Interactions(
        indptr_of(np.bincount(user, minlength=n_users)),
        item.astype(np.int32),
        None,
        weight.astype(np.float32),
        Entities(np.arange(n_users) + 100),
        Entities(np.arange(5)),
    )
    return Fold(events.keep(np.zeros(len(user), dtype=bool)), events, Requests(np.unique(user).astype(np.int32)))


def lists_of(shown: dict[int, list[tuple[int, float]]]) -> RankedLists:
    item, score = (np.array(of) for of in zip(*(pair for pairs in shown.values() for pair in pairs), strict=True))
    lengths = np.array([len(pairs) for pairs in shown.values()])
    user = np.array(list(shown), np.int32)
    return RankedLists(user, indptr_of(lengths), item.astype(np.int32), score.astype(np.float32))


SHOWN = {0: [(1, 0.8), (2, 0.4)], 1: [(3, 0.6), (0, 0.1)], 2: [(4, 0.5), (2, 0.2)]}


def test_a_list_without_a_click_counts() -> None:
    lists = lists_of(SHOWN)
    found = Ctr(resamples=50).evaluate(lists, lists, fold_of([(0, 1, 1), (1, 3, 0), (2, 2, 1)]))
    y, p = np.array([1, 0, 0, 0, 0, 1]), lists.score.astype(float)
    assert found.users.tolist() == [100, 101, 102]
    assert found.scalars["end_to_end/rows"] == 6
    assert found.scalars["end_to_end/click_rate"] == pytest.approx(1 / 3)
    assert found.scalars["end_to_end/auc_pooled"] == pytest.approx(metrics.roc_auc_score(y, p))
    assert found.scalars["end_to_end/logloss"] == pytest.approx(metrics.log_loss(y, p))
    assert found.scalars["end_to_end/mean_predicted"] == pytest.approx(p.mean())
    losses = -np.log(np.where(y == 1, p, 1 - p)).reshape(3, 2).mean(axis=1)
    gains = 1 - losses / metrics.log_loss(y, np.full(6, 1 / 3))
    assert found.values["end_to_end/information_gain_of_user"] == pytest.approx(gains)
    assert gains.mean() == pytest.approx(found.scalars["end_to_end/information_gain"])  # of lists of equal length
    assert found.values["end_to_end/auc"] == pytest.approx(np.array([1.0, np.nan, 0.0]), nan_ok=True)
    assert found.notes["users_without_target"] == found.notes["auc_one_class_users"] == 1
    assert set(found.tables) == {"roc_curve", "pr_curve", "calibration", "calibration_by_rank"}
    assert found.tables["calibration_by_rank"]["clicks"].tolist() == [1, 1]


def test_a_small_grade_is_a_click_and_a_click_on_what_was_not_shown_is_counted() -> None:
    lists = lists_of(SHOWN)
    found = Ctr(resamples=50).evaluate(lists, lists, fold_of([(0, 1, 0.5), (0, 4, 1), (1, 3, 0), (2, 2, 1)]))
    assert found.scalars["end_to_end/click_rate"] == pytest.approx(1 / 3)
    assert found.notes["clicks_not_shown"] == 1


def test_scores_that_are_no_probabilities_and_rows_of_one_class_are_errors() -> None:
    lists = lists_of(SHOWN)
    fold = fold_of([(0, 1, 1), (1, 3, 1), (2, 2, 1)])
    with pytest.raises(InputError, match="evaluator=ctr needs probabilities, and the scores range"):
        Ctr().evaluate(lists, replace(lists, score=np.array([2.8, 1, 1, 0.1, 1, 0.5], np.float32)), fold)
    every = lists_of({0: [(1, 0.8)], 1: [(3, 0.6)], 2: [(2, 0.2)]})
    with pytest.raises(InputError, match="and 3 of the 3 rows shown were: judge lists that show both"):
        Ctr().evaluate(every, every, fold)


def test_a_slice_is_listed_once() -> None:
    with pytest.raises(InputError, match=r"evaluator\.by: 'rank' is listed twice"):
        Ctr(by=["rank", "rank"])


def test_the_probabilities_that_drew_the_clicks_are_calibrated_and_others_are_not() -> None:
    data = SyntheticClicks(impressions=4_000)
    fold = ByQuery(share=0.5).split(data.load(), "test").fold
    lists = Given().fit(fold.history).retrieve(fold.history, fold.requests, 100)
    assert fold.history.slates is not None
    slates = fold.history.slates
    known = dict(
        zip(
            zip(slates.user[slates.list_of_row].tolist(), slates.item.tolist(), strict=True),
            data.probabilities(),
            strict=True,
        )
    )
    p = np.array(
        [known[pair] for pair in zip(lists.user[lists.list_of_row].tolist(), lists.item.tolist(), strict=True)]
    )
    assert lists.n_lists == 2_000

    def figures(of: np.ndarray) -> dict[str, float]:
        found = Ctr(by=["position"]).evaluate(lists, lists.reorder(of), fold)
        return {name.removeprefix("end_to_end/"): value for name, value in found.scalars.items()}

    right, double = figures(p), figures(np.minimum(2 * p, 1))
    assert right["calibration_error"] <= right["calibration_error_by_chance"]
    assert right["calibration_ratio_low"] < 1 < right["calibration_ratio_high"]
    assert right["normalised_entropy_high"] < 1
    assert double["calibration_error"] > 5 * double["calibration_error_by_chance"]
    assert double["calibration_ratio"] == pytest.approx(2, abs=0.25)
    assert double["logloss"] > right["logloss"]


def test_a_run_reports_and_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["tracker=console", "dataset.impressions=1500", "evaluator.by=[position,x1]"]
    result = recx.run(["+experiment=ctr", *words])
    assert result.report is not None
    figures = result.metrics
    assert figures["end_to_end/users"] == figures["num_queries"] == figures["data/requests"] == 300
    assert figures["data/users_without_target"] > 50
    assert figures["data/targets"] == result.tables["calibration"]["clicks"].sum()
    assert figures["end_to_end/auc_pooled_low"] > 0.5
    [folder] = tmp_path.glob("outputs/2*/*")
    for name in ("roc_curve", "pr_curve", "calibration"):
        assert (folder / "figures" / f"{name}.svg").is_file()
    by_position = pd.read_csv(folder / "tables" / "calibration_by_position.csv")
    assert by_position["position"].tolist() == list(range(1, 11))
    assert by_position["rows"].tolist() == [300] * 10
    by_feature = pd.read_csv(folder / "tables" / "calibration_by_x1.csv")
    assert by_feature["rows"].tolist() == [300] * 10
    assert pd.read_parquet(folder / "per_user.parquet")["end_to_end/information_gain_of_user"].notna().all()
    assert "normalised_entropy" in (folder / "protocol.json").read_text()


def test_scores_that_are_known_to_be_no_probabilities_are_refused_before_any_data_is_read() -> None:
    def check(*words: str) -> None:
        check_probabilities(experiment(plain(compose(["+experiment=ctr", *words]))))

    with pytest.raises(
        InputError, match="evaluator=ctr needs probabilities, and the scores of Linear are none: choose"
    ):
        check("ranker=linear")
    for words in (["ranker=linear", "ranker.loss=logistic"], ["ranker=linear", "ranker.probabilities=platt"], []):
        check(*words)
