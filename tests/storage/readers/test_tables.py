from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.storage.readers.columns import ids_of
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import layouts, read

KINDS = {"user_id": "id", "ts": "ms"}
GOOD = b"user_id,ts,note\n7,1506816000000,a\n8,1506816001000,b\n"


def write(folder: Path, content: bytes, name: str = "clicks.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def zip_of(folder: Path, content: bytes, cut: int | None = None) -> Path:
    return write(folder, gzip.compress(content, mtime=0)[:cut], "clicks.csv.gz")


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + GOOD,
        b"\xef\xbb\xbfsep=;\r\n" + GOOD.replace(b",", b";").replace(b"\n", b"\r\n"),
        GOOD.decode().encode("utf-16"),
        b"\xfe\xff" + GOOD.decode().replace("\n", "\r\n").encode("utf-16-be"),
        b'"user_id","ts","note"\n"7","1506816000000",a\n"8","1506816001000",b\n',
        b'note,"a, b",ts,user_id\na,,1506816000000,7\nb,,1506816001000,8\n',
        b"\n\n" + GOOD,
        b"note,ts,user_id\na,1506816000000.0,7\nb,1506816001000.0,8",
    ],
    ids=[
        "plain",
        "crlf",
        "bom",
        "spreadsheet",
        "utf-16",
        "utf-16-be",
        "quoted",
        "comma-in-header",
        "blank-lines-first",
        "float-times-other-order",
    ],
)
def test_the_same_table_is_read_however_it_is_written(tmp_path: Path, content: bytes) -> None:
    for path in (write(tmp_path, content), zip_of(tmp_path, content)):
        table = read(Source(path), KINDS)
        assert table["user_id"].tolist() == [7, 8]
        assert table["user_id"].dtype == np.int64
        assert table["ts"].tolist() == [1506816000000, 1506816001000]


def test_parquet_plain_and_gzipped_and_its_own_timestamps(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user_id": ["007", "8"], "ts": pd.to_datetime(["2017-10-01", "2017-10-02"], utc=True)})
    frame.to_parquet(tmp_path / "clicks.parquet")
    (tmp_path / "zipped.parquet.gz").write_bytes(gzip.compress((tmp_path / "clicks.parquet").read_bytes()))
    for name in ("clicks.parquet", "zipped.parquet.gz"):
        table = read(Source(tmp_path / name), KINDS)
        assert table["user_id"].tolist() == ["007", "8"]
        assert table["ts"].tolist() == [1506816000000, 1506902400000]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"user_id,ts\n", "has a header but no rows"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "is a PNG image"),
        (b"PK\x03\x04" + bytes(40), "is a zip archive"),
        (b"\x00\x01\x02\x03", "is a binary file"),
        (b"\xfe\xff\x00a\xd8", "begins as text in UTF-16"),
        (gzip.compress(GOOD, mtime=0), "is gzipped, contrary to its name: call it clicks.csv.gz"),
        (b"userid,ts\n7,1506816000000\n", "column 'user_id' is missing; did you mean 'userid'?"),
        (b"user_id;time\n7;1506816000000\n", "column 'user_id' is missing and the header is not separated by ','"),
        (b"user_id,ts,ts\n7,1,2\n", "column 'ts' occurs 2 times"),
        (GOOD + b"9,1506816001000\n", "row 3: 2 columns instead of 3"),
        (GOOD + b"9,1506816001000,a,b\n", "row 3: 4 columns instead of 3"),
        (GOOD + b"9,yesterday,a\n", "column 'ts', row 3: 'yesterday' is not a time"),
        (GOOD + b"9,,a\n", "column 'ts', row 3: the value is missing"),
        (GOOD + b",1506816001000,a\n", "column 'user_id', row 3: the value is missing"),
        (GOOD + b"nan,1506816001000,a\n", "column 'user_id', row 3: the value is missing"),
        (GOOD + b"1234.0,1506816001000,a\n", "column 'user_id', row 3: '1234.0' is a decimal number"),
        (GOOD + b"1e+17,1506816001000,a\n", "column 'user_id', row 3: '1e+17' is a decimal number"),
        (GOOD + b"9,-5,a\n", "column 'ts', row 3: the time -5 lies before 1970"),
        (b"user_id,ts\n7,1506816000\n", "column 'ts': times such as 1506816000 count s, not ms"),
        (b"user_id,ts\n7,1506816000000000\n", "set dataset.time_unit=us"),
        (b"user_id,ts\n7,1506816000000000000\n", "set dataset.time_unit=ns"),
        (b"user_id,ts\n\xe9,1506816000000\n", "is not text in UTF-8"),
        (b"us\xe9r_id,ts\n7,1506816000000\n", "is not text in UTF-8"),
    ],
)
def test_an_invalid_file_is_one_sentence_with_file_and_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as error:
        read(Source(path), KINDS)
    sentence = str(error.value)
    assert said in sentence
    assert str(path) in sentence
    assert "\n" not in sentence


