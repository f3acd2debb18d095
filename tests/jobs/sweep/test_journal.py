"""What is kept of a trial outlives the process, and what is damaged or gone is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.jobs.sweep.journal import Trial, TrialJournal

WORDS = ("ranker=linear", "ranker.l2=0.1")


def trial(folder: Path, number: int = 0, words: tuple[str, ...] = WORDS, objective: float | None = 0.5) -> Trial:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.json").write_text("{}")
    return Trial(number, words, str(folder), 1.5, objective, 3, "" if objective is not None else "it broke")


def test_a_trial_that_is_done_is_found_by_its_number_and_words(tmp_path: Path) -> None:
    book = TrialJournal(tmp_path / "trials")
    assert book.done(0, WORDS) is None
    written = trial(tmp_path / "0")
    book.write(written)
    assert book.done(0, list(WORDS)) == written
    assert book.done(0, WORDS[::-1]) is None
    assert book.done(0, (*WORDS, "seed=1")) is None


def test_one_that_failed_is_not_done_but_listed(tmp_path: Path) -> None:
    book = TrialJournal(tmp_path / "trials")
    failed = trial(tmp_path / "0", objective=None)
    book.write(failed)
    assert book.done(0, WORDS) is None
    assert book.trials() == [failed]


def test_trials_stand_in_their_order(tmp_path: Path) -> None:
    book = TrialJournal(tmp_path / "trials")
    for number in (10, 2, 0):
        book.write(trial(tmp_path / str(number), number, (f"seed={number}",)))
    assert [trial.number for trial in book.trials()] == [0, 2, 10]


def test_a_trial_takes_the_place_of_another_of_its_number(tmp_path: Path) -> None:
    book = TrialJournal(tmp_path / "trials")
    book.write(trial(tmp_path / "0", words=("l2=1",), objective=0.9))
    book.write(trial(tmp_path / "0", words=("l2=2",), objective=0.1))
    assert [one.words for one in book.trials()] == [("l2=2",)]
    assert book.done(0, ("l2=1",)) is None


def test_one_whose_files_are_gone_is_not_done(tmp_path: Path) -> None:
    book = TrialJournal(tmp_path / "trials")
    book.write(trial(tmp_path / "0"))
    (tmp_path / "0" / "metrics.json").unlink()
    assert book.done(0, WORDS) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"words": 3}', '{"words": ["a"], "colour": "red"}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str) -> None:
    book = TrialJournal(tmp_path / "trials")
    book.write(trial(tmp_path / "0"))
    [file] = (tmp_path / "trials").iterdir()
    file.write_text(content)
    assert book.done(0, WORDS) is None
    assert book.trials() == []
