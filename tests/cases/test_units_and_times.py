"""Times of public data sets, through the doors: each is read as the moment that it means, or one sentence names both
readings and the setting that decides.

The inputs are those of public reports (days written as numbers, frames of any unit, microseconds, dates with UTC
behind) and relatives of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recx
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.evaluation.evaluator import Evaluator
from recx.experiment.advice import advice
from recx.experiment.doctor import examine
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.news import News
from recx.parts.dataset.table import Table
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.popularity import Popularity
from recx.parts.split.leave_last import LeaveLast
from recx.storage.readers.times import TIME_UNITS, TimeUnit
from recx.testing import check_dataset, tiny_world

DAY = 86_400_000
NOON = 1_498_910_400_000  # 2017-07-01T12:00:00Z in ms
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EACH = {"s": 1_000_000, "ms": 1_000, "us": 1}  # microseconds


def table(path: Path, times: list[Any], unit: str = "ms", **settings: Any) -> Interactions:
    """Return the events of user 1 at these times, with the items 0, 1, 2 …, from a CSV."""
    rows = "".join(f'1,{item},"{time}"\n' for item, time in enumerate(times))
    (path / "log.csv").write_text(f"user,item,t\n{rows}")
    return Table(str(path / "log.csv"), time="t", time_unit=unit, **settings).load()


def parquet(path: Path, times: pa.Array, unit: str = "ms", **settings: Any) -> Interactions:
    n = len(times)
    pq.write_table(pa.table({"user": [1] * n, "item": range(n), "t": times}), path / "log.parquet")
    return Table(str(path / "log.parquet"), time="t", time_unit=unit, **settings).load()


def times_of(events: Interactions) -> list[int]:
    assert events.time is not None
    return events.time.tolist()


AT_NOON = [
    ("2017-07-01 12:00:00 UTC", "iso"),
    ("2017-07-01 12:00:00.000 UTC", "iso"),
    ("2017-07-01T12:00:00Z", "iso"),
    ("2017-07-01T12:00:00,000Z", "iso"),
    ("2017-07-01 12:00:00 Z", "iso"),
    ("2017-07-01 12:00:00 GMT", "iso"),
    ("2017-07-01T14:00:00+02:00", "iso"),
    ("2017-07-01 14:00:00 +0200", "iso"),
    ("2017-07-01 14:00:00+02", "iso"),
    ("2017-07-01 14:00:00 UTC+2", "iso"),
    ("2017-07-01 06:30:00 -05:30", "iso"),
    ("2017-07-01 12:00:00 +0000 UTC", "iso"),
    ("2017-07-01T14:00:00+02:00[Europe/Berlin]", "iso"),
    ("2017-07-01 12:00", "iso"),
    ("2017/07/01 12:00:00", "iso"),
    ("2017/7/1 12:00", "iso"),
    ("2017.07.01 12:00:00", "iso"),
    ("2017-07-01 12:00:00 PM", "iso"),
    ("20170701T120000Z", "iso"),
    ("20170701120000", "iso"),
    ("201707011200", "iso"),
    ("2017070112", "iso"),
    ("20170701 120000", "iso"),
    ("Sat, 01 Jul 2017 12:00:00 GMT", "iso"),
    ("Sat, 1 Jul 2017 14:00:00 +0200 (CEST)", "iso"),
    ("Sat Jul 01 12:00:00 +0000 2017", "iso"),
    ("Sat Jul  1 12:00:00 2017", "iso"),
    ("Sat Jul 01 12:00:00 UTC 2017", "iso"),
    ("Sat Jul 01 2017 14:00:00 GMT+0200 (Central European Summer Time)", "iso"),
    ("01/Jul/2017:14:00:00 +0200", "iso"),
    ("1-Jul-2017 12:00", "iso"),
    ("July 1, 2017 12:00 PM", "iso"),
    ("01/07/2017 12:00", "dmy"),
    ("1.7.2017 12:00:00", "dmy"),
    ("07/01/2017 12:00:00 PM", "mdy"),
    ("7/1/17 12:00", "mdy"),
    ("1498910400", "s"),
    (" 1498910400 ", "s"),
    ("1498910400.0", "s"),
    ("1498910400000", "ms"),
    ("1498910400000000", "us"),
    ("1498910400000000000", "ns"),
    ("416364", "h"),
    ("24981840", "m"),
    ("17348.5", "d"),
    ("42917.5", "excel"),
]
"""How a moment is written, and the unit or order that says so."""

AT_MIDNIGHT = ["2017-07-02", "20170702", "2017-07-01T24:00:00", "2017-07-01 24:00:00Z", "2 July 2017", "Jul 2, 2017"]


@pytest.mark.parametrize(("text", "unit"), AT_NOON)
def test_a_moment_is_read_however_it_is_written(tmp_path: Path, text: str, unit: str) -> None:
    assert times_of(table(tmp_path, [text, text], unit)) == [NOON, NOON]
    assert times_of(parquet(tmp_path, pa.array([text]), unit)) == [NOON]


@pytest.mark.parametrize("text", AT_MIDNIGHT)
def test_a_day_begins_at_midnight(tmp_path: Path, text: str) -> None:
    assert times_of(table(tmp_path, [text], "iso")) == [NOON + DAY // 2]


def test_a_year_and_a_month_are_their_first_day(tmp_path: Path) -> None:
    first = [int((datetime(2017, month, 1, tzinfo=UTC) - EPOCH).total_seconds()) * 1_000 for month in (1, 7)]
    assert times_of(table(tmp_path, ["2017", "201707"], "iso")) == first


@pytest.mark.parametrize(
    "times",
    [
        pa.array([NOON], pa.timestamp("ms")),
        pa.array([NOON // 1_000], pa.timestamp("s")),
        pa.array([NOON * 1_000], pa.timestamp("us", "Europe/Berlin")),
        pa.array([NOON * 1_000_000], pa.timestamp("ns", "+05:30")),
        pa.array([NOON], pa.uint64()),
        pa.array([float(NOON)]),
        pa.array([NOON, None]).dictionary_encode().slice(0, 1),
    ],
)
def test_a_parquet_column_of_any_type_is_read(tmp_path: Path, times: pa.Array) -> None:
    assert times_of(parquet(tmp_path, times)) == [NOON]


def test_days_and_decimals_of_parquet_are_exact(tmp_path: Path) -> None:
    assert times_of(parquet(tmp_path, pa.array([17_349], pa.date32()))) == [NOON + DAY // 2]
    seconds = pa.array([NOON // 1_000 + 0.25]).cast(pa.decimal128(20, 6))
    assert times_of(parquet(tmp_path, seconds, "s")) == [NOON + 250]


@pytest.mark.parametrize(
    ("times", "unit", "said"),
    [
        (pa.array([1_498_910_432.0], pa.float32()), "s", r"loses digits from 2\^24 on"),
        (pa.array([1_498_910_400_000_000_128.0]), "ns", r"loses digits from 2\^53 on"),
        (pa.array([float("inf")]), "s", "not finite"),
        (pa.array([timedelta(seconds=1)]), "ms", "dataset.relative_times=true"),
    ],
)
def test_a_parquet_column_that_lost_digits_is_refused(tmp_path: Path, times: pa.Array, unit: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parquet(tmp_path, times, unit)


INSTANT = st.integers(10**15, 2 * 10**15)
"""Microseconds since 1970, from 2001 to 2033."""


def _dated(form: str, zone: timezone = UTC) -> Callable[[datetime], str]:
    return lambda at: at.astimezone(zone).strftime(form)


FORMATS: dict[str, tuple[str, int, Callable[[datetime], str]]] = {
    "iso": ("iso", 1, lambda at: at.isoformat()),
    "utc": ("iso", 1, _dated("%Y-%m-%d %H:%M:%S.%f UTC")),
    "zone": ("iso", 1, _dated("%Y/%m/%d %H:%M:%S.%f %z", timezone(timedelta(hours=-9, minutes=-30)))),
    "digits": ("iso", 1_000_000, _dated("%Y%m%d%H%M%S")),
    "mail": ("iso", 1_000_000, format_datetime),
    "tweet": ("iso", 1_000_000, _dated("%a %b %d %H:%M:%S %z %Y")),
    "log": ("iso", 1_000_000, _dated("%d/%b/%Y:%H:%M:%S %z", timezone(timedelta(hours=5, minutes=45)))),
    "day first": ("dmy", 1, _dated("%d.%m.%Y %I:%M:%S.%f %p")),
    "month first": ("mdy", 60_000_000, _dated("%m/%d/%Y %H:%M")),
    "day": ("iso", DAY * 1_000, _dated("%Y%m%d")),
    "s": ("s", 1_000_000, lambda at: str(_us(at) // 10**6)),
    "decimals": ("s", 1, lambda at: f"{_us(at) // 10**6}.{_us(at) % 10**6:06}"),
    "ms": ("ms", 1_000, lambda at: str(_us(at) // 1_000)),
    "us": ("us", 1, lambda at: str(_us(at))),
    "ns": ("ns", 1, lambda at: f"{_us(at)}000"),
}
"""Name -> unit, the microseconds that it resolves, how it writes a moment."""


def _us(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


@settings(max_examples=60, deadline=None)
@given(instants=st.lists(INSTANT, min_size=2, max_size=8), name=st.sampled_from(sorted(FORMATS)))
def test_a_random_instant_in_every_format_is_the_same_millisecond(
    tmp_path_factory: pytest.TempPathFactory, instants: list[int], name: str
) -> None:
    unit, step, write = FORMATS[name]
    moments = [instant // step * step for instant in instants]
    texts = [write(EPOCH + timedelta(microseconds=moment)) for moment in moments]
    events = table(tmp_path_factory.mktemp("log"), texts, unit, duplicates="keep")
    order = sorted(range(len(moments)), key=lambda row: moments[row])  # stable, as equal times keep the file's order
    assert events.items.ids[events.item].tolist() == order
    assert times_of(events) == [moments[row] // 1_000 for row in order]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.integers(0, 3_000), min_size=2, max_size=12, unique=True),
    unit=st.sampled_from(["us", "ns", "iso", "s"]),
    door=st.sampled_from(["csv", "parquet", "frame"]),
)
def test_the_order_within_a_millisecond_is_that_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], unit: str, door: str
) -> None:
    ticks = [NOON * 1_000 + step for step in steps]
    if door == "frame":
        moments = np.array(ticks).astype("datetime64[us]").astype(f"datetime64[{'ns' if unit == 'ns' else 'us'}]")
        frame = pd.DataFrame({"user": 1, "item": range(len(ticks)), "time": moments})
        events = Interactions.from_frame(frame)
    else:
        texts = {
            "us": ticks,
            "ns": [tick * 1_000 for tick in ticks],
            "iso": [str(np.datetime64(tick, "us")) for tick in ticks],
            "s": [f"{tick // 10**6}.{tick % 10**6:06}" for tick in ticks],
        }[unit]
        folder = tmp_path_factory.mktemp("log")
        floats = [tick / 1e6 for tick in ticks]
        column = pa.array(floats if unit == "s" else texts)
        events = table(folder, texts, unit) if door == "csv" else parquet(folder, column, unit)
    assert events.items.ids[events.item].tolist() == np.argsort(ticks).tolist()
    assert times_of(events) == [tick // 1_000 for tick in sorted(ticks)]


def test_duplicates_are_those_of_the_files_own_resolution(tmp_path: Path) -> None:
    first = 1_500_000_000_000_000
    (tmp_path / "log.csv").write_text(
        f"user,item,time\n1,10,{first + 900}\n1,11,{first + 500}\n1,10,{first + 100}\n1,11,{first + 500}\n"
    )
    events = Table(str(tmp_path / "log.csv"), time="time", time_unit="us").load()
    assert events.items.ids[events.item].tolist() == [10, 11, 10]
    assert events.notes == {"duplicate_rows": 1, "tied_last_events": 0}
    findings = {one.name: one.count for one in examine(events, LeaveLast().split(events, "test"), [])}
    assert (findings["users_with_tied_last_events"], findings["duplicate_rows"]) == (0, 0)  # in ms all three are equal


def test_shuffled_microseconds_give_the_figures_of_sorted_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (user, f"last{user % 5}" if n == 5 else f"i{rng.integers(40)}", (1_500_000_000 + user * 10) * 10**6 + n * 100)
        for user in range(200)
        for n in range(6)
    ]
    figures = []
    for order in (np.arange(1_200), rng.permutation(1_200)):
        lines = "".join(f"{user},{item},{time}\n" for user, item, time in (rows[row] for row in order))
        (tmp_path / "log.csv").write_text(f"user,item,time\n{lines}")
        data = Table(str(tmp_path / "log.csv"), time="time", time_unit="us")
        figures.append(hit(data, seen="keep"))
    assert figures == [0, 0]  # the targets are items that nobody clicked before them


def hit(dataset: Any, seen: str = "keep", window: str | None = None) -> float:
    evaluator = Evaluator(retrieval=["recall_at_3"], ranking=[], end_to_end=["hit_at_3"])
    retriever = Popularity(window=window, seen=seen)
    chain = recx.Experiment(dataset, LeaveLast(), retriever, Identity(), evaluator, n_candidates=3)
    return chain.run().metrics["end_to_end/hit_at_3"]


@dataclass
class Frame:
    """A dataset as a user would write it."""

    frame: pd.DataFrame
    relative_times: bool = False

    def load(self) -> Interactions:
        return Interactions.from_frame(self.frame, relative_times=self.relative_times)


def log_by_day() -> pd.DataFrame:
    """Return a log of which the last two days are about other items than the rest: a window of 3 days sees those."""
    first = np.datetime64("2017-07-01")
    old = [(user, f"old{(user + day) % 3}", first + day) for user in range(40) for day in range(0, 45, 5)]
    hot = [(user, f"hot{(user + day) % 3}", first + day) for user in range(40) for day in (57, 58)]
    return pd.DataFrame(old + hot, columns=["user", "item", "time"])


def test_frames_of_any_unit_are_read_or_refused() -> None:
    frame = log_by_day()
    seconds = frame.time.astype("datetime64[s]").astype("int64")
    assert hit(Frame(frame), window="3d") == 1
    assert hit(Frame(frame.assign(time=seconds * 1_000)), window="3d") == 1
    for zone in ("UTC", "Asia/Tokyo"):
        assert hit(Frame(frame.assign(time=frame.time.dt.tz_localize(zone))), window="3d") == 1
    assert hit(Frame(frame.assign(time=(seconds * 1_000).astype("Int64"))), window="3d") == 1
    assert hit(Frame(frame.assign(time=frame.time.astype("timestamp[us][pyarrow]"))), window="3d") == 1
    for wrong, unit in ((seconds, "s"), (seconds * 10**6, "us"), (seconds * 10**9, "ns")):
        with pytest.raises(InputError, match=rf"count {unit}, not ms .*unit='{unit}'.* relative_times=True"):
            Frame(frame.assign(time=wrong)).load()
        assert hit(Frame(frame.assign(time=pd.to_datetime(wrong, unit=unit))), window="3d") == 1  # as it advises
    days = frame.time.dt.strftime("%Y%m%d").astype(int)
    with pytest.raises(
        InputError, match=r"such as 20170701 are dates written as numbers, or count ms and mean 1970-01-"
    ):
        Frame(frame.assign(time=days)).load()
    assert hit(Frame(frame.assign(time=pd.to_datetime(days.astype(str)))), window="3d") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"time": [NOON, NOON // 1_000]},
            r"1498910400 in row 2 counts s where the others count ms, as .* in row 1 does",
        ),
        ({"time": [NOON, -1]}, "row 2: the time -1 lies before 1970"),
        ({"time": pd.array([NOON, None], "Int64")}, "row 2: the time is missing"),
        ({"time": pd.to_datetime(["2017-07-01", None])}, "row 2: the time is missing"),
        ({"time": ["2017-07-01", "2017-07-02"]}, "must hold whole milliseconds, or dates, .*pd.to_datetime"),
        ({"time": np.array([1, 2], "timedelta64[s]")}, "relative_times=True"),
        ({"time": np.array([NOON, NOON], "float32")}, "is a float32, which loses digits"),
        ({"time": [NOON, NOON + 0.5]}, "row 2: 1498910400000.5 is not a whole number of milliseconds"),
        ({"time": [NOON / 1_000, NOON / 1_000 + 0.25]}, r"count s, not ms .*unit='s'"),
        ({"time": [20170701.0, 20170702.0]}, r"dates written as numbers.*astype\('int64'\).astype\(str\)"),
        ({"time": np.array([2**63, NOON], "uint64")}, "row 1: 9223372036854775808 is too large for a time"),
        ({"timestamp": [NOON, NOON]}, "have a column 'timestamp'"),
        ({"weight": [1, np.nan]}, "column 'weight', row 2: it is missing or infinite"),
    ],
)
def test_a_frame_that_cannot_be_used_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Interactions.from_frame(pd.DataFrame({"user": [1, 1], "item": [1, 2], **change}))


@pytest.mark.parametrize(
    "times",
    [
        pd.Series([NOON, NOON + DAY], dtype=object),
        pd.Series([NOON, NOON + DAY], dtype="float64"),
        pd.Series([NOON, NOON + DAY]).astype("category"),
        pd.Series([datetime(2017, 7, 1, 12), datetime(2017, 7, 2, 12)], dtype=object),
        pd.Series([datetime(2017, 7, 1, 12), datetime(2017, 7, 2, 12, tzinfo=UTC)], dtype=object),
        pd.Series([pd.Timestamp("2017-07-01 14:00", tz="Europe/Berlin"), pd.Timestamp("2017-07-02 12:00")]),
        pd.Series(pd.to_datetime(["2017-07-01 12:00", "2017-07-02 12:00"])).astype("category"),
    ],
    ids=["objects", "floats", "categories", "datetimes", "a zone on one", "two zones", "dates as categories"],
)
def test_a_column_of_objects_floats_or_categories_is_read_as_what_it_holds(times: pd.Series[Any]) -> None:
    events = Interactions.from_frame(pd.DataFrame({"user": 1, "item": [1, 2], "time": times}))
    assert times_of(events) == [NOON, NOON + DAY]


def test_days_without_a_time_in_a_frame_begin_at_midnight() -> None:
    days = pd.Series([date(2017, 7, 1), date(2017, 7, 2)], dtype=object)
    events = Interactions.from_frame(pd.DataFrame({"user": 1, "item": [1, 2], "time": days}))
    assert times_of(events) == [NOON - DAY // 2, NOON + DAY // 2]


def test_what_is_advised_for_seconds_of_floats_and_for_days_gives_the_moments() -> None:
    frame = pd.DataFrame({"user": 1, "item": [1, 2], "time": [NOON / 1_000, NOON / 1_000 + 0.25]})
    events = Interactions.from_frame(frame.assign(time=pd.to_datetime(frame["time"], unit="s")))
    assert times_of(events) == [NOON, NOON + 250]
    frame["time"] = [20170701.0, 20170702.0]
    events = Interactions.from_frame(frame.assign(time=pd.to_datetime(frame["time"].astype("int64").astype(str))))
    assert times_of(events) == [NOON - DAY // 2, NOON + DAY // 2]


@pytest.mark.parametrize("times", [[-1, 5], pd.to_timedelta([-1, 5], unit="h")])
def test_relative_times_before_0_are_refused_in_a_frame_as_in_a_file(times: Any) -> None:
    frame = pd.DataFrame({"user": 1, "item": [1, 2], "time": times})
    with pytest.raises(InputError, match=r"row 1: the time -1.* lies before 0: add the same number to all"):
        Interactions.from_frame(frame, relative_times=True)


JULY = MIDNIGHT = NOON - DAY // 2  # 2017-07-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "unit", "time"),
    [
        ("2017-07", "iso", JULY),
        ("2017/7", "iso", JULY),
        ("07/2017", "iso", JULY),
        ("July 2017", "iso", JULY),
        ("201707", "iso", JULY),
        ("20170701.0", "iso", MIDNIGHT),
        ("201707.0", "iso", JULY),
        ("01-JUL-17", "dmy", MIDNIGHT),
        ("1-Jul-17 12:00", "dmy", NOON),
        ("Sat Jul 01 05:00:00 PDT 2017", "iso", NOON),
        ("Sat Jul 01 14:00:00 CEST 2017", "iso", NOON),
        ("2017-07-01 07:00:00 EST", "iso", NOON),
        ("2017-07-01 21:00 JST", "iso", NOON),
        ("20170701T120000Z", "iso", NOON),
        ("20170701Z", "iso", MIDNIGHT),
    ],
)
def test_months_zones_by_name_and_days_that_were_floats_are_moments(
    tmp_path: Path, text: str, unit: str, time: int
) -> None:
    assert times_of(table(tmp_path, [text], unit)) == [time]


@pytest.mark.parametrize(
    ("text", "unit", "time"),
    [
        ("01/07/2017", "dmy", MIDNIGHT),
        ("1/7/17", "dmy", MIDNIGHT),
        ("2017", "iso", 1_483_228_800_000),
        ("3", "d", 3 * DAY),
    ],
)
def test_a_unit_that_is_set_decides_for_a_column_called_time(
    tmp_path: Path, text: str, unit: TimeUnit, time: int
) -> None:
    (tmp_path / "log.csv").write_text(f"user,item,time\n1,1,{text}\n")
    assert times_of(Table(str(tmp_path / "log.csv"), time_unit=unit).load()) == [time]


def test_durations_of_a_column_called_time_are_read_if_they_are_said_to_be_relative(tmp_path: Path) -> None:
    times = pa.array([timedelta(hours=1), timedelta(hours=2)])
    pq.write_table(pa.table({"user": [1, 1], "item": [1, 2], "time": times}), tmp_path / "log.parquet")
    events = Table(str(tmp_path / "log.parquet"), relative_times=True).load()
    assert times_of(events) == [DAY // 24, DAY // 12]


def test_a_frame_in_place_of_a_dataset_is_named() -> None:
    with pytest.raises(InputError, match=r"the dataset is a DataFrame and has no method load\(\): .*from_frame"):
        hit(log_by_day())


def test_days_as_numbers_are_read_as_such_or_refused(tmp_path: Path) -> None:
    frame = log_by_day()
    frame.assign(time=frame.time.dt.strftime("%Y%m%d")).to_csv(tmp_path / "log.csv", index=False)
    for unit in ("s", "ms", "us", "ns", "d"):
        with pytest.raises(InputError, match=r"20170701 are dates written as numbers, or count .*time_unit=iso, or"):
            Table(str(tmp_path / "log.csv"), time="time", time_unit=unit).load()
    data = Table(str(tmp_path / "log.csv"), time="time", time_unit="iso")
    assert hit(data, window="3d") == 1
    assert times_of(parquet(tmp_path, pa.array([20170701, 20170702]), "iso")) == [NOON - DAY // 2, NOON + DAY // 2]


@pytest.mark.parametrize("text", ["20170701123000", "20170701123000123", "201707011230", "2017", "201707"])
def test_other_dates_as_numbers_count_no_unit(tmp_path: Path, text: str) -> None:
    for unit in ("s", "ms", "us", "ns"):
        with pytest.raises(InputError, match="are dates written as numbers, or count"):
            table(tmp_path, [text, text], unit)
    table(tmp_path, [text, text], "iso")
    assert times_of(table(tmp_path, [text], "us", relative_times=True)) == [int(text) // 1_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(("one", "other"), [("s", "ms"), ("ms", "us"), ("s", "us")])
def test_two_units_in_one_file_are_refused_with_a_row_of_each(tmp_path: Path, unit: str, one: str, other: str) -> None:
    times = [NOON * 1_000 // EACH[one]] * 5 + [NOON * 1_000 // EACH[other]] * 5
    with pytest.raises(InputError) as error:
        table(tmp_path, times, unit)
    said = str(error.value)
    assert f"{times[0]} in row 1" in said
    assert f"{times[5]} in row 6" in said
    assert {f"counts {one} ", f"counts {other} "} & set(re.findall(r"counts \w+ ", said))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["01/07/2017", "02/07/2017"], r"'01/07/2017' is 2017-07-01 if the day stands first, 2017-01-07 if the month"),
        (["01/07/17"], "a year of two digits"),
        (["01-JUL-17"], "a year of two digits"),
        (["2017-182"], "is not a date"),
        (["201700"], "is not a date|holds numbers"),
        (["13/01/2017", "01/13/2017"], r"in '13/01/2017' the day stands first, in '01/13/2017' the month"),
        (["2017-07-01", "2017-02-30"], r"row 2: '2017-02-30' is not a date"),
        (["2017-07-01 12:00 CST"], "is not a date such as .*: write its zone as an offset, such as"),
        (["2017-07-01 12:00 Europe/Berlin"], "is not a date such as .*: write its zone as an offset, such as"),
        (["now"], "is not a date"),
        (["0000-00-00 00:00:00"], "is not a date"),
        (["2017-07-01 25:00:00"], "is not a date"),
        (["2017-07-01 13:00 PM"], "is not a date"),
        (["1898-07-01"], "lies before 1970"),
    ],
)
def test_dates_that_mean_nothing_or_two_things_are_refused(tmp_path: Path, texts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said) if "'" in said else said):
        table(tmp_path, texts, "iso")


def test_one_date_of_a_column_tells_the_day_from_the_month(tmp_path: Path) -> None:
    assert times_of(table(tmp_path, ["01/07/2017 12:00", "13/07/2017 12:00"], "iso")) == [NOON, NOON + 12 * DAY]
    assert times_of(table(tmp_path, ["07/01/2017 12:00", "07/13/2017 12:00"], "iso")) == [NOON, NOON + 12 * DAY]


@pytest.mark.parametrize("text", ["1.49891E+12", "1.5e12", "1e12"])
def test_rounded_numbers_of_a_spreadsheet_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="is rounded, so that its last digits are lost"):
        table(tmp_path, [text])


WAY_OUT = re.compile(r"dataset\.(time_unit|relative_times)=(\w+)")
START_DATES = ["0", "1", "2", "5", "500000000", "900000000", "20170701", "20170702", "2016", "2017", "43101", "43102.5"]
CLOCKS = {
    **{text: [text, text] for text, _ in AT_NOON},
    **{f"clock {first}": [first, str(float(first) + 1).removesuffix(".0")] for first in START_DATES},
    "day or month": ["01/07/2017", "03/07/2017"],
    "short year": ["01/07/17", "03/07/17"],
    "tens of days in ms": [str(10**8 * n + n * n) for n in range(5, 15)],
}


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("unit", ["ms", "s", "iso"])
def test_every_advice_that_is_followed_ends(tmp_path: Path, name: str, unit: str) -> None:
    def follow(settings: dict[str, Any], depth: int) -> None:
        assert depth < 5, f"the advice on {name} comes back: {settings}"
        found = []
        try:
            table(tmp_path, CLOCKS[name], **settings)
        except InputError as error:
            found = WAY_OUT.findall(str(error).split(": set ")[-1]) or [("none", str(error))]
        for setting, value in found:
            if "is too large for a time in" in value:
                continue  # no setting makes a time of it
            assert setting != "none", f"no way out of {value}"
            change = {"unit": value} if setting == "time_unit" else {"relative_times": True}
            follow(settings | change, depth + 1)

    follow({"unit": unit}, 0)


def test_nearly_all_files_are_read_or_name_the_unit_that_reads_them(tmp_path: Path) -> None:
    read, advised = 0, 0
    for text, unit in AT_NOON:
        assert times_of(table(tmp_path, [text], unit)) == [NOON]
        read += 1
        try:
            table(tmp_path, [text], "iso")
        except InputError as error:
            advised += f"dataset.time_unit={unit}" in str(error)
        else:
            advised += 1
    assert read == len(AT_NOON)
    assert advised / len(AT_NOON) > 0.95  # a count of hours, minutes or days from 1970 looks like any number


CLOCK = [3, 0, 10, 7]


@pytest.mark.parametrize(("unit", "size"), [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", DAY)])
def test_a_relative_clock_counts_the_unit_that_is_named(tmp_path: Path, unit: str, size: int) -> None:
    events = table(tmp_path, CLOCK, unit, relative_times=True)
    assert times_of(events) == [0, 3 * size, 7 * size, 10 * size]
    assert events.notes["relative_times"] == 4
    assert events.items.ids[events.item].tolist() == [1, 0, 3, 2]
    assert times_of(table(tmp_path, CLOCK, unit)) == times_of(events)  # which is said, until it is declared


def test_windows_of_a_relative_clock_are_those_of_dates(tmp_path: Path) -> None:
    frame = log_by_day()
    day = (frame.time - frame.time.min()).dt.days
    for unit, each in (("d", 1), ("h", 24), ("s", 86_400), ("ms", DAY)):
        frame.assign(time=day * each).to_csv(tmp_path / "log.csv", index=False)
        data = Table(str(tmp_path / "log.csv"), time="time", time_unit=unit, relative_times=True)
        assert hit(data, window="3d") == 1
        assert hit(data, window="60d") == 0  # of old items
    assert hit(Frame(frame.assign(time=day * DAY), relative_times=True), window="3d") == 1
    assert hit(Frame(frame.assign(time=frame.time - frame.time.min()), relative_times=True), window="3d") == 1


def test_a_relative_clock_needs_a_unit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"relative_times=true: .* would count iso from a start of its own: set "):
        table(tmp_path, ["5"], "iso", relative_times=True)
    with pytest.raises(InputError, match="lies before 0: add the same number to all"):
        table(tmp_path, ["-5"], "s", relative_times=True)


def test_the_doctor_and_a_run_ask_about_a_clock_until_it_is_declared(tmp_path: Path) -> None:
    rows = [(user, item, 600 * item + user) for user in range(30) for item in range(4)]
    pd.DataFrame(rows, columns=["user", "item", "t"]).to_csv(tmp_path / "log.csv", index=False)
    for unit in ("ms", "s"):
        events = Table(str(tmp_path / "log.csv"), time="t", time_unit=unit).load()
        findings = {one.name: one for one in examine(events, LeaveLast().split(events, "test"), [])}
        assert "dataset.relative_times=true" in findings["times_before_1990"].why
        assert events.notes["undated_times"] == 120
        said = advice({"num_queries": 500, "data/undated_times": 120, "data/events": 120})
        assert [text for text in said if "dataset.relative_times=true" in text]
        told = Table(str(tmp_path / "log.csv"), time="t", time_unit=unit, relative_times=True).load()
        names = [one.name for one in examine(told, LeaveLast().split(told, "test"), [])]
        assert not [name for name in names if name.startswith("times_")]
        assert "undated_times" not in told.notes


@dataclass
class Own:
    """A dataset that makes Interactions itself."""

    change: Callable[[Any], Any]
    notes: dict[str, float]

    def load(self) -> Interactions:
        world = tiny_world()
        table = {name: column for name, column in world.items.table.items() if name != "created_at"}
        items = Entities(world.items.ids, table, world.items.embedding)
        return Interactions(
            world.indptr, world.item, self.change(world.time), world.weight, world.users, items, notes=self.notes
        )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda time: time // 1_000, "count s, not ms"),
        (lambda time: time * 1_000, "count us, not ms"),
        (lambda time: time * 1_000_000, "count ns, not ms"),
        (lambda time: time * 0 + 20_170_701, "are dates written as numbers"),
    ],
)
def test_a_dataset_of_a_users_own_in_another_unit_is_refused(change: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"the times of the dataset: .*{said}.*'relative_times': 1 to the notes"):
        hit(Own(change, {}))
    with pytest.raises(AssertionError, match=said):
        check_dataset(Own(change, {}))
    check_dataset(Own(change, {"relative_times": 1}))
    assert 0 <= hit(Own(change, {"relative_times": 1})) <= 1


def _movielens(folder: Path, times: list[str], unit: TimeUnit) -> Interactions:
    (folder / "u.data").write_text("".join(f"1\t{item}\t4\t{time}\n" for item, time in enumerate(times)))
    return MovieLens(str(folder / "u.data"), time_unit=unit).load()


def _news(folder: Path, times: list[str], unit: TimeUnit) -> Interactions:
    rows = "".join(f"1,{item},{time}\n" for item, time in enumerate(times))
    (folder / "train_click_log.csv").write_text(f"user_id,click_article_id,click_timestamp\n{rows}")
    articles = "".join(f"{item},0,{time},9\n" for item, time in enumerate(times))
    (folder / "articles.csv").write_text(f"article_id,category_id,created_at_ts,words_count\n{articles}")
    return News(str(folder), time_unit=unit).load()


@pytest.mark.parametrize("door", [_movielens, _news])
def test_the_other_doors_read_the_same(tmp_path: Path, door: Callable[[Path, list[str], Any], Interactions]) -> None:
    for text, unit in (("2017-07-01 12:00:00 UTC", "iso"), ("1498910400", "s"), ("1498910400000", "ms")):
        assert times_of(door(tmp_path, [text, text], unit)) == [NOON, NOON]
    fine = [str(NOON * 1_000 + step) for step in (900, 100, 500)]
    events = door(tmp_path, fine, "us")
    assert events.items.ids[events.item].tolist() == [1, 2, 0]
    assert times_of(events) == [NOON] * 3
    with pytest.raises(InputError, match="are dates written as numbers"):
        door(tmp_path, ["20170701", "20170702"], "s")


def test_each_unit_is_one_that_a_setting_takes() -> None:
    assert set(TIME_UNITS) == {"d", "h", "m", "s", "ms", "us", "ns", "iso", "dmy", "mdy", "excel"}
