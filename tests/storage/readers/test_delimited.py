"""Delimited text of any dialect, against a plain reader: what is read is what the file holds, or it is refused."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.parts.dataset.table import Table
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read, read_texts

ENDINGS = {",": "csv", "\t": "tsv", ";": "txt", "|": "txt"}
NAMES = ("user", "item", "note")
Row = tuple[str, ...]

PLAIN = st.text("ab7é猫 .-'", min_size=1, max_size=5).filter(lambda text: text.strip() == text)
TEXT = st.text("ab \"\n\r,;\t|'é猫", max_size=8)
MARK = st.sampled_from(sorted(ENDINGS))


def written(rows: list[Row], mark: str, end: str, all_quoted: bool) -> str:
    """Return a table, with quotes where they are needed or everywhere."""

    def cell(value: str) -> str:
        needed = all_quoted or any(c in value for c in f'{mark}"\n\r')
        return f'"{value.replace(chr(34), 2 * chr(34))}"' if needed else value

    return "".join(mark.join(map(cell, row)) + end for row in [NAMES, *rows])


def texts_of(text: str, mark: str, zipped: bool = False) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ENDINGS[mark]}{'.gz' if zipped else ''}"
        data = text.encode()
        path.write_bytes(gzip.compress(data, 1) if zipped else data)
        table = read_texts(Source(path, mark))
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def texts_or_refusal(text: str, mark: str, zipped: bool = False) -> list[Row] | str:
    try:
        return texts_of(text, mark, zipped)
    except InputError as error:
        return str(error)


def plainly(text: str, mark: str) -> list[Row]:
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=mark)
    return [tuple(row) for row in rows if row][1:]


def test_what_is_written_in_any_dialect_is_read_back() -> None:
    counts: Counter[str] = Counter()

    @given(
        rows=st.lists(st.tuples(PLAIN, PLAIN, TEXT), min_size=1, max_size=8),
        mark=MARK,
        end=st.sampled_from(["\n", "\r\n", "\r"]),
        quoted=st.booleans(),
        bom=st.booleans(),
        blank=st.booleans(),
        last=st.booleans(),
        zipped=st.booleans(),
    )
    def check(
        rows: list[Row], mark: str, end: str, quoted: bool, bom: bool, blank: bool, last: bool, zipped: bool
    ) -> None:
        text = written(rows, mark, end, quoted)
        text = "\ufeff" * bom + end * blank + (text + f"  {end}{end}" * blank if last else text.removesuffix(end))
        counts["all"] += 1
        found = texts_or_refusal(text, mark, zipped)
        if isinstance(found, str):  # such as 'a,b,"\n,,"', whose two lines have three columns without quotes, too
            assert "both give rows of the right number of columns" in found
            counts["refused"] += 1
            return
        assert found == rows
        assert found == [row for row in plainly(text, mark) if row != ("  ",)]

    check()
    assert counts["refused"] <= 0.1 * counts["all"]


def test_a_stray_quotation_mark_loses_no_row() -> None:
    """Rows without quotes, into which marks are strewn: all of them are read, with their marks, or two are refused."""
    counts: Counter[str] = Counter()
    values = st.text("ab7é猫 .-'", min_size=1, max_size=5)

    @given(
        rows=st.lists(st.tuples(values, values, values), min_size=1, max_size=8),
        mark=MARK,
        places=st.lists(st.integers(0, 150), min_size=1, max_size=3),
    )
    def check(rows: list[Row], mark: str, places: list[int]) -> None:
        body = "\n".join(mark.join(row) for row in rows)
        for place in places:
            at = place % (len(body) + 1)
            body = f'{body[:at]}"{body[at:]}'
        counts["all"] += 1
        found = texts_or_refusal(f"{mark.join(NAMES)}\n{body}\n", mark)
        if isinstance(found, str):
            assert "both give rows of the right number of columns" in found
            counts["refused"] += 1
            return
        assert [tuple(value.replace('"', "") for value in row) for row in found] == rows

    check()
    assert counts["refused"] <= 0.1 * counts["all"]


@pytest.mark.parametrize("n", [2_000, 60_000])
@pytest.mark.parametrize("mark", [",", "\t"])
def test_quoted_line_ends_are_read_at_any_size(tmp_path: Path, n: int, mark: str) -> None:
    path = tmp_path / f"t.{ENDINGS[mark]}"
    with path.open("w", newline="") as file:
        rows = csv.writer(file, delimiter=mark)
        rows.writerow(["user", "item", "review", "time"])
        rows.writerows(
            [i % 50, i, 'nice\nreally, "good"\nbuy it' if i % 3 else "ok", 1_500_000_000 + i] for i in range(n)
        )
    columns = read(Source(path), {"user": "id", "item": "id", "time": "s"})
    assert columns["item"].tolist() == list(range(n))
    assert columns["time"].tolist() == [(1_500_000_000 + i) * 1_000 for i in range(n)]


def test_a_row_that_is_longer_than_a_block_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('user,item,note\n1,2,"' + "a\n" * 2_000_000 + '"\n3,4,b\n')
    assert read(Source(tmp_path / "t.csv"), {"user": "id"})["user"].tolist() == [1, 3]


RARE = {
    "a mark within a field": ('user,item,note\n1,2,5" pipe\n3,4,"a, b"\n', [("1", "2", '5" pipe'), ("3", "4", "a, b")]),
    "text after the quotes": (
        'user\titem\tnote\n1\t2\t"Heroes" by\n3\t4\tx\n',
        [("1", "2", '"Heroes" by'), ("3", "4", "x")],
    ),
    "an open mark at the end": ('user\titem\tnote\n1\t2\ta\n3\t4\t"b\n', [("1", "2", "a"), ("3", "4", '"b')]),
    "all in quotes": ('"user"\t"item"\t"note"\n"1"\t"2"\t""\n', [("1", "2", "")]),
    "a tab in quotes": ('user\titem\tnote\n1\t2\t"a\tb"\n', [("1", "2", "a\tb")]),
    "a line end in the header": ('"user","item","no\nte"\n1,2,a\n', [("1", "2", "a")]),
    "blanks in the header": ("user , item, note\n1,2,a\n", [("1", "2", "a")]),
    "a delimiter at the end": ("user,item,note,\n1,2,a,\n", [("1", "2", "a", "")]),
}


@pytest.mark.parametrize("name", RARE)
def test_rare_texts(tmp_path: Path, name: str) -> None:
    text, rows = RARE[name]
    mark = "\t" if "\t" in text.split("\n")[0] else ","
    assert texts_of(text, mark) == rows


def test_a_paired_stray_mark_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text('user\titem\ttitle\ttime\nu\ta\tx\t1\nu\tb\t"Night\t2\nu\tc\tx\t3\nv\td\tSong"\t4\n')
    with pytest.raises(
        InputError, match=r"log.tsv, line 3: a quotation mark opens a field that ends on a later line, or"
    ):
        read(Source(path), {"user": "id", "time": "ms"})


def test_a_column_that_is_not_read_may_hold_other_than_utf_8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes('user,item,note\na,b,"x\nü"\n'.encode("latin-1"))
    found = read(Source(tmp_path / "t.csv"), {"user": "id", "item": "id"})
    assert (found["user"].tolist(), found["item"].tolist()) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("user,item\n1,2\n".encode("utf-16")[:-1], "begins as text in UTF-16, but byte 28 is not such: save it as"),
        ("user,item\n1,2\n".encode("utf-32"), "is text in UTF-32"),
        ("user,item\n1,2\n".encode("utf-16-le"), "is a binary file"),
        ("user,item\n1,é\n".encode("latin-1"), "column 2, row 1 is not text in UTF-8"),
        (b"user,item\n" + b"1,2\n" * 5_000 + b"1,\x00\n", "line 5002: there is a character NUL"),
        (b"user,item\n1,2\n1\n", "row 2: 1 columns instead of 2"),
        (b"user,item\n1,2\n1,2,3\n", "row 2: 3 columns instead of 2"),
        (b"user,item\n1,2,\n3,4,\n", "row 1: 3 columns instead of 2"),
        (b'user,item\n"1",2\n3,"4"x\n', "the column 'user' holds values in quotes, but the quotation mark on line 3"),
        (
            b'user,item\n"1", "2"\n',
            "the column 'item' holds values in quotes, but a blank stands before them: remove it",
        ),
        (b'user,item\n"1,5",2\n3,"4"x\n', "row 1: 3 columns instead of 2.*quotation mark on line 3"),
        (b'["user", "item"]\n[1, 2]\n', "holds JSON, not a table"),
        (b"1,2\n3,4\n", r"seems to have no header \(1, 2\): put one first that names user, item"),
    ],
)
def test_what_is_no_table_is_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        read(Source(tmp_path / "t.csv"), {"user": "id", "item": "id"})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("mark", [";", "|", "\t", "::", " "])
def test_a_name_that_misleads_is_no_obstacle(tmp_path: Path, mark: str) -> None:
    (tmp_path / "t.csv").write_text(f"user{mark}item\n1{mark}2\n")
    assert read(Source(tmp_path / "t.csv"), {"user": "id", "item": "id"})["item"].tolist() == [2]


def test_headers_between_the_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    part = "user,item,note\nu1,a,x\nuser,thing,y\n"
    (tmp_path / "t.csv").write_text(part + part + "user, item ,note\nu2,b,x\n")
    events = Table(str(tmp_path / "t.csv")).load()
    pairs = [
        (str(events.users.ids[u]), str(events.items.ids[i])) for u, i in zip(events.user, events.item, strict=True)
    ]
    assert Counter(pairs) == {("u1", "a"): 2, ("user", "thing"): 2, ("u2", "b"): 1}
    assert events.notes["repeated_headers"] == 2
    (tmp_path / "t.csv").write_text("user,item,time\n1,a,1000000000\nuser,item,time\n2,b,1000000000\n")
    timed = Table(str(tmp_path / "t.csv"), time="time", time_unit="s").load()
    assert (len(timed), timed.notes["repeated_headers"]) == (2, 1)
    with pytest.raises(InputError, match="1 of its rows repeat the header: remove them"):
        read(Source(tmp_path / "t.csv"), {"user": "id"})


@given(
    seconds=st.lists(st.integers(10**9, 2 * 10**9), min_size=1, max_size=6),
    unit=st.sampled_from(["s", "ms", "us", "ns", "iso"]),
    mark=MARK,
    quoted=st.booleans(),
)
def test_times_of_every_unit_and_dialect(seconds: list[int], unit: str, mark: str, quoted: bool) -> None:
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    raw = [str(np.datetime64(t, "s")) + "Z" if unit == "iso" else str(t * ticks[unit]) for t in seconds]
    text = written([(str(at), "x", time) for at, time in enumerate(raw)], mark, "\r\n", quoted)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_bytes(text.encode())
        columns = read(Source(Path(folder) / "t.csv", mark), {"user": "id", "note": unit})
    assert columns["note"].tolist() == [t * 1_000 for t in seconds]
    assert columns["user"].tolist() == list(range(len(seconds)))
