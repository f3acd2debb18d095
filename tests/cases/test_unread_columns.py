"""Kind 3 of issue 15 in logs: columns that say otherwise than a default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.cli import main
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.table import Table

CLICKS = [(u, i, 1) for u in range(30) for i in ("a", "b", f"c{u % 7}")]
SHOWN = [(u, i, w) for u, i, w in CLICKS for i, w in ((i, w), ("never", 0))]


def log(rows: list[tuple[int, str, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["user", "item", "weight"])
    return frame.assign(time=1_500_000_000_000 + 7_001 * np.arange(len(frame)) ** 2)


def pairs(events: Interactions) -> list[tuple[int, str]]:
    return list(zip(events.users.ids[events.user].tolist(), events.items.ids[events.item].tolist(), strict=True))


@pytest.mark.parametrize("unchosen", [0, -1, 0.0, -0.5])
def test_what_was_shown_and_not_chosen_is_no_event(tmp_path: Path, unchosen: float) -> None:
    shown = log([(u, i, w or unchosen) for u, i, w in SHOWN])
    shown.to_csv(tmp_path / "log.csv", index=False)
    settings = {"weight": "weight", "time": "time"}
    for events in (Table(str(tmp_path / "log.csv"), **settings).load(), Interactions.from_frame(shown)):  # type: ignore[arg-type]
        assert pairs(events) == [(u, i) for u, i, _ in CLICKS]
        assert "never" not in events.items.ids
        assert events.weight.tolist() == [1] * len(CLICKS)
        assert events.notes["rows_of_weight_0"] == len(CLICKS)
    whole = Table(str(tmp_path / "log.csv"), weight=None, time="time").load()
    assert len(whole) == len(SHOWN)


def test_ratings_stay_as_they_are_and_those_of_0_are_counted(tmp_path: Path) -> None:
    rated = log([(u, i, 1 + u % 5) for u, i, _ in CLICKS])
    events = Interactions.from_frame(rated)
    assert events.weight.tolist() == [float(1 + u % 5) for u, _, _ in CLICKS]
    assert "rows_of_weight_0" not in events.notes
    (tmp_path / "u.data").write_text("1\t10\t0\t881250949\n1\t11\t3\t881250950\n2\t10\t5\t881250951\n")
    ratings = MovieLens(str(tmp_path / "u.data")).load()
    assert (ratings.weight.tolist(), ratings.notes["rows_of_weight_0"]) == ([3, 5], 1)


def test_weights_of_which_none_is_an_event_or_one_is_missing_are_refused() -> None:
    with pytest.raises(InputError, match="no row has a weight above 0"):
        Interactions.from_frame(log(CLICKS).assign(weight=0))
    for odd in (np.nan, np.inf):
        with pytest.raises(InputError, match="column 'weight', row 2: it is missing or infinite"):
            Interactions.from_frame(log(CLICKS).assign(weight=[1, odd, *[1] * (len(CLICKS) - 2)]))


def recx(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr("sys.argv", ["recx", *words])
    assert main.main() == 0
    return " ".join(capsys.readouterr().out.split())


def test_rows_that_are_no_events_are_said_to_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log(SHOWN).to_csv(tmp_path / "log.csv", index=False)
    words = ("+experiment=table", f"dataset.path={tmp_path / 'log.csv'}", "dataset.weight=weight", "dataset.time=time")
    shown = recx(monkeypatch, capsys, "doctor", *words)
    assert "rows of weight 0" in shown.replace("_", " ")
    assert "were shown, but not chosen, and are left out" in shown