def test_times_in_ms_where_seconds_are_expected_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"clicks.csv: column 'ts': .* set dataset.time_unit=ms"):
        read(Source(write(tmp_path, GOOD)), {"ts": "s"})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_whole_times_never_lose_a_digit(tmp_path: Path, unit: str) -> None:
    raw = {"s": 1506816001, "ms": 1506816001003, "us": 1506816001003999, "ns": 1506816001003999999}[unit]
    table = read(Source(write(tmp_path, f"ts\n{raw}\n".encode())), {"ts": unit})
    assert table["ts"].tolist() == [1506816001000 if unit == "s" else 1506816001003]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_with_an_exponent_never_lose_a_digit(tmp_path: Path, unit: str) -> None:
    """As numpy.savetxt writes them: 1.506816001003000000e+12."""
    digits = {"s": "1506816001250", "ms": "1506816001003"}.get(unit, "1506816001003999")
    power = {"s": 9, "ms": 12, "us": 15, "ns": 18}[unit]
    text = f"{digits[0]}.{digits[1:]}{'0' * 9}"
    table = read(Source(write(tmp_path, f"ts\n{text}e+{power}\n{text}E{power}\n".encode())), {"ts": unit})
    assert table["ts"].tolist() == 2 * [1506816001250 if unit == "s" else 1506816001003]
    tiny = read(Source(write(tmp_path, b"ts\n3\n0.5\n25e-1\n1e-999999999\n")), {"ts": f"relative {unit}"})
    assert tiny["ts"].tolist() == {"s": [3000, 500, 2500, 0], "ms": [3, 0, 2, 0]}.get(unit, [0, 0, 0, 0])


def test_floats_are_the_times_that_their_digits_say(tmp_path: Path) -> None:
    moments = np.random.default_rng(0).integers(1_400_000_000_000, 1_700_000_000_000, 1_000)
    moments[0] = 1_699_026_345_150
    path = tmp_path / "t.parquet"
    times = {"s": moments / 1_000, "ms": moments + 0.5 * (moments % 2), "d": moments / 86_400_000}
    pd.DataFrame(times).to_parquet(path)
    for unit in ("s", "ms", "d"):
        assert (read(Source(path), {unit: unit})[unit] == moments).all()


def test_relative_times_and_dates_are_taken(tmp_path: Path) -> None:
    assert read(Source(write(tmp_path, b"ts\n3\n0\n")), {"ts": "ms"})["ts"].tolist() == [3, 0]
    dated = write(tmp_path, b"ts\n2017-10-01T00:00:00Z\n2017-10-01 02:00:00.001+02:00\n2017-10-01\n")
    assert read(Source(dated), {"ts": "iso"})["ts"].tolist() == [1506816000000, 1506816000001, 1506816000000]
    with pytest.raises(InputError, match="column 'ts', row 2: 'soon' is not a date"):
        read(Source(write(tmp_path, b"ts\n2017-10-01\nsoon\n")), {"ts": "iso"})


