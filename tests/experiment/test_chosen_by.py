"""What a sweep's best run keeps of the trial by which it was chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.fold_names import is_of_valid
from recx.experiment.chosen_by import ChosenBy
from recx.experiment.saved_runs import FIGURES, SavedRun


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    folder = tmp_path / "3"
    folder.mkdir()
    for name in FIGURES:
        (folder / name).write_text("fold: valid\n", encoding="utf-8")
    figures = {"valid/end_to_end/ndcg_at_5": 0.25, "valid/ranking/auc": None, "time/load": 3.0, "data/users": 7}
    (folder / "metrics.json").write_text(json.dumps(figures), encoding="utf-8")
    return folder


def test_figures_of_quality_carry_the_name_of_their_fold(trial: Path) -> None:
    figures = dict(ChosenBy(trial).figures)
    assert figures.pop("valid/ranking/auc") != 0  # NaN
    assert figures == {"valid/end_to_end/ndcg_at_5": 0.25}


def test_the_files_of_the_trial_are_copied_and_read_like_those_of_a_run(trial: Path, tmp_path: Path) -> None:
    ChosenBy(trial).copy_to(tmp_path)
    assert {path.name for path in (tmp_path / "valid").iterdir()} == set(FIGURES)
    assert SavedRun(tmp_path / "valid").metrics["end_to_end/ndcg_at_5"] == 0.25


def test_a_link_is_not_followed(trial: Path, tmp_path: Path) -> None:
    (trial / "config.yaml").unlink()
    (trial / "config.yaml").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match=r"config.yaml is a link"):
        ChosenBy(trial).copy_to(tmp_path)


@pytest.mark.parametrize(
    ("figures", "of_valid"),
    [
        (("valid/end_to_end/mrr", "time/total"), True),
        (("end_to_end/mrr", "time/total"), False),
        (("end_to_end/mrr", "valid/end_to_end/mrr"), False),  # the best run of a sweep
        (("time/total",), False),
        ((), False),
    ],
)
def test_the_fold_of_figures(figures: tuple[str, ...], of_valid: bool) -> None:
    assert is_of_valid(figures) is of_valid
