"""What people have: files without a header, of other formats, of several parts."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from recx.core.errors import InputError
from recx.core.progress import shown_on
from recx.core.types import Interactions
from recx.parts.dataset.table import Table
from recx.storage.cache.keys import NoKeyError, key_of_part

ROWS = [("u2", "i1", 1506816009), ("u1", "i2", 1506816001), ("u2", "i3", 1506816001)]
NUMBERS: dict[str, Any] = {"user": 0, "item": 1, "time": 2, "time_unit": "s", "header": False}
NAMES: dict[str, Any] = {"user": "u", "item": "i", "time": "t", "time_unit": "s"}


def check(events: Interactions, rows: list[Any] = ROWS) -> None:
    assert events.time is not None
    found = zip(
        events.users.ids[events.user].tolist(), events.items.ids[events.item].tolist(), events.time, strict=True
    )
    assert sorted(found) == sorted((user, item, 1_000 * time) for user, item, time in rows)


@pytest.mark.parametrize(
    ("name", "mark"),
    [("r.csv", ","), ("r.dat", "::"), ("u.data", "\t"), ("r.csv", ";"), ("r.txt", " "), ("r.txt", " \t "), ("r", "|")],
)
def test_files_without_a_header(tmp_path: Path, name: str, mark: str) -> None:
    (tmp_path / name).write_text("".join(mark.join(map(str, row)) + "\n" for row in ROWS))
    with (tmp_path / "said").open("w") as out, shown_on(Console(file=out, width=200)):
        check(Table(str(tmp_path / name), **NUMBERS).load())
    said = (tmp_path / "said").read_text()
    assert ("columns are separated by" in said and "otherwise: dataset.delimiter=" in said) == (
        (name, mark) not in (("r.csv", ","), ("u.data", "\t"))
    )


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("1,2\n", {"user": 0, "item": 1}, "dataset.user=0: columns are numbered in files without a header: set"),
        ("1,2\n", {"header": False}, "dataset.user=user: without a header, columns are numbered from 0"),
        ("1,2\n", {"user": 0, "item": 5, "header": False}, "no delimiter gives its rows the column 5"),
        ("user,item\n1,2\n", {"user": 0, "item": 1, "header": False}, "row 1: it names the columns .user, item."),
        ("1,2,0\n1,3,1\n", {"user": 0, "item": 1, "header": False}, "'2' is 0 in row 1, which could mean .* shown"),
        (
            "1,2,2017-01-01 00:00:00\n",
            {"user": 0, "item": 1, "header": False},
            "'2' could hold the times: set dataset.time",
        ),
        ("1,2\n3\n", {"user": 0, "item": 1, "header": False}, "row 2: 1 columns instead of 2"),
        (
            "1,2\n3,4\n",
            {},
            "seems to have no header .1, 2.: .* set dataset.header=false and name its columns by number",
        ),
    ],
)
def test_what_files_without_a_header_leave_open(tmp_path: Path, text: str, settings: dict[str, Any], said: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        Table(str(tmp_path / "r.csv"), **settings).load()


def test_json_lines_and_a_list_of_objects(tmp_path: Path) -> None:
    rows = [{"u": user, "i": item, "t": time, "x": [1], "y": {"z": 1}} for user, item, time in ROWS]
    (tmp_path / "r.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    (tmp_path / "r.json").write_text(json.dumps(rows, indent=1))
    for name in ("r.jsonl", "r.json"):
        check(Table(str(tmp_path / name), **NAMES).load())
        check(Table(str(tmp_path / name), "u", "i", time_unit="s", time="t", weight=None).load())


def test_json_holds_numbers_of_any_size(tmp_path: Path) -> None:
    rows = [{"u": 1, "i": 2, "time": 1_500_000_000}, {"u": 10**20, "i": 3, "time": 1_500_000_001}]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    events = Table(str(tmp_path / "r.jsonl"), "u", "i").load()
    assert events.users.ids.tolist() == ["1", "1" + 20 * "0"]
    assert events.time is not None  # found among the first rows
    assert events.time.tolist() == [1_500_000_000_000, 1_500_000_001_000]


def test_a_type_that_changes_late_in_json_is_read(tmp_path: Path) -> None:
    rows = [{"u": 1, "i": at, "w": 1, "note": "x" * 900} for at in range(3_000)]
    rows[1_500]["w"] = 2.5
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    events = Table(str(tmp_path / "r.jsonl"), "u", "i", time=None, weight="w", order="given").load()
    assert events.weight.tolist() == [2.5 if at == 1_500 else 1 for at in range(3_000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"u": 1, "i": 2}\n{"u": 1, "i"', "r.jsonl, line 2: it is not JSON"),
        ('{"u": 1, "i": 2}\n{"u": 1, "u": 2, "i": 3}\n', "line 2: the key 'u' occurs twice"),
        ('{"u": 1, "i": 2}\n7\n', "line 2: it must be an object"),
        ('{"u": 1, "i": 2}\n{"u": "1", "i": 2}\n', "line 1: 'u' is the number 1, and text in other rows"),
        ('{"u": 1, "i": [2]}\n', "line 1: 'i' is a list or an object: write one value a row"),
        ('{"u": 1, "i": 2}\n{"u": 1}\n', "column 'i', row 2: the value is missing"),
        ('{"u": 1.5, "i": 2}\n', "column 'u', row 1: 1.5 is stored as a decimal number"),
        ("{'u': 1, 'i': 2}\n", "line 1: it is written as Python writes it"),
        ('{\n"u": 1,\n"i": 2}\n', "is one JSON document over several lines"),
        ('[{"u": 1, "i": 2}, 3]', "entry 2: it must be an object"),
        ('{"v": 1, "i": 2}\n', "column 'u' is missing; choose one of: i, v"),
    ],
)
def test_json_that_is_no_table_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        Table(str(tmp_path / "r.jsonl"), "u", "i", time=None, weight=None).load()


COLUMNS = {
    "views": pa.array(["u2", "u1", "u2"], pa.string_view()),
    "bytes": pa.array([b"u2", b"u1", b"u2"]),
    "fixed": pa.array([b"u2", b"u1", b"u2"], pa.binary(2)),
    "dictionary": pa.array(["u2", "u1", "u2"]).dictionary_encode(),
    "dictionary of views": pa.DictionaryArray.from_arrays([1, 0, 1], pa.array([b"u1", b"u2"])),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("ending", ["parquet", "arrow", "stream"])
def test_texts_of_any_type(tmp_path: Path, kind: str, ending: str) -> None:
    times = pa.array([1_000 * time for *_, time in ROWS], pa.timestamp("ms", "Europe/Berlin"))
    table = pa.table({"u": COLUMNS[kind], "i": ["i1", "i2", "i3"], "t": times})
    path = tmp_path / f"r.{ending}"
    write_arrow(table, path)
    check(Table(str(path), "u", "i", "t").load())


def write_arrow(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    made = pa.ipc.new_stream if path.suffix == ".stream" else pa.ipc.new_file
    with made(str(path), table.schema) as writer:
        writer.write_table(table)


def test_ids_of_decimals_and_uuids(tmp_path: Path) -> None:
    uuids = [UUID(int=7), UUID(int=9)]
    table = pa.table(
        {
            "u": pa.array([Decimal("7.00"), Decimal("8.00")], pa.decimal128(12, 2)),
            "i": pa.array([one.bytes for one in uuids], pa.uuid()),
            "w": pa.array([Decimal("2.50"), Decimal("1.25")], pa.decimal128(12, 2)),
        }
    )
    pq.write_table(table, tmp_path / "r.parquet")
    events = Table(str(tmp_path / "r.parquet"), "u", "i", weight="w", order="given").load()
    assert events.users.ids.tolist() == [7, 8]
    assert events.items.ids.tolist() == [str(one) for one in uuids]
    assert events.weight.tolist() == [2.5, 1.25]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([[1], [2]]), "column 'u' holds values of type list<.*>: write one row for each of their elements"),
        (pa.array([b"\xff\xfe", b"a"]), "column 'u', row 1: the bytes fffe are not text in UTF-8"),
        (pa.array([Decimal("1.5"), Decimal("2")]), "column 'u', row 1: .* is stored as a decimal number"),
    ],
)
def test_columns_that_are_no_ids_are_refused(tmp_path: Path, column: pa.Array, said: str) -> None:
    pq.write_table(pa.table({"u": column, "i": [1, 2]}), tmp_path / "r.parquet")
    with pytest.raises(InputError, match=said):
        Table(str(tmp_path / "r.parquet"), "u", "i").load()


@pytest.mark.parametrize("ending", ["arrow", "stream"])
def test_an_arrow_file_cut_short_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    write_arrow(pa.table({"u": list(range(1_000)), "i": list(range(1_000))}), path)
    whole = path.read_bytes()
    for n in (len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:n])
        with pytest.raises(InputError, match="is a damaged Arrow file"):
            Table(str(path), "u", "i").load()


# ---- several files ----


def parts(folder: Path, ending: str = "csv") -> Path:
    """Write each row into a file of its own, in the order of the rows only by number."""
    folder.mkdir(exist_ok=True)
    for at, row in zip((2, 9, 10), ROWS, strict=True):
        frame = pd.DataFrame([row], columns=["u", "i", "t"])
        path = folder / f"part-{at}.{ending}"
        if ending == "parquet":
            frame.to_parquet(path)
        elif ending == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_csv(path, index=False)
    return folder


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_folder_of_parts_a_pattern_and_a_list_are_one_table(tmp_path: Path, ending: str) -> None:
    folder = parts(tmp_path / "log", ending)
    (folder / "_SUCCESS").touch()
    (folder / ".part-2.crc").write_bytes(b"crc")
    events = Table(str(folder), **NAMES).load()
    check(events)
    assert events.users.ids.tolist() == ["u2", "u1"]  # part-2 before part-10
    assert (events.notes["files"], events.notes["files_skipped"]) == (3, 2)
    check(Table(str(folder / f"part-*.{ending}"), **NAMES).load())
    files = tuple(str(folder / f"part-{at}.{ending}") for at in (10, 2))
    check(Table(files, **NAMES).load(), [ROWS[2], ROWS[0]])


def test_a_column_that_arrow_reads_in_two_ways_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,i,t\n1,1,5\n")
    (tmp_path / "b.csv").write_text("u,i,t\nx,2,6.0\nu,i,t\n")
    events = Table(str(tmp_path), **NAMES, relative_times=True).load()
    assert events.users.ids.tolist() == ["1", "x"]
    assert events.time is not None
    assert events.time.tolist() == [5_000, 6_000]
    assert events.notes["repeated_headers"] == 1


def test_what_is_no_table_of_parts_is_refused(tmp_path: Path) -> None:
    def refused(said: str, path: Any = str(tmp_path / "log"), **settings: Any) -> None:
        with pytest.raises(InputError, match=said):
            Table(path, **{**NAMES, **settings}).load()

    folder = parts(tmp_path / "log")
    first = str(folder / "part-2.csv")
    refused("dataset.path names the file .*part-2.csv twice", (first, first))
    refused("no file matches the pattern", str(folder / "*.tsv"))
    (folder / "z.csv").write_text("u,i,t\nu9,i9,soon\n")
    refused(r"z.csv: column 't', row 1: 'soon' is not a time")
    (folder / "z.csv").write_text("u,i,when\nu9,i9,1506816009\n")
    refused("part-2.csv has the column 't', and .*z.csv does not", time=None)
    (folder / "z.csv").write_text("u;i;t\nu9;i9;1506816009\n")
    refused("part-2.csv and .*z.csv are separated by commas and semicolons")
    (folder / "z.csv").write_text("")
    refused("z.csv is empty")
    (folder / "z.csv").unlink()
    pd.DataFrame(ROWS, columns=["u", "i", "t"]).to_parquet(folder / "z.parquet")
    refused("part-2.csv is delimited text, and .*z.parquet is Parquet: the files of a table have one format")
    (folder / "z.parquet").rename(folder / "z.parquet.tmp")
    refused("log holds z.parquet.tmp, as where a file is still being written")
    (folder / "z.parquet.tmp").unlink()
    (folder / "more").mkdir()
    refused("log holds the folder more: name the files by a pattern")
    refused("holds no file of a table", str(folder / "more"))


def test_texts_and_numbers_never_meet_in_parquet(tmp_path: Path) -> None:
    for name, ids in (("a", [1, 2]), ("b", ["1", "2"])):
        pq.write_table(pa.table({"u": ids, "i": [1, 2]}), tmp_path / f"{name}.parquet")
    with pytest.raises(
        InputError, match=r"'u' is of type int64 in .*a.parquet, and string in .*b.parquet: write it as"
    ):
        Table(str(tmp_path), "u", "i", order="given").load()


def test_the_cache_sees_every_file(tmp_path: Path) -> None:
    folder = parts(tmp_path / "log")
    named = [str(folder), str(folder / "*.csv"), tuple(str(path) for path in sorted(folder.iterdir()))]
    before = [key_of_part(Table(path, **NAMES)) for path in named]
    assert before == [key_of_part(Table(path, **NAMES)) for path in named]
    (folder / "part-10.csv").write_text("u,i,t\nu2,i4,1506816001\n")
    assert not set(before) & {key_of_part(Table(path, **NAMES)) for path in named}
    with pytest.raises(NoKeyError):
        key_of_part(Table("s3://bucket/log.csv", **NAMES))


def test_whole_numbers_stay_whole_over_parts(tmp_path: Path) -> None:
    for at in range(3):
        (tmp_path / f"{at}.csv").write_text(f"u,i,t\n{at},{at + 5},{at}\n")
    events = Table(str(tmp_path), **NAMES, relative_times=True).load()
    assert events.users.ids.dtype == np.int64
    assert events.items.ids[events.item].tolist() == [5, 6, 7]