def test_fractions_of_a_second_are_kept(tmp_path: Path) -> None:
    table = read(Source(write(tmp_path, b"ts\n881250949.25\n881250950\n")), {"ts": "s"})
    assert table["ts"].tolist() == [881250949250, 881250950000]


def test_optional_columns_may_lack_values_or_be_absent(tmp_path: Path) -> None:
    path = write(tmp_path, b"a,t,w\n3.0,1506816000000,1.5\n,,\n")
    table = read(Source(path), {"a": "code?", "t": "ms?", "w": "number?", "gone": "code?"})
    assert table["a"].tolist() == [3, -1]
    assert table["t"].tolist() == [1506816000000, UNKNOWN_TIME]
    np.testing.assert_array_equal(table["w"], np.array([1.5, np.nan], np.float32))
    assert "gone" not in table


def test_numbers_that_are_none_name_their_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'w', row 2: 'high' is not a number"):
        read(Source(write(tmp_path, b"w\n1\nhigh\n")), {"w": "number"})
    with pytest.raises(InputError, match="column 'w', row 2: the value is infinite"):
        read(Source(write(tmp_path, b"w\n1\ninf\n")), {"w": "number"})
    with pytest.raises(InputError, match="column 'a', row 2: the value is not a whole number"):
        read(Source(write(tmp_path, b"a\n1\n1.5\n")), {"a": "code"})
    with pytest.raises(InputError, match="column 'a', row 2: 'x' is not a whole number"):
        read(Source(write(tmp_path, b"a\n1\nx\n")), {"a": "whole"})


@pytest.mark.parametrize("words", ["1 0", "1.0 0", "true False", "TRUE false"])
def test_flags_are_numbers_or_words(tmp_path: Path, words: str) -> None:
    path = write(tmp_path, f"c\n{words.replace(' ', chr(10))}\n".encode())
    assert read(Source(path), {"c": "flag"})["c"].tolist() == [True, False]


def test_flags_of_a_typed_file(tmp_path: Path) -> None:
    for values in ([True, False], [1, 0], [1.0, 0.0], ["1", "0"]):
        pq.write_table(pa.table({"c": values}), tmp_path / "flags.parquet")
        assert read(Source(tmp_path / "flags.parquet"), {"c": "flag"})["c"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("1 2", "row 2: '2' is neither 0 nor 1"),
        ("1 0.5", "row 2: '0.5' is neither 0 nor 1"),
        ("yes no", "row 1: 'yes' is not a number"),
        ("true 1", "row 1: 'true' is not a number"),
        ("1 nan", "row 2: the value is missing"),
    ],
)
def test_what_is_no_flag_names_its_row(tmp_path: Path, words: str, message: str) -> None:
    path = write(tmp_path, f"c\n{words.replace(' ', chr(10))}\n".encode())
    with pytest.raises(InputError, match=f"column 'c', {message}"):
        read(Source(path), {"c": "flag"})


@pytest.mark.parametrize(("cut", "name"), [(30, "clicks.csv.gz"), (-4, "clicks.csv.gz")])
def test_a_truncated_gzip_file_is_rejected(tmp_path: Path, cut: int, name: str) -> None:
    path = zip_of(tmp_path, GOOD * 50, cut)
    with pytest.raises(InputError, match=f"{name} is a damaged gzip file"):
        read(Source(path), KINDS)


def test_a_file_that_is_not_gzipped_despite_its_name_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"clicks.csv.gz is not gzipped, .* call it clicks.csv"):
        read(Source(write(tmp_path, GOOD, "clicks.csv.gz")), KINDS)


