"""What is kept of a trial outlives the process, and what is damaged or gone is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.jobs.sweep.journal import FILE, Trial, TrialJournal, description_of

OVERRIDES = ("ranker=linear", "ranker.l2=0.1")


def trial(
    folder: Path, number: int = 0, overrides: tuple[str, ...] = OVERRIDES, objective: float | None = 0.5
) -> Trial:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.json").write_text("{}")
    return Trial(number, overrides, str(folder), 1.5, objective, 3, "" if objective is not None else "it broke")


def test_a_trial_that_is_done_is_found_by_its_number_and_overrides(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "trials")
    assert journal.done(0, OVERRIDES) is None
    written = trial(tmp_path / "0")
    journal.write(written)
    assert journal.done(0, list(OVERRIDES)) == written
    assert journal.done(0, OVERRIDES[::-1]) is None
    assert journal.done(0, (*OVERRIDES, "seed=1")) is None


def test_one_that_failed_is_not_done_but_listed(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "trials")
    failed = trial(tmp_path / "0", objective=None)
    journal.write(failed)
    assert journal.done(0, OVERRIDES) is None
    assert journal.trials() == [failed]


def test_trials_stand_in_their_order(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "trials")
    for number in (10, 2, 0):
        journal.write(trial(tmp_path / str(number), number, (f"seed={number}",)))
    assert [trial.number for trial in journal.trials()] == [0, 2, 10]


def test_a_trial_takes_the_place_of_another_of_its_number(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "trials")
    journal.write(trial(tmp_path / "0", overrides=("l2=1",), objective=0.9))
    journal.write(trial(tmp_path / "0", overrides=("l2=2",), objective=0.1))
    assert [one.overrides for one in journal.trials()] == [("l2=2",)]
    assert journal.done(0, ("l2=1",)) is None


def test_one_whose_files_are_gone_is_not_done(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "trials")
    journal.write(trial(tmp_path / "0"))
    (tmp_path / "0" / "metrics.json").unlink()
    assert journal.done(0, OVERRIDES) is None


WHOLE = '{"number": 0, "folder": "0", "words": ["a=1"], "course": {}'


def test_the_smallest_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_text(WHOLE + "}")
    assert TrialJournal(tmp_path).trials() == [Trial(0, ("a=1",), "0")]


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "{}", '{"words": 3}', '{"words": ["a"], "colour": "red"}'),
        *(WHOLE + more for more in (', "objective": "high"}', ', "objective": NaN}', ', "number": "x"}')),
        *(WHOLE + more for more in (', "words": "a=1"}', ', "words": [1]}', ', "course": {"1": "a"}}')),
    ],
)
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str) -> None:
    journal = TrialJournal(tmp_path / "trials")
    journal.write(trial(tmp_path / "0"))
    [file] = (tmp_path / "trials").iterdir()
    file.write_text(content)
    assert journal.done(0, OVERRIDES) is None
    assert journal.trials() == []


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"id": "x"}', '{"id": "x", "words": 3}'])
def test_a_damaged_description_is_named(tmp_path: Path, content: str) -> None:
    assert description_of(tmp_path) == {}
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match=r"sweep\.json is damaged .*: choose another sweep_id"):
        description_of(tmp_path)
