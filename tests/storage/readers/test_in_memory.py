"""Data frames are read like files with the same content; what is no table is refused with the way out."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recx.core.errors import InputError
from recx.experiment.protocol_card import data_hash
from recx.parts.dataset.table import Table
from recx.storage.readers.content import content
from recx.storage.readers.in_memory import HeldFrame, arrow_table, held, held_frame, is_in_memory

EVENTS = pd.DataFrame(
    {
        "user": ["ann", "bob", "ann", "eve", "bob"],
        "item": [3, 1, 2, 3, 2],
        "time": pd.to_datetime(["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04", "2024-05-05"]),
    }
)


class Streamed:
    """A table of another library, of which only the stream is known."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Lazy:
    def collect(self) -> pa.Table:
        return pa.table({})


def as_views(frame: pd.DataFrame) -> Streamed:
    """Return a frame as Polars gives it away: views of texts, and categories of views."""
    texts = pa.array(frame["user"]).cast(pa.string_view())
    numbers, words = pd.factorize(frame["user"])
    coded = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.uint32()), pa.array(words).cast(pa.string_view()))
    table = pa.table({"user": coded, "item": pa.array(frame["item"]), "time": pa.array(frame["time"]), "more": texts})
    return Streamed(table)


def loaded(frame: Any, **settings: Any) -> str:
    one = HeldFrame.of(frame, "data")
    with held([one]):
        return data_hash(Table(path=one.name, **settings).load())


def of_file(frame: pd.DataFrame, path: Path, **settings: Any) -> str:
    frame.to_parquet(path, index=False)
    return data_hash(Table(path=str(path), **settings).load())