def test_a_truncated_parquet_file_and_decimal_ids_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    pd.DataFrame({"user_id": [1.0, 2.0], "ts": [1, 2]}).to_parquet(path)
    with pytest.raises(InputError, match=r"clicks.parquet: column 'user_id', row 1: 1.0 is stored as a decimal"):
        read(Source(path), KINDS)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"clicks.parquet is a damaged Parquet file"):
        read(Source(path), KINDS)


def test_ids_of_parquet_keep_their_kind(tmp_path: Path) -> None:
    large = 2**64 - 1
    columns = {
        "small": np.array([1, 2], np.int32),
        "large": np.array([large, 2], np.uint64),
        "unsigned": np.array([3, 2], np.uint64),
        "coded": pd.Categorical([8, 9]),
        "named": pd.Categorical(["x", "007"]),
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "c.parquet")
    table = read(Source(tmp_path / "c.parquet"), dict.fromkeys(columns, "id"))
    assert {name: ids.tolist() for name, ids in table.items()} == {
        "small": [1, 2],
        "large": [str(large), "2"],
        "unsigned": [3, 2],
        "coded": [8, 9],
        "named": ["x", "007"],
    }
    with pytest.raises(InputError, match=r"c.parquet: column 'large' cannot be used"):
        read(Source(tmp_path / "c.parquet"), {"large": "whole"})
    with pytest.raises(InputError, match=r"c.parquet: column 'named', row 1: 'x' is not a number"):
        read(Source(tmp_path / "c.parquet"), {"named": "number"})


def test_a_missing_file_names_the_closest_match(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "clicks.csv")
    with pytest.raises(InputError, match=r"click.csv: no such file; did you mean 'clicks.csv'"):
        read(Source(tmp_path / "click.csv"), KINDS)
    with pytest.raises(InputError, match="there is no folder"):
        read(Source(tmp_path / "gone" / "clicks.csv"), KINDS)
    with pytest.raises(InputError, match="is a folder: name a file in it"):
        read(Source(tmp_path), KINDS)


@pytest.mark.parametrize(
    ("name", "header", "expected"),
    [
        ("a.csv", b"user,item", {",": ["user", "item"]}),
        ("a.csv", b"user;item", {",": ["user;item"], ";": ["user", "item"]}),
        ("a.tsv", b'user\t"item, or none"', {"\t": ["user", "item, or none"], ",": ['user\t"item', 'or none"']}),
        ("a.dat", b"user::item", {",": ["user::item"], "::": ["user", "item"]}),
        ("a.txt", b"a|b,c", {",": ["a|b", "c"], "|": ["a", "b,c"]}),
    ],
)
def test_the_layouts_of_a_header_begin_with_that_which_is_read(
    name: str, header: bytes, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    found = layouts(write(tmp_path, header + b"\r\n1,2\n", name))
    assert list(found.items()) == list(expected.items())


def test_a_parquet_file_has_one_layout(tmp_path: Path) -> None:
    pd.DataFrame({"user": [1], "item": [2]}).to_parquet(tmp_path / "a.parquet")
    assert layouts(tmp_path / "a.parquet") == {None: ["user", "item"]}
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"b.parquet is a damaged Parquet file"):
        layouts(tmp_path / "b.parquet")


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=20))
def test_whole_ids_stay_numbers(ids: list[int]) -> None:
    read_back = ids_of([str(i) for i in ids], "here")
    assert read_back.dtype == np.int64
    assert read_back.tolist() == ids


@given(st.lists(st.text("0123456789ab-", min_size=1, max_size=6), max_size=20))
def test_other_ids_stay_the_very_text(ids: list[str]) -> None:
    with_a_name = [*ids, "007"]
    assert ids_of(with_a_name, "here").tolist() == with_a_name


def test_a_header_may_be_numbers(tmp_path: Path) -> None:
    found = read(Source(write(tmp_path, b"1,2\n3,4\n5,6\n")), {"2": "id"}, notes={})
    assert found["2"].tolist() == [4, 6]
