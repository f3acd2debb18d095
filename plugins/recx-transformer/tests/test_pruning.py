"""The network reports every epoch's validation, so that a sweep can end a trial that is behind the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from recx_transformer.circle import circle, small

import recx
from recx.plugin import Pruned
from recx.testing import FirstFit, noted, watched

NDCG = "transformer/valid_ndcg_at_10"


def test_every_epoch_of_the_choice_is_reported_and_none_of_the_refit() -> None:
    with noted() as steps:
        fitted = small(epochs=3).fit(circle(60, 8))
    assert steps == list(enumerate(fitted.summary.curves[NDCG], start=1))
    assert len(steps) == 3
    assert "transformer/refit_loss" in fitted.summary.curves


def test_without_validation_nothing_is_reported() -> None:
    with noted() as steps:
        small(epochs=2, validation_users=0).fit(circle(60, 8))
    assert steps == []


def test_a_fit_that_is_pruned_leaves_no_checkpoint(tmp_path: Path) -> None:
    settings = small(epochs=4, checkpoints=str(tmp_path))
    with watched(FirstFit(lambda course: len(course) == 2)), pytest.raises(Pruned, match="epoch 2"):
        settings.fit(circle(60, 8))
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_is_resumed_reports_its_earlier_epochs_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with noted() as whole:
        small(epochs=4).fit(circle(60, 8))

    def killed(step: int, value: float) -> None:
        if step == 2:
            raise KeyboardInterrupt

    settings = small(epochs=4, checkpoints=str(tmp_path), resume=True)
    with watched(killed), pytest.raises(KeyboardInterrupt):
        settings.fit(circle(60, 8))
    for _ in range(2):  # from the checkpoint, then from what the training left when it was done
        with noted() as steps:
            settings.fit(circle(60, 8))
        assert steps == whole


@pytest.mark.slow
def test_a_trial_behind_the_others_is_ended_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    world = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "fold=valid"]
    network = {"factors": 8, "epochs": 3, "warmup": 0, "recent": "[]", "batch_size": 32, "validation_users": 40}
    parts = ["retriever=transformer", "ranker=identity", "feature=basic", "runtime.threads=1"]
    strict = ["pruner=median", "pruner.startup_trials=2", "pruner.percentile=1"]  # only the best goes on
    settings = [f"retriever.{key}={value}" for key, value in network.items()]
    words = [*world, *parts, *strict, *settings, "retriever.learning_rate=0.05,1e-10,1e-11,0.02"]
    monkeypatch.chdir(tmp_path)
    table = recx.sweep(words)
    ended = table["reason"] == "pruned at epoch 2"
    assert ended.any()
    assert (table["objective"].isna() == ended).all()

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/outputs/mlflow.db")
    runs = client.search_runs(["1"])
    assert {run.info.status for run in runs} == {"FINISHED"}
    trials = [run for run in runs if run.info.run_name.startswith("retriever.")]
    pruned = [run for run in trials if run.data.tags.get("recx.pruned") == "pruned at epoch 2"]
    assert (len(trials), len(pruned)) == (4, ended.sum())
    for run in trials:
        curve = "pruning/reached" if run in pruned else f"valid/{NDCG}"
        assert len(client.get_metric_history(run.info.run_id, curve)) == (2 if run in pruned else 3)
