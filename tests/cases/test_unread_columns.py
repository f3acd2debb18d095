"""Kind 3 of issue 15 in logs: columns that say otherwise than a default."""

from __future__ import annotations

from collections.abc import Callable
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


SECONDS = 881_250_949 + 977 * np.arange(40)[::-1] ** 2  # 1997, the latest row first
TIMES = ["time", "timestamp", "ts", "date", "datetime", "Time", "TIMESTAMP"]
DATES = pd.to_datetime(SECONDS, unit="s")


def table(path: Path, **columns: object) -> str:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"user": np.arange(40) % 4, "item": rng.integers(0, 9, 40), **columns})
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    "name",
    [*TIMES, "event_time", "eventTime", "created_at", "timestamp:float", "unix_time", "click_timestamp", "event date"],
)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "iso", "day", "parquet"])
def test_a_column_that_says_that_it_holds_the_times_is_read(tmp_path: Path, name: str, unit: str) -> None:
    texts = {"iso": DATES.strftime("%Y-%m-%dT%H:%M:%SZ"), "day": DATES.strftime("%Y-%m-%d"), "parquet": DATES}
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    values = texts[unit] if unit in texts else SECONDS * ticks[unit]
    path = table(tmp_path / ("log.parquet" if unit == "parquet" else "log.csv"), **{name: values})
    events = Table(path, duplicates="keep").load()
    assert events.time is not None
    assert sorted(events.time) == sorted((SECONDS // 86_400 * 86_400 if unit == "day" else SECONDS) * 1000)
    assert (np.diff(events.time)[np.diff(events.user) == 0] >= 0).all()
    assert Table(path, time=None).load().time is None


def test_numbers_that_are_no_dates_still_order_the_events(tmp_path: Path) -> None:
    path = table(tmp_path / "log.csv", time=40 - np.arange(40))
    assert Table(path).load().time.min() == 1  # type: ignore[union-attr]
    assert Table(path, time_unit="s").load().time.min() == 1000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"time": SECONDS, "timestamp": SECONDS * 1000}, "the column 'time' or 'timestamp' could hold the times"),
        ({"eventdate": DATES.strftime("%Y-%m-%d"), "timeframe": np.arange(40)}, "'eventdate' or 'timeframe'"),
        ({"release_date": DATES.strftime("%Y-%m-%d")}, "the column 'release_date' could hold the times"),
        ({"date": np.arange(40) % 3 + 1999}, "the column 'date' could hold the times"),
        ({"time": np.arange(40) % 3 + 201704}, "the column 'time' could hold the times"),
        ({"time": ["morning"] * 40}, "the column 'time' could hold the times: set dataset.time to .*dataset.time=null"),
    ],
)
def test_times_of_which_it_is_not_clear_are_refused_and_a_setting_decides(
    tmp_path: Path, columns: dict[str, object], said: str
) -> None:
    path = table(tmp_path / "log.csv", **columns)
    with pytest.raises(InputError, match=said):
        Table(path).load()
    assert Table(path, time=None).load().time is None


@pytest.mark.parametrize("name", ["watch_time", "play time", "price", "candidate", "updates"])
def test_other_columns_are_not_taken_for_times(tmp_path: Path, name: str) -> None:
    assert Table(table(tmp_path / "log.csv", **{name: np.arange(40)})).load().time is None


@pytest.mark.parametrize("name", ["label", "Click", "clicked", "is_click", "liked", "weight", "relevance"])
@pytest.mark.parametrize("unchosen", [0, -1])
def test_a_column_that_says_what_was_chosen_is_read(tmp_path: Path, name: str, unchosen: int) -> None:
    frame = log([(u, i, w or unchosen) for u, i, w in SHOWN]).rename(columns={"weight": name})
    frame.to_csv(tmp_path / "log.csv", index=False)
    events = Table(str(tmp_path / "log.csv")).load()
    assert pairs(events) == [(u, i) for u, i, _ in CLICKS]
    assert events.notes["rows_of_weight_0"] == len(CLICKS)
    assert len(Table(str(tmp_path / "log.csv"), weight=None).load()) == len(SHOWN)


@pytest.mark.parametrize("columns", [{"rating": [0, 5]}, {"score": [-3.5, 2]}, {"label": [0, 3]}, {"stars": [0, 1]}])
def test_numbers_of_0_that_may_mean_something_else_are_refused(tmp_path: Path, columns: dict[str, list[float]]) -> None:
    path = table(tmp_path / "log.csv", **{name: values * 20 for name, values in columns.items()})
    name = next(iter(columns))
    with pytest.raises(InputError, match=f"column '{name}' is .* in row 1, .*: set dataset.weight={name}, .*=null, so"):
        Table(path).load()
    assert len(Table(path, weight=None).load()) == 40
    assert len(Table(path, weight=name).load()) == 20


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_true_and_false_is_refused(tmp_path: Path, ending: str) -> None:
    path = table(tmp_path / f"log.{ending}", is_click=[True, False] * 20)
    with pytest.raises(
        InputError, match=r"column 'is_click' holds 'false' and 'true', .* or by 1 and 0 in the file, or set .*=null"
    ):
        Table(path).load()
    assert len(Table(path, weight=None).load()) == 40
    assert len(Table(table(tmp_path / f"named.{ending}", label=["new", "old"] * 20)).load()) == 40


def test_a_rating_that_is_not_read_is_said(tmp_path: Path) -> None:
    path = table(tmp_path / "log.csv", rating=[1, 5, 3, 4] * 10, label=1)
    events = Table(path).load()
    assert events.weight.tolist() == [1] * 40
    assert events.notes["rows_with_unread_weight"] == 40
    assert "rows_with_unread_weight" not in Table(path, weight=None).load().notes
    assert "rows_with_unread_weight" not in Table(path, weight="rating").load().notes


def test_the_cases(tmp_path: Path, shared_data: Callable[[str], Path]) -> None:
    """Public cases 03 and 08: the same events as with the settings that name the columns."""
    ratings = pd.read_csv(shared_data("ml-100k/ml-100k.inter.gz"), sep="\t")
    ratings = ratings.set_axis(["user", "item", "rating", "time"], axis=1)
    ratings = ratings.astype({"time": "int64"})
    ratings[ratings["user"] < 200].to_csv(tmp_path / "log.csv", index=False)
    found = Table(str(tmp_path / "log.csv")).load()
    named = Table(str(tmp_path / "log.csv"), time="time", time_unit="s", weight=None).load()
    assert found.item.tolist() == named.item.tolist()
    assert found.time.tolist() == named.time.tolist()  # type: ignore[union-attr]