UNITS = {unit: EVENTS.assign(time=EVENTS["time"].astype(f"datetime64[{unit}]")) for unit in ("s", "ms", "us", "ns")}
SAME: dict[str, Any] = {
    **UNITS,
    "pyarrow": pa.Table.from_pandas(EVENTS),
    "other library": Streamed(pa.Table.from_pandas(EVENTS)),
    "views": as_views(EVENTS),
    "category": EVENTS.astype({"user": "category"}),
    "category with unused words": EVENTS.assign(
        user=pd.Categorical(EVENTS["user"], categories=["zoe", "eve", "bob", "ann"])
    ),
    "category of numbers": EVENTS.astype({"item": "category"}),
    "objects": EVENTS.astype({"user": object}),
    "nullable": EVENTS.astype({"item": "Int64", "user": "string"}),
    "unsigned": EVENTS.astype({"item": np.uint64}),
    "small": EVENTS.astype({"item": np.int8}),
    "decimals": EVENTS.assign(item=EVENTS["item"].map(Decimal)),
    "zone": EVENTS.assign(time=EVENTS["time"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "index": EVENTS.set_index("user"),
    "levels of an index": EVENTS.set_index(["user", "item"]),
    "unnamed index": EVENTS.set_index(pd.Index(list("vwxyz"))),
    "arrow dtypes": EVENTS.convert_dtypes(dtype_backend="pyarrow"),
    "numbers as texts": EVENTS.astype({"item": str}),
}


@pytest.mark.filterwarnings("ignore:Series.values:DeprecationWarning")  # of pandas, where PyArrow reads a time zone
@pytest.mark.parametrize("name", SAME)
def test_a_frame_is_read_like_a_file(name: str, tmp_path: Path) -> None:
    assert loaded(SAME[name]) == of_file(EVENTS, tmp_path / "events.parquet")


def test_the_name_is_the_same_whichever_library_holds_a_frame() -> None:
    kinds = ("pyarrow", "other library", "s", "ns", "category", "objects")
    names = {HeldFrame.of(SAME[kind], "data").name for kind in kinds}
    assert len(names) == 1
    assert names.pop().startswith("data frame in memory, 5 rows, ")
    assert HeldFrame.of(EVENTS[::-1], "data").name not in names


BAD: dict[str, tuple[pd.DataFrame, str]] = {
    "missing id": (
        EVENTS.assign(user=["ann", None, "ann", "eve", "bob"]),
        "column 'user', row 2: the value is missing",
    ),
    "NaN id": (EVENTS.assign(item=[3, np.nan, 2, 3, 2]), "column 'item', row 2: the value is missing"),
    "NA id": (EVENTS.assign(item=pd.array([3, None, 2, 3, 2], "Int64")), "column 'item', row 2: the value is missing"),
    "floats": (EVENTS.astype({"item": float}), "row 1: 3.0 is stored as a decimal number"),
    "no time": (EVENTS.assign(time=pd.NaT), "column 'time'"),
    "other column": (EVENTS.rename(columns={"user": "usr"}), "column 'user' is missing; did you mean 'usr'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_frame_is_refused_like_a_file(name: str, tmp_path: Path) -> None:
    frame, sentence = BAD[name]
    with pytest.raises(InputError) as of_frame:
        loaded(frame, time="time")
    with pytest.raises(InputError) as of_the_file:
        of_file(frame, tmp_path / "events.parquet", time="time")
    assert sentence in str(of_frame.value)
    after = str(of_the_file.value).replace(str(tmp_path / "events.parquet"), "")
    assert str(of_frame.value).replace(HeldFrame.of(frame, "data").name, "") == after


NO_TABLE: dict[str, tuple[Any, str]] = {
    "path": ("clicks.csv", "data is of type str: give a data frame .* a setting"),
    "list": ([1], "data is of type list: give a data frame of pandas, Polars or PyArrow"),
    "lazy": (Lazy(), r"lazy frame, which holds no rows yet: give data\.collect\(\)"),
    "one column": (Streamed(pa.chunked_array([[1]])), "data: it cannot be read .*: give a data frame"),
    "no rows": (EVENTS[:0], "data: the data frame has no rows: give one with at least one"),
    "mixed": (EVENTS.assign(item=pd.Series([1, "b", 2, 3, 4], dtype=object)), "data: the column 'item' .* one type"),
    "periods": (
        EVENTS.assign(time=EVENTS["time"].dt.to_period("D")),
        "the column 'time' .* type period, .*to_timestamp",
    ),
    "intervals": (EVENTS.assign(more=pd.interval_range(0, 5)), "the column 'more' holds values of type interval"),
    "twice": (pd.concat([EVENTS, EVENTS[["item"]]], axis=1), "data: column 'item' occurs 2 times: keep one of them"),
}


@pytest.mark.parametrize("name", NO_TABLE)
def test_what_is_no_table_is_refused_with_the_way_out(name: str) -> None:
    frame, sentence = NO_TABLE[name]
    with pytest.raises(InputError, match=sentence):
        HeldFrame.of(frame, "data")


def test_a_column_that_occurs_twice_in_an_arrow_table_is_refused_as_in_a_file() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["user", "item", "item"])
    with pytest.raises(InputError, match="column 'item' occurs 2 times"):
        loaded(table, time=None)


def test_a_name_means_nothing_once_the_frame_is_gone() -> None:
    frame = HeldFrame.of(EVENTS, "data")
    assert is_in_memory(frame.name)
    assert not is_in_memory("data frame in memory.csv")
    with held([frame]):
        assert held_frame(Path(frame.name)) is frame
        assert content(Path(frame.name)) is frame.data
    for read in (held_frame, lambda name: Table(path=name).load()):
        with pytest.raises(InputError, match=r"is not at hand here: give it to recx\.run again, write it into a file"):
            read(frame.name)
    assert held_frame("clicks.csv") is None


@pytest.mark.parametrize(("name", "text"), [(0, "0"), (("a", "b"), "('a', 'b')")])
def test_a_column_without_a_text_as_name_is_called_by_it(name: object, text: str) -> None:
    assert arrow_table(pd.DataFrame({name: [1]}), "data").column_names == [text]


def test_frames_of_polars_are_read_like_a_file(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(EVENTS)
    expected = of_file(EVENTS, tmp_path / "events.parquet")
    coded = frame.with_columns(pl.col("user").cast(pl.Categorical), pl.col("item").cast(pl.UInt16))
    in_zone = frame.with_columns(pl.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"))
    assert [loaded(one) for one in (frame, coded, in_zone)] == [expected] * 3
    assert HeldFrame.of(frame, "data").name == HeldFrame.of(EVENTS, "data").name
    with pytest.raises(InputError, match=r"give data\.collect\(\)"):
        HeldFrame.of(frame.lazy(), "data")
