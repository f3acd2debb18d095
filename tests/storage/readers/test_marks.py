from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.storage.readers.marks import by_header, by_rows, with_one_mark


def rows(text: str, columns: list[int], name: str = "log.txt") -> tuple[str, int]:
    return by_rows(Path(name), memoryview(text.encode()), columns, "dataset.delimiter")


@pytest.mark.parametrize(
    ("text", "columns", "mark", "width"),
    [
        ("A1,B2,5.0,1369699200\nA3,B4,3.0,1355443200\n", [0, 1, 3], ",", 4),  # Amazon's ratings
        ("1::1193::5::978300760\n1::661::3::978302109\n", [0, 1, 3], "::", 4),  # MovieLens 1M
        ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", [0, 1, 3], "\t", 4),  # MovieLens 100K
        ("1 1\n1 2\n2 1\n", [0, 1], " ", 2),  # SASRec
        ("1  1\n1\t2\n 2 1\n", [0, 1], "blanks", 2),
        ("1;2;x\n3;4;y\n", [0, 1], ";", 3),
        ("1|2|x\n3|4|y\n", [0, 1], "|", 3),
        ("0\t2010-10-19T23:55:27Z\t30.2\t-97.7\t22847\n", [0, 4, 1], "\t", 5),  # Gowalla
        ("1,2,2013-01-01 10:00:00\n1,3,2013-01-01 11:00:00\n", [0, 1, 2], ",", 3),
        ('1,"a,b",5\n2,"c",6\n', [0, 1], ",", 3),
        ("1\t2\t3,5\n1\t3\t4,5\n", [0, 1], "\t", 3),
        ("1\t2\n1\t3\t4\n", [0, 1], "\t", 2),  # whose second row the reader names
    ],
)
def test_the_delimiter_of_rows_is_found(text: str, columns: list[int], mark: str, width: int) -> None:
    assert rows(text, columns) == (mark, width)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "1;2,5;3\n4;5,6;7\n",
            "could be separated by commas, so that the first row is '1;2' and '5;3', or by semicolons",
        ),
        ("a b,c d\ne f,g h\n", "set dataset.delimiter=',' or dataset.delimiter=blanks"),
        ("1\n2\n", "no delimiter gives its rows the column 1 .counted from 0; the first is '1'.: correct the number"),
    ],
)
def test_rows_that_could_be_read_in_two_ways_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rows(text, [0, 1])


def test_the_name_of_a_file_decides_where_blanks_stand_within_texts() -> None:
    assert rows("a b,c d\ne f,g h\n", [0, 1], "log.csv") == (",", 2)


def test_a_header_with_runs_of_blanks() -> None:
    assert by_header(Path("log.txt"), "user  item", {"user", "item"}) == "blanks"
    assert by_header(Path("log.txt"), "user item", {"user", "item"}) == " "
    assert by_header(Path("log.csv"), "a;b;c", {"a", "b"}) == ";"


def test_runs_of_blanks_become_one_mark() -> None:
    data, mark = with_one_mark(Path("log.txt"), memoryview(b"  1  2\r\n3\t 4 \n"), "blanks")
    assert bytes(data).split(b"\n") == [f"1{mark}2".encode(), f"3{mark}4".encode(), b""]
    with pytest.raises(InputError, match=r"log.txt, line 2: a quotation mark in a file whose columns are separated by"):
        with_one_mark(Path("log.txt"), memoryview(b'1  2\n"3" 4\n'), "blanks")
