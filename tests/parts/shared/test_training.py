"""Training epoch by epoch, with a model whose quality after each epoch is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from rich.console import Console

from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.progress import shown_on
from recx.core.pruning import FirstFit, Pruned, noted, watched
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.shared.epochs import Epochs
from recx.parts.shared.training import MOMENT, After, trained
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


@dataclass
class Strides(Walk):
    """Takes four strides an epoch, and knows in the middle of one where it is."""

    stride: int = 0
    strides: list[tuple[int, int]] = field(default_factory=list)

    def train(self, done: int, epochs: int, after: After) -> None:
        for epoch in range(done + 1, epochs + 1):
            for stride in range(self.stride + 1, 5):
                self.stride = stride
                self.strides.append((epoch, stride))
                if stride < 4:
                    assert after({"loss": 10 / stride}, within=stride / 4)
            self.state, self.stride = self.state + 1, 0
            if not after({"loss": 1 / epoch}):
                return

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), f"{MOMENT}stride": np.array(self.stride)}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        self.stride = int(arrays.get(f"{MOMENT}stride", np.array(0)))


def walk(of: Epochs, epochs: int = 10, forgets: bool = False) -> tuple[Walk, FitSummary]:
    return trained(of, "walk", epochs, WORLD, lambda history: Walk(len(history), forgets))


def strides(of: Epochs, epochs: int = 10) -> tuple[Strides, FitSummary]:
    return trained(of, "walk", epochs, WORLD, lambda history: Strides(len(history)))


def test_without_validation_all_epochs_are_trained_on_the_whole_history() -> None:
    with noted() as steps:
        learner, summary = walk(Epochs(), 4)
    assert steps == []
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
    again = replace(of, validation_users=10, checkpoint_minutes=1.0, resume=True)  # which changes nothing
    assert walk(again)[1].curves == walk(Epochs(validation_users=10))[1].curves


@pytest.mark.parametrize("refit_all", [True, False])
def test_an_epoch_goes_on_where_it_was_interrupted(refit_all: bool, tmp_path: Path) -> None:
    of = Epochs(validation_users=10, patience=3, refit_all=refit_all, checkpoint_minutes=1e-9)
    _, expected = strides(of)
    assert expected.curves == walk(of)[1].curves  # what is told in the middle of an epoch is in no curve
    of = replace(of, checkpoints=str(tmp_path), resume=True)
    with pytest.raises(KeyboardInterrupt), watched(interrupted):  # before the third epoch has a checkpoint
        strides(of)
    learner, summary = strides(of)
    assert summary.curves == expected.curves
    if refit_all:
        assert learner.strides[0] == (1, 1)
    else:
        assert learner.strides == [(3, 4), *((epoch, stride) for epoch in range(4, 8) for stride in range(1, 5))]
    [done] = tmp_path.iterdir()
    with np.load(done) as arrays:
        assert set(arrays.files) == {"recx", "state"}  # nothing that only further training needs


def test_the_best_state_in_a_checkpoint_has_no_moments(tmp_path: Path) -> None:
    of = Epochs(validation_users=10, patience=3, refit_all=False, checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with pytest.raises(KeyboardInterrupt), watched(interrupted):
        strides(of)
    [running] = tmp_path.iterdir()
    with np.load(running) as arrays:
        assert set(arrays.files) == {"recx", "state", "moment/stride", "best/state"}
        assert arrays["best/state"] == 2


@pytest.mark.usefixtures("clock")
def test_no_epoch_is_ended_by_the_time_limit_before_it_is_over() -> None:
    learner, summary = strides(Epochs(time_limit="3s"))  # each stride takes a second
    assert learner.strides == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert summary.notes == {"walk_epochs": 1, "walk_ended_by_time_limit": 1}


def test_the_progress_tells_the_place_and_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recx.core.progress.EVERY", -1.0)
    output = StringIO()
    with shown_on(Console(file=output, width=200)):
        strides(Epochs(validation_users=10), epochs=2)
    lines = [line.strip() for line in output.getvalue().splitlines()]
    assert lines[2:5] == [
        "choose: 75% of epoch 1 of 2, loss 3.3333",
        "choose: epoch 1 of 2, loss 1.0000, valid ndcg_at_10 0.1000",
        "choose: 25% of epoch 2 of 2, loss 10.0000, valid ndcg_at_10 0.1000",
    ]
    assert lines[-1] == "refit: epoch 2 of 2, loss 0.5000"


@dataclass(frozen=True, kw_only=True)
class OnDevice(Epochs):
    """Settings whose results depend on more than themselves."""

    depends_on: ClassVar[list[Path | str]] = ["cpu"]


def test_a_checkpoint_made_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = OnDevice(validation_users=10, checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with pytest.raises(KeyboardInterrupt), watched(interrupted):
        walk(of)
    monkeypatch.setattr(OnDevice, "depends_on", ["a GPU"])
    with pytest.raises(InputError, match=r"\(depends_on \['cpu'\] there, \['a GPU'\] here\)"):
        walk(replace(of, resume=True))


def interrupted(step: int, value: float) -> None:
    if step == 3:
        raise KeyboardInterrupt


def test_a_pruned_training_leaves_no_checkpoint(tmp_path: Path) -> None:
    of = Epochs(validation_users=10, checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with watched(FirstFit(lambda course: len(course) == 3)), pytest.raises(Pruned, match="epoch 3"):
        walk(of)
    assert list(tmp_path.iterdir()) == []
