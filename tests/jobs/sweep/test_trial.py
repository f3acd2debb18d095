"""A trial that a pruner ends: its outcome, what its sweeper is told, and the same table when it is taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recx.config import factory
from recx.core.pruning import reached
from recx.core.run_context import RunContext
from recx.core.system.own_folder import OwnFolder
from recx.jobs import launch
from recx.jobs.sweep.journal import Trial, TrialJournal
from recx.jobs.sweep.trial import TrialRunner, axes_of

VALUES = {"a": [0.3, 0.4, 0.5], "b": [0.2, 0.3, 0.4], "c": [0.4, 0.1, 0.9], "d": [0.5, 0.5, 0.2], "e": [0.1, 0.2, 0.3]}


class BehindAll:
    """Ends a trial that is behind every other at its second epoch."""

    def prune(self, course: Mapping[int, float], others: Any) -> bool:
        return max(course) == 2 and bool(others) and all(course[2] < other[2] for other in others)


@dataclass(frozen=True)
class Ran:
    metrics: Mapping[str, float]


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a trial be three epochs, twice, and its objective what the third reached."""

    def run(config: Mapping[str, Any], own: OwnFolder, *, trial: bool, context: RunContext) -> Ran:
        if config["values"] is None:
            raise ValueError("it broke")
        for part in (1, 2):  # a retriever is fitted twice
            for epoch, value in enumerate(config["values"], start=1):
                reached(epoch, value / part)
        own.begin()
        (own.path / "metrics.json").write_text("{}")
        own.seal()
        return Ran({"o": config["values"][-1], "data/cache_hits": 2.0})

    monkeypatch.setattr(launch, "launch", run)
    monkeypatch.setattr(factory, "build", lambda config, key: BehindAll())


def runner(folder: Path, number: int, name: str, *, whole: bool = False) -> TrialRunner:
    return TrialRunner(number, [f"x={name}"], folder / str(number), TrialJournal(folder / "trials"), whole=whole)


def run(folder: Path, number: int, name: str, pruner: str | None = "some", *, whole: bool = False) -> Trial:
    config = {"values": VALUES.get(name), "pruner": pruner, "objective": "o"}
    return runner(folder, number, name, whole=whole).run(lambda: config)


def without_costs(trial: Trial) -> dict[str, Any]:
    return {**vars(trial), "seconds": 0.0, "memory": 0, "folder": ""}


def test_the_first_fit_is_written_down_and_a_trial_behind_ends(tmp_path: Path) -> None:
    trials = [run(tmp_path, number, name) for number, name in enumerate("abcd")]
    assert [(trial.objective, trial.pruned) for trial in trials] == [(0.5, None), (None, 2), (None, 2), (0.2, None)]
    assert trials[1].course == {1: 0.2, 2: 0.3}
    assert trials[3].course == {1: 0.5, 2: 0.5, 3: 0.2}
    assert [trial.missing for trial in trials] == ["", "pruned at epoch 2", "pruned at epoch 2", ""]
    assert [trial.cached for trial in trials] == [2, 0, 0, 2]
    assert not any(trial.reason for trial in trials)
    assert TrialJournal(tmp_path / "trials").trials() == trials


def test_a_pruned_one_is_not_run_again_and_a_failed_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate("abf"):
        run(tmp_path, number, name)
    monkeypatch.setitem(VALUES, "f", [0.9, 0.9, 0.9])
    monkeypatch.setitem(VALUES, "b", [0.9, 0.9, 0.9])
    assert run(tmp_path, 1, "b").pruned == 2
    assert run(tmp_path, 2, "f").objective == 0.9


def test_trials_that_were_pruned_failed_or_came_later_are_not_compared_with(tmp_path: Path) -> None:
    undisturbed = [run(tmp_path / "whole", number, name) for number, name in enumerate("abcde")]
    for number, name in ((0, "a"), (1, "f"), (4, "d"), (2, "b")):
        run(tmp_path / "other", number, name)
    trial = run(tmp_path / "other", 3, "c")  # of the others only "a" is done and earlier
    assert trial.pruned == 2
    for missing in range(5):  # a sweep that is killed and taken up again is the same, whichever trial is missing
        for file in (tmp_path / "whole" / "trials").glob("*.json"):
            if f'"number": {missing},' in file.read_text():
                file.unlink()
        again = run(tmp_path / "whole", missing, "abcde"[missing])
        assert without_costs(again) == without_costs(undisturbed[missing])


def test_the_sweeper_gets_the_lowest_earlier_objective_of_a_pruned_trial(tmp_path: Path) -> None:
    for number, name in enumerate("adbf"):
        run(tmp_path, number, name)
    told = [
        runner(tmp_path, number, name).reported(trial)
        for (number, name), trial in zip(enumerate("adbf"), TrialJournal(tmp_path / "trials").trials(), strict=True)
    ]
    assert told == [0.5, 0.2, 0.2, None]


def test_without_a_pruner_and_for_the_best_on_test_nothing_ends(tmp_path: Path) -> None:
    run(tmp_path, 0, "a")
    assert run(tmp_path, 1, "b", None).objective == 0.4
    assert run(tmp_path, 2, "e", whole=True).objective == 0.3


def test_the_course_outlives_the_process(tmp_path: Path) -> None:
    written = run(tmp_path, 0, "a")
    assert TrialJournal(tmp_path / "trials").done(0, ["x=a"]) == written


@pytest.mark.parametrize(
    ("overrides", "varied", "name"),
    [
        (["+experiment=news", "ranker.l2=0.1", "seed=1"], ["ranker.l2"], "ranker.l2=0.1"),
        (["seed=1", "+ranker.note=a"], ["ranker.note", "seed"], "seed=1 +ranker.note=a"),
        (["+experiment=news", "~feature.age"], ["without"], "~feature.age"),
        (["+experiment=news"], ["without"], "nothing left out"),
        (["+experiment=news"], [], ""),
    ],
)
def test_a_trial_is_named_after_what_its_sweep_varies(overrides: list[str], varied: list[str], name: str) -> None:
    assert axes_of(overrides, varied) == name
