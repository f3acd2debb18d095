"""What a file or folder is taken for: every well-known format, those that are alike, and folders of several."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from made_files import MADE, write

from recx.core.errors import InputError
from recx.parts.dataset.known_files import formats
from recx.parts.dataset.recognised_files import known_as, require_format, right_dataset
from recx.parts.dataset.svmlight import Svmlight
from recx.parts.dataset.table import Table


@pytest.mark.parametrize("name", MADE)
def test_a_file_of_every_format_is_recognised(name: str, tmp_path: Path) -> None:
    known = known_as(write(tmp_path, name))
    assert known is not None
    assert known.name == name


@pytest.mark.parametrize("name", MADE)
def test_so_is_one_that_is_packed(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    for file in [file for file in tmp_path.rglob("*") if file.is_file()]:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    known = known_as(path if path == tmp_path else path.with_name(f"{path.name}.gz"))
    assert known is not None
    assert known.name == name


@pytest.mark.parametrize("name", [name for name in MADE if len(MADE[name]) == 1])
def test_a_folder_with_one_file_of_a_format_is_that_file(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    (tmp_path / "README.md").write_text("# About the data\n\nIt is made up.\n", encoding="utf-8")
    known = known_as(tmp_path)
    assert known is not None
    assert (known.name, known.path) == (name, path)


@pytest.mark.parametrize(
    "text",
    [
        "user,item,time\na,b,1\n",
        "A1RSDE90N6RSZF,0439893577,5.0,1186704000,extra\n",
        "1 2 3\n4,5\n",
        "1\t2\t9\t881250949\n",
        "a text\n",
        '{"user_id": "a", "asin": "b"}\n',
    ],
)
def test_what_is_of_no_format_is_not_taken_for_one(text: str, tmp_path: Path) -> None:
    file = tmp_path / "u.data"
    file.write_text(text, encoding="utf-8")
    assert known_as(file) is None


def test_one_row_that_is_unlike_the_format_rules_it_out(tmp_path: Path) -> None:
    file = write(tmp_path, "amazon_ratings_2014")
    with file.open("a", encoding="utf-8") as rows:
        rows.write("B000000001,A0000000000001,5.0,880000000\n")
    assert known_as(file) is None


def test_a_row_cut_off_where_looking_ends_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "u.data"
    file.write_text("1\t2\t3\t881250949\n" * 10_000, encoding="utf-8")
    known = known_as(file)
    assert known is not None
    assert known.name == "movielens_100k"


@pytest.mark.parametrize("second", ["recbole", "amazon_ratings_2018", "mind"])
def test_a_folder_of_two_formats_names_both(second: str, tmp_path: Path) -> None:
    write(tmp_path, "movielens_100k")
    write(tmp_path, second)
    with pytest.raises(InputError, match=r"several kinds of data, .*MovieLens ratings") as caught:
        known_as(tmp_path)
    assert f"dataset.path={tmp_path}/" in str(caught.value)
    assert str(caught.value).count("(") >= 1


def test_a_folder_of_two_files_of_a_format_names_both(tmp_path: Path) -> None:
    for name in ("S1", "S2"):
        write(tmp_path, "svmlight").rename(tmp_path / f"{name}.rows")
    with pytest.raises(InputError, match=r"2 files of .*, such as S1.rows and S2.rows: name the file, such as"):
        known_as(tmp_path)


def test_a_folder_of_folds_asks_for_one(tmp_path: Path) -> None:
    for fold in ("Fold1", "Fold2"):
        write(tmp_path / fold, "svmlight_folder")
    with pytest.raises(InputError, match=r"holds 2 folders of data, such as Fold1 .* and Fold2 .*dataset.path=.*Fold1"):
        known_as(tmp_path)


@pytest.mark.parametrize("found", [name for name in MADE if not formats()[name].folder])
@pytest.mark.parametrize("wanted", ["amazon_ratings_2014", "amazon_reviews_2018", "user_item", "recbole"])
def test_the_wrong_format_for_a_file_names_the_right_one(wanted: str, found: str, tmp_path: Path) -> None:
    path = write(tmp_path, found)
    if wanted == found:
        require_format([path], wanted)
        return
    with pytest.raises(InputError, match=r"dataset.format=\w+ is for .*, and this seems to be .*: choose dataset=\w+$"):
        require_format([path], wanted)


def test_a_file_of_no_format_shows_its_first_row(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a;b;c\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"something else \('a;b;c'\): choose dataset=table .*dataset.format=null"):
        require_format([file], "amazon_ratings_2014")


def test_a_dataset_that_reads_another_format_is_told_the_right_one(tmp_path: Path) -> None:
    path = write(tmp_path, "amazon_ratings_2018")
    assert right_dataset(Svmlight(str(path))).endswith("which dataset=amazon_ratings_2018 reads")
    assert right_dataset(Table(str(path), format="user_item")) == ""  # it says so itself
    assert right_dataset(Svmlight(str(write(tmp_path, "svmlight")))) == ""
    assert right_dataset(Svmlight("/nowhere")) == ""
