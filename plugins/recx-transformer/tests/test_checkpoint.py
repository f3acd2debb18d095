"""A resumed training ends with the weights of an uninterrupted one; checkpoints of other trainings are rejected."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from recx_transformer.checkpoint import DONE, RUNNING, Keeper, Saved
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
    assert file.name.endswith(RUNNING)
    again = small(**settings, resume=True).fit(WORLD)
    assert same_weights(whole, again)
    assert whole.summary.curves == again.summary.curves
    [file] = tmp_path.glob("*")
    assert file.name.endswith(DONE)
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


def test_only_the_newest_outcomes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recx_transformer.checkpoint.KEPT", 2)
    for number in range(4):
        Keeper(tmp_path, {"number": number}, 1.0).finish(Saved({}, {"a": torch.zeros(1)}))
    assert len(list(tmp_path.glob("*"))) == 2
    assert Keeper(tmp_path, {"number": 3}, 1.0).resumed() is not None
    assert Keeper(tmp_path, {"number": 0}, 1.0).resumed() is None


WRITER = """
import sys, torch
from pathlib import Path
from recx_transformer.checkpoint import Keeper, Saved
keeper, number = Keeper(Path(sys.argv[1]), {"a": 1}, 1.0), 0
while True:
    number += 1
    keeper.save(Saved({"epoch": number}, {"x": torch.full((2_000_000,), float(number))}))
    print(number, flush=True)
"""


def test_a_kill_in_the_middle_of_a_checkpoint_leaves_the_one_before(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    written = 0
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".*.part")) or written < 2:  # until it is in the middle of one
        if written < 2:
            written = int(writer.stdout.readline())
        assert time.monotonic() < deadline
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate()[0].split()
    written = max([written, *map(int, rest)])
    saved = Keeper(tmp_path, {"a": 1}, 1.0).resumed()
    assert saved is not None
    assert saved.course["epoch"] in (written, written + 1)  # renamed, perhaps, but not yet reported
    assert (saved.tensors["x"] == saved.course["epoch"]).all()
