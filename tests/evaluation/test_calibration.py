"""A run with a calibrating ranker reports the quality of its probabilities, before and after, on held-out users."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss, roc_auc_score

import recx
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation import calibration


def past_of(targets: dict[int, int]) -> Fold:
    """A fold of three users and four items with one target a user."""
    indptr = indptr_of(np.array([user in targets for user in range(3)]))
    item = np.array(list(targets.values()), dtype=np.int32)
    events = Interactions(
        indptr, item, None, np.full(len(item), 0.5, np.float32), Entities(np.arange(3)), Entities(np.arange(4))
    )
    return Fold(events.keep(np.zeros(len(item), dtype=bool)), events, Requests(np.array(list(targets), dtype=np.int32)))


def test_figures_by_hand() -> None:
    # User 0: 0.8 for the target, 0.4 for another; user 2: 0.6 for another, 0.3 for the target.
    # Targets 0.8, 0.3; others 0.4, 0.6: of four pairs two are in order. A target of any grade counts.
    lists = RankedLists(
        user=np.array([0, 2], dtype=np.int32),
        indptr=np.array([0, 2, 4]),
        item=np.array([1, 2, 3, 0], dtype=np.int32),
        score=np.array([0.8, 0.4, 0.6, 0.3], dtype=np.float32),
    )
    held_out = calibration.judged({"before": lists}, past_of({0: 1, 1: 1, 2: 0}))
    assert calibration.figures(held_out) == {
        "calibration/auc_before": 0.5,
        "calibration/logloss_before": pytest.approx(-np.log([0.8, 0.6, 0.4, 0.3]).mean(), abs=1e-6),
    }
    table = calibration.tables(held_out)["reliability_before"]
    assert table["rows"].sum() == 4


def test_a_ranker_that_sets_nobody_apart_has_none() -> None:
    held_out = calibration.judged({}, past_of({0: 1}))
    assert calibration.figures(held_out) == calibration.tables(held_out) == {}


def test_a_run_writes_what_its_ranker_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["tracker=console", "dataset.readers=300", "dataset.articles=100", "ranker.probabilities=platt"]
    result = recx.run(["+experiment=news", *words, "evaluator.end_to_end=[logloss,ndcg_at_5]"])
    [folder] = tmp_path.glob("outputs/2*/*")
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["num_queries"] == metrics["end_to_end/users"]
    for name, weight in result.weights.items():
        assert metrics[f"weight/{name}"] == pytest.approx(weight)
        assert metrics[f"weight_low/{name}"] <= weight <= metrics[f"weight_high/{name}"]
    assert metrics["calibration/auc_before"] > 0.5
    assert {"calibration/auc_after", "calibration/logloss_before", "calibration/logloss_after"} <= metrics.keys()
    assert metrics["end_to_end/logloss"] < 0.5  # what goes out are probabilities
    for name in ("weights", "reliability_before", "reliability_after"):
        assert (folder / "figures" / f"{name}.svg").read_text().startswith("<svg ")
    with (folder / "tables" / "weights.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["feature"]: float(row["weight"]) for row in rows} == pytest.approx(result.weights)
    assert result.curves["linear/loss"][-1] < result.curves["linear/loss"][0]
    assert (folder / "model" / "model.json").is_file()


def test_figures_and_bins_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.permutation(4) for _ in range(3)]).astype(np.int32)
    score = np.sort(rng.random((3, 4)).astype(np.float32))[:, ::-1].ravel()
    lists = RankedLists(np.arange(3, dtype=np.int32), np.array([0, 4, 8, 12]), item, score)
    targets = {0: 2, 1: 0, 2: 3}
    relevant = item == np.repeat(list(targets.values()), 4)
    held_out = calibration.judged({"after": lists}, past_of(targets))
    assert calibration.figures(held_out) == {
        "calibration/auc_after": pytest.approx(roc_auc_score(relevant, score)),
        "calibration/logloss_after": pytest.approx(log_loss(relevant, score.astype(np.float64))),
    }
    table = calibration.tables(held_out)["reliability_after"]
    observed, predicted = calibration_curve(relevant, score, n_bins=10)
    assert table["observed"][table["rows"] > 0] == pytest.approx(observed)
    assert table["mean_predicted"][table["rows"] > 0] == pytest.approx(predicted)
