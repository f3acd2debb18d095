"""Training epoch by epoch, with a model whose quality after each epoch is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.pruning import FirstFit, Pruned, noted, watched
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.shared.epochs import Epochs
from recx.parts.shared.training import After, trained
from recx.testing import tiny_world

WORLD = tiny_world(times=False)
NDCG = "walk/valid_ndcg_at_10"
QUALITY = (1, 3, 2, 4, 4, 3, 2, 5, 1, 1)
"""The share of ten users who get their item, after each epoch."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Gives the first ``share`` of the asking users their held-back item and the others nothing."""

    share: int

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        length = (np.arange(len(requests)) < self.share).astype(np.int64)
        users = requests.user[length > 0]
        item = WORLD.item[WORLD.indptr[users + 1] - 1]
        return RankedLists(
            requests.user, np.concatenate([[0], np.cumsum(length)]), item, np.ones(len(item), dtype=np.float32)
        )


@dataclass
class Walk:
    """Counts its epochs; a model that ``forgets`` cannot be restored in the middle."""

    events: int
    forgets: bool = False
    state: Array = field(default_factory=lambda: np.zeros(1))
    taken: list[int] = field(default_factory=list)

    def train(self, done: int, epochs: int, after: After) -> None:
        if self.forgets:
            self.state[:] = 0
        for epoch in range(0 if self.forgets else done, epochs):
            assert self.state[0] == epoch
            self.state += 1
            self.taken.append(epoch + 1)
            if epoch >= done and not after({"loss": 1 / (epoch + 1)}):
                return

    def fitted(self) -> Shares:
        return Shares(QUALITY[int(self.state[0]) - 1])

    def arrays(self) -> dict[str, Array]:
        return {"state": self.state}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.state = arrays["state"].copy()


def walk(of: Epochs, epochs: int = 10, forgets: bool = False) -> tuple[Walk, FitSummary]:
    return trained(of, "walk", epochs, WORLD, lambda history: Walk(len(history), forgets))


def test_without_validation_all_epochs_are_trained_on_the_whole_history() -> None:
    learner, summary = walk(Epochs(), 4)
    assert (learner.events, learner.taken) == (len(WORLD), [1, 2, 3, 4])
    assert summary.curves == {"walk/loss": [1, 1 / 2, 1 / 3, 1 / 4]}
    assert summary.notes == {}


def test_the_best_epoch_is_chosen_and_refitted() -> None:
    with noted() as steps:
        learner, summary = walk(Epochs(validation_users=10, patience=3))
    assert learner.events == len(WORLD)
    assert learner.taken == [1, 2, 3, 4]  # the first of two equally good epochs; three later ones were no better
    assert summary.curves[NDCG] == [share / 10 for share in QUALITY[:7]]
    assert summary.curves["walk/loss"] == [1 / epoch for epoch in range(1, 8)]
    assert summary.curves["walk/refit_loss"] == [1 / epoch for epoch in range(1, 5)]
    assert summary.notes == {"walk_epochs": 4, "walk_validation_users": 10}
    assert steps == list(enumerate(summary.curves[NDCG], start=1))


def test_more_patience_finds_the_later_epoch() -> None:
    _, summary = walk(Epochs(validation_users=10, patience=4))
    assert summary.notes["walk_epochs"] == 8


def test_without_a_refit_the_best_state_is_kept() -> None:
    learner, summary = walk(Epochs(validation_users=10, patience=3, refit_all=False))
    assert learner.events < len(WORLD)
    assert learner.taken == [1, 2, 3, 4, 5, 6, 7]
    assert learner.state[0] == 4
    assert "walk/refit_loss" not in summary.curves
    assert summary.notes["walk_epochs"] == 4


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves by a second whenever it is read."""

    def seconds() -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += 1.0

    ticks = seconds()
    own = SimpleNamespace(monotonic=lambda: next(ticks))  # other threads go on by the real one
    monkeypatch.setattr("recx.parts.shared.training.time", own)


@pytest.mark.usefixtures("clock")
def test_the_time_limit_ends_the_training_after_an_epoch() -> None:
    learner, summary = walk(Epochs(time_limit="3s"))
    assert learner.taken == [1, 2, 3]
    assert summary.notes == {"walk_epochs": 3, "walk_ended_by_time_limit": 1}


@pytest.mark.usefixtures("clock")
def test_the_refit_of_a_limited_choice_has_the_best_number_of_epochs() -> None:
    learner, summary = walk(Epochs(time_limit="3s", validation_users=10))
    assert len(summary.curves[NDCG]) == 3
    assert learner.taken == [1, 2]
    assert summary.notes == {"walk_epochs": 2, "walk_validation_users": 10, "walk_ended_by_time_limit": 1}


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    learner, summary = walk(Epochs(time_limit="1h"), 4)
    assert learner.taken == [1, 2, 3, 4]
    assert summary.notes["walk_ended_by_time_limit"] == 0


def test_only_what_depends_on_the_machine_is_not_cached() -> None:
    assert Epochs().cacheable
    assert not Epochs(time_limit="1h").cacheable


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("refit_all", [True, False])
@pytest.mark.parametrize("killed", [1, 5, 8, 10])
def test_a_resumed_training_ends_as_an_uninterrupted_one(
    killed: int, refit_all: bool, forgets: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Epochs(validation_users=10, patience=3, refit_all=refit_all, checkpoint_minutes=1e-9)
    whole, expected = walk(of, forgets=forgets)
    of = replace(of, checkpoints=str(tmp_path), resume=True)
    fitted, asked = Walk.arrays, 0

    def dying(self: Walk) -> dict[str, Array]:
        nonlocal asked
        asked += 1
        if asked > killed:
            raise KeyboardInterrupt
        return fitted(self)

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "arrays", dying)
        with pytest.raises(KeyboardInterrupt):
            walk(of, forgets=forgets)
    for _ in range(2):  # from the checkpoint, then from the result
        with noted() as steps:
            learner, summary = walk(of, forgets=forgets)
        assert learner.state == whole.state
        assert summary.curves == expected.curves
        assert summary.notes == expected.notes
        assert [value for _, value in steps] == expected.curves[NDCG]
    assert learner.taken == []
    assert [file.name.endswith(".done.npz") for file in tmp_path.iterdir()] == [True]


def test_resuming_needs_a_folder() -> None:
    with pytest.raises(InputError, match=r"retriever\.resume=true: it must be false without retriever\.checkpoints"):
        walk(Epochs(resume=True))


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    of = Epochs(checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with pytest.raises(KeyboardInterrupt), watched(interrupted):
        walk(replace(of, validation_users=10))
    with pytest.raises(InputError, match="validation_users 10 there, 0 here"):
        walk(replace(of, resume=True))


def interrupted(step: int, value: float) -> None:
    if step == 3:
        raise KeyboardInterrupt


def test_a_pruned_training_leaves_no_checkpoint(tmp_path: Path) -> None:
    of = Epochs(validation_users=10, checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with watched(FirstFit(lambda course: len(course) == 3)), pytest.raises(Pruned, match="epoch 3"):
        walk(of)
    assert list(tmp_path.iterdir()) == []
