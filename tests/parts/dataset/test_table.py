from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from recx.core.errors import InputError
from recx.parts.dataset.table import Table

FRAME = pd.DataFrame(
    {
        "uid": ["b", "a", "b", "b"],
        "iid": ["007", "01", "3", "3"],
        "ts": [1506816009, 1506816001, 1506816001, 1506816001],
    }
)
NAMES = {"user": "uid", "item": "iid", "time": "ts", "time_unit": "s"}


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.csv.gz", "c.parquet", "c.txt", "semicolon.csv", "tab.csv"])
def test_all_formats_give_the_same_events(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    marks = {"c.tsv": "\t", "c.txt": "|", "semicolon.csv": ";", "tab.csv": "\t"}
    if name.endswith("parquet"):
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep=marks.get(name, ","))
    events = Table(str(path), delimiter={"semicolon.csv": ";", "tab.csv": "\\t"}.get(name), **NAMES).load()  # type: ignore[arg-type]
    assert events.users.ids.tolist() == ["b", "a"]
    assert events.items.ids.tolist() == ["007", "01", "3"]
    assert events.item.tolist() == [2, 0, 1]
    assert events.time is not None
    assert events.time.tolist() == [1506816001000, 1506816009000, 1506816001000]
    assert dict(events.notes) == {"duplicate_rows": 1}


def test_without_time_the_rows_are_in_order_and_weights_stay(tmp_path: Path) -> None:
    path = tmp_path / "c.csv.gz"
    path.write_bytes(gzip.compress(b"user,item,stars\n4,9,2.5\n3,9,1\n4,8,5\n4,9,2.5\n"))
    events = Table(str(path), weight="stars").load()
    assert events.users.ids.dtype == np.int64
    assert events.users.ids.tolist() == [4, 3]
    assert events.items.ids[events.item].tolist() == [9, 8, 9, 9]
    assert events.weight.tolist() == [2.5, 5, 2.5, 1]
    assert events.time is None


def test_equal_times_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("user,item,t\n" + "".join(f"1,{item},1506816000000\n" for item in (5, 3, 9, 1)))
    events = Table(str(path), time="t").load()
    assert events.items.ids[events.item].tolist() == [5, 3, 9, 1]


def test_what_cannot_be_used_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset.path is not set"):
        Table().load()
    with pytest.raises(InputError, match=r"dataset.item=x: dataset.user names this column already"):
        Table(user="x", item="x")
    with pytest.raises(InputError, match=r"dataset.delimiter=,,: it must be one character"):
        Table(delimiter=",,")
    with pytest.raises(InputError, match=r"dataset.user and dataset.item must name columns"):
        Table(user="")
    path = tmp_path / "c.csv"
    path.write_text("uid,iid\n1,2\n")
    with pytest.raises(InputError, match=r"c.csv: column 'user' is missing; .*uid"):
        Table(str(path)).load()
    path.write_text("user,item,t\n1,2,1506816000\n")
    with pytest.raises(InputError, match=r"c.csv: column 't': .* set dataset.time_unit=s"):
        Table(str(path), time="t").load()
    with pytest.raises(InputError, match=r"cc.csv: no such file; did you mean 'c.csv'"):
        Table(str(tmp_path / "cc.csv")).load()


@pytest.mark.parametrize(("mark", "shown"), [("\t", r"'\t'"), (";", "';'"), ("|", "'|'")])
def test_a_delimiter_that_the_header_shows_is_named_as_it_is_typed(tmp_path: Path, mark: str, shown: str) -> None:
    (tmp_path / "clicks.csv").write_text(mark.join(["who", "what"]) + "\n")
    with pytest.raises(InputError) as error:
        Table(str(tmp_path / "clicks.csv"), user="who", item="what", time=None, delimiter=",").load()
    assert f"(set dataset.delimiter={shown})" in str(error.value)


def test_an_offset_orders_the_events_of_a_day(tmp_path: Path) -> None:
    file = tmp_path / "views.csv"
    file.write_text(
        "session;item;frame;day\n1;c;526309;2016-05-09\n1;a;0.5;2016-05-09\n1;b;31018;2016-05-09\n1;a;7;2016-05-08\n"
        "1;a;9;2016-05-09\n",
        encoding="utf-8",
    )
    events = Table(str(file), user="session", time="day", time_unit="iso", time_offset="frame", weight=None).load()
    assert [str(events.items.ids[item]) for item in events.item] == ["a", "a", "a", "b", "c"]
    assert events.time is not None
    day = 1_462_752_000_000  # 2016-05-09
    assert events.time.tolist() == [day - 86_400_000 + 7, day, day + 9, day + 31_018, day + 526_309]


def test_an_offset_needs_times() -> None:
    with pytest.raises(InputError, match=r"dataset.time_offset is added to the times, and dataset.time=null says"):
        Table("x.csv", time=None, time_offset="frame")


@pytest.mark.parametrize("header", ["user,item,rating,timestamp", '"user","item","rating","timestamp"'], ids=str)
def test_a_file_is_parsed_once_whatever_is_looked_for(
    tmp_path: Path, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = (
        tmp_path / "ratings.csv",
        [f"{n % 30},{n % 70},{n % 10 / 2 + 0.5},{1_500_000_000 + n}" for n in range(20_000)],
    )
    path.write_text("\n".join([header, *rows]))
    parsed, parse = [], pacsv.read_csv

    def counted(data: pa.BufferReader, *options: object) -> pa.Table:
        table = parse(data, *options)
        parsed.append(table.num_rows * (table.num_columns > 1))
        return table

    monkeypatch.setattr(pacsv, "read_csv", counted)
    events = Table(path=str(path)).load()
    assert parsed.count(20_000) == 1
    assert events.notes["rows_with_unread_weight"] == 20_000
    assert events.time is not None
    assert events.time.min() == 1_500_000_000_000
