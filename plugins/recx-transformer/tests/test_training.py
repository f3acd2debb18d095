"""A training goes on in the middle of an epoch, and ends as if it had never been interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recx_transformer.retriever
import torch
from recx_transformer.circle import circle, small, small_bert
from recx_transformer.learner import Learner
from recx_transformer.settings import Settings

import recx
from recx.plugin import InputError
from recx.testing import check_training

WORLD = circle(60, 8)
SHORT: dict[str, Any] = {"factors": 8, "epochs": 2, "batch_size": 128, "validation_users": 10}
STEPS = 4  # of an epoch of the whole world: 420 lessons in rows of 64, two rows a step


@pytest.mark.parametrize("part", [small(**SHORT), small_bert(**SHORT)], ids=lambda part: part.option)
def test_it_fulfils_the_contract_of_a_part_that_trains(part: Settings) -> None:
    check_training(part, WORLD)


class KilledError(Exception):
    pass


def killed_after(steps: int, part: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train until a number of steps, of all phases together, and die in the next one."""
    step, done = Learner.step, 0

    def dying(self: Learner, *arguments: Any) -> torch.Tensor:
        nonlocal done
        if done == steps:
            raise KilledError
        done += 1
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "step", dying)
        with pytest.raises(KilledError):
            part.fit(WORLD)


def test_steps_that_were_learned_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**SHORT, "validation_users": 0, "checkpoints": str(tmp_path), "checkpoint_minutes": 1e-9}
    killed_after(STEPS + 3, small(**settings), monkeypatch)
    taken = 0
    step = Learner.step

    def counting(self: Learner, *arguments: Any) -> torch.Tensor:
        nonlocal taken
        taken += 1
        return step(self, *arguments)

    monkeypatch.setattr(Learner, "step", counting)
    again = small(**settings, resume=True).fit(WORLD)
    assert taken == 1
    whole = small(**{**SHORT, "validation_users": 0}).fit(WORLD)
    assert again.summary.curves == whole.summary.curves
    [done] = tmp_path.iterdir()
    with np.load(done) as arrays:  # the weights alone
        assert set(arrays.files) == {"recx", *(f"weight/{name}" for name, _ in whole.network.named_parameters())}
    theirs = whole.network.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in again.network.state_dict().items())


def test_the_checkpoint_of_another_processor_or_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**SHORT, "checkpoints": str(tmp_path), "checkpoint_minutes": 1e-9, "precision": "float32"}
    killed_after(2, small(**settings), monkeypatch)
    with pytest.raises(InputError, match="part transformer there, bert4rec here"):
        small_bert(**settings, resume=True).fit(WORLD)
    monkeypatch.setattr(recx_transformer.retriever, "processor", lambda device: "another")
    with pytest.raises(InputError, match=r"depends_on .*cpu.* there, \['another', 'torch.float32'\] here"):
        small(**settings, resume=True).fit(WORLD)


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
        curve = "pruning/reached" if run in pruned else "valid/transformer/valid_ndcg_at_10"
        assert len(client.get_metric_history(run.info.run_id, curve)) == (2 if run in pruned else 3)
