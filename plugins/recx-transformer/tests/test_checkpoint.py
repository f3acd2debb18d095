"""A resumed training ends with the weights of an uninterrupted one; checkpoints of other trainings are rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from recx_transformer.circle import circle, small
from recx_transformer.fitted import FittedTransformer
from recx_transformer.learner import Learner

from recx.plugin import InputError

WORLD = circle(60, 8)


class KilledError(Exception):
    pass


def killed_after(steps: int, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Train until a number of steps, of both phases together, and die in the next one."""
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
            small(**settings).fit(WORLD)


def same_weights(one: FittedTransformer, other: FittedTransformer) -> bool:
    theirs = other.network.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in one.network.state_dict().items())


@pytest.mark.parametrize("refit_all", [True, False])
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_resuming_ends_with_the_weights_of_an_uninterrupted_run(
    steps: int, refit_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"epochs": 3, "batch_size": 128, "validation_users": 10, "refit_all": refit_all}
    whole = small(**settings).fit(WORLD)
    # A checkpoint after every step, so that one is in the middle of an epoch.
    settings |= {"checkpoints": str(tmp_path), "checkpoint_minutes": 1e-9}
    killed_after(steps, monkeypatch, **settings)
    [file] = tmp_path.glob("*")
    assert file.name.endswith(".running.npz")
    again = small(**settings, resume=True).fit(WORLD)
    assert same_weights(whole, again)
    assert whole.summary.curves == again.summary.curves
    [file] = tmp_path.glob("*")
    assert file.name.endswith(".done.npz")
    repeated = small(**settings, resume=True).fit(WORLD)  # from the outcome, without a step
    assert same_weights(whole, repeated)


def test_steps_that_were_learned_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"epochs": 2, "validation_users": 0, "checkpoints": str(tmp_path), "batch_size": 128}
    killed_after(4, monkeypatch, **settings, checkpoint_minutes=1e-9)
    taken = 0
    step = Learner.step

    def counting(self: Learner, *arguments: Any) -> torch.Tensor:
        nonlocal taken
        taken += 1
        return step(self, *arguments)

    monkeypatch.setattr(Learner, "step", counting)
    small(**settings, checkpoint_minutes=1e-9, resume=True).fit(WORLD)
    assert taken == 2 * 4 - 4  # 420 lessons in rows of 64, two rows a step: four steps an epoch


def test_another_training_is_refused_with_the_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after(3, monkeypatch, checkpoints=str(tmp_path), epochs=3)
    with pytest.raises(InputError, match="factors 32 there, 16 here"):
        small(checkpoints=str(tmp_path), epochs=3, factors=16, resume=True).fit(WORLD)
    with pytest.raises(InputError, match=r"data\.events 480 there, 488 here"):
        small(checkpoints=str(tmp_path), epochs=3, resume=True).fit(circle(61, 8))
    small(checkpoints=str(tmp_path), epochs=1, factors=16).fit(WORLD)  # without resume it starts anew


def test_settings_that_change_no_weight_are_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after(3, monkeypatch, checkpoints=str(tmp_path), epochs=2)
    again = small(checkpoints=str(tmp_path), epochs=2, checkpoint_minutes=1.0, resume=True).fit(WORLD)
    assert same_weights(again, small(epochs=2).fit(WORLD))


def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after(3, monkeypatch, checkpoints=str(tmp_path), epochs=2)
    [file] = tmp_path.glob("*")
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        small(checkpoints=str(tmp_path), epochs=2, resume=True).fit(WORLD)
