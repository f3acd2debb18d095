from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from recx.core.errors import InputError
from recx.core.progress import shown_on
from recx.storage.readers.attributes import Attributes, id_column, read_attributes
from recx.storage.readers.file_sets import files_of
from recx.storage.readers.opened import Layout, opened
from recx.storage.readers.sources import Source


def source_of(path: Path) -> Source:
    return opened(files_of(str(path), "dataset.items"), Layout(), [])


def read(path: Path, **kinds: str) -> Attributes:
    source = source_of(path)
    return read_attributes(source, id_column(source, "item", "items", "dataset.items_id"), kinds, "dataset.items_as")


def test_kinds_are_seen_in_names_and_values(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(
        "movieId,title,genres,year,released,studio_id,price\n"
        "1,Toy Story,Animation|Comedy,1995,1995-11-22,7,2.5\n"
        "2,Heat,Action|Comedy|Action,1996,,9,\n"
        "3,Jumanji,,1997,1995-12-15,7,4\n"
    )
    found = read(tmp_path / "films.csv")
    assert found.ids.tolist() == [1, 2, 3]
    assert list(found.numbers) == ["year", "price"]
    assert np.array_equal(found.numbers["price"], np.float32([2.5, np.nan, 4]), equal_nan=True)
    assert {name: codes.tolist() for name, codes in found.classes.items()} == {"studio_id": [0, 1, 0]}
    assert found.lists["genres"].indptr.tolist() == [0, 2, 4, 4]
    assert found.lists["genres"].code.tolist() == [1, 2, 0, 2]  # Action, Animation, Comedy
    assert found.texts["title"].tolist() == ["Toy Story", "Heat", "Jumanji"]
    assert found.times["released"].tolist() == [816998400000, np.iinfo(np.int64).max, 818985600000]
    assert found.embedding is None


def test_the_kind_that_is_set_is_taken(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text("movieId,year,note\n1,1995,x y\n2,1996,y\n3,1995,\n")
    found = read(tmp_path / "films.csv", year="class", note="classes")
    assert found.classes["year"].tolist() == [0, 1, 0]
    assert found.lists["note"].code.tolist() == [0, 1, 1]
    assert not read(tmp_path / "films.csv", year="none").numbers
    with pytest.raises(InputError, match=r"dataset.items_as=.years: ….: .*films.csv has no such column: did you mean"):
        read(tmp_path / "films.csv", years="class")


def test_types_of_recbole(tmp_path: Path) -> None:
    (tmp_path / "x.item").write_text(
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\tscore:float\tvec:float_seq\n"
        "1\tToy Story\t1995\tAnimation Comedy\t2\t0.5 1\n2\tHeat\tunknown\tAction\t3\t-2 0.25\n"
    )
    found = read(tmp_path / "x.item")
    assert found.texts["movie_title:token_seq"].tolist() == ["Toy Story", "Heat"]
    assert found.classes["release_year:token"].tolist() == [0, 1]
    assert found.lists["class:token_seq"].code.tolist() == [1, 2, 0]
    assert found.numbers["score:float"].tolist() == [2, 3]
    assert found.embedding is not None
    assert found.embedding.tolist() == [[0.5, 1], [-2, 0.25]]
    assert read(tmp_path / "x.item", vec="none").embedding is None
    with pytest.raises(InputError, match=r"column 'release_year:token', row 2: 'unknown' is not a number"):
        read(tmp_path / "x.item", release_year="number")


def test_a_few_values_that_are_no_numbers_are_missing(tmp_path: Path) -> None:
    rows = "".join(f"{at},{1900 + at}\n" for at in range(199))
    (tmp_path / "films.csv").write_text(f"item,year\n{rows}199,unknown\n")
    found = read(tmp_path / "films.csv", year="number").numbers["year"]
    assert found[:199].tolist() == [1900 + at for at in range(199)]
    assert np.isnan(found[199])


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    rows = "".join(f"{at};{at};{at},{100 + at};{at}\n" for at in range(1, 200))
    (tmp_path / "films.csv").write_text(f"item;price;pages;few\n{rows}200;12,50;2,500;7,5\n")
    source = opened(files_of(str(tmp_path / "films.csv"), "dataset.items"), Layout(stage=""), ["item"])
    found = read_attributes(source, "item", {"few": "number"}, "dataset.items_as")
    assert found.numbers["price"].tolist() == [*range(1, 200), 12.5]
    assert found.numbers["few"].tolist() == [*range(1, 200), 7.5]  # no value counts as missing
    assert "pages" in found.texts  # 2,500 could be either


def test_a_column_that_is_left_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "films.jsonl").write_text('{"item": 1, "cast": [["x"]], "year": 1999}\n{"item": 2, "year": 2001}\n')
    with pytest.raises(InputError, match="'cast' is a list or an object"):
        read(tmp_path / "films.jsonl")
    assert read(tmp_path / "films.jsonl", cast="none").numbers["year"].tolist() == [1999, 2001]


def test_lists_of_json_are_classes_and_vectors(tmp_path: Path) -> None:
    rows = ['{"item": 1, "tags": ["b", "a"], "e": [0.5, 1]}', '{"item": 2, "tags": []}', '{"item": 3, "e": [2.5, 0.5]}']
    (tmp_path / "films.jsonl").write_text("\n".join(rows) + "\n")
    found = read(tmp_path / "films.jsonl")
    assert found.lists["tags"].indptr.tolist() == [0, 2, 2, 2]
    assert found.lists["tags"].code.tolist() == [0, 1]
    assert np.array_equal(found.embedding, [[0.5, 1], [np.nan, np.nan], [2.5, 0.5]], equal_nan=True)  # type: ignore[arg-type]


def test_numbers_whose_commas_are_unclear_are_said_to_be_text(tmp_path: Path) -> None:
    out = io.StringIO()
    (tmp_path / "films.csv").write_text("item;pages\n" + "".join(f"{at};{at},500\n" for at in range(1, 100)))
    with shown_on(Console(file=out)):
        source = opened(files_of(str(tmp_path / "films.csv"), "dataset.items"), Layout(stage=""), ["item"])
        assert "pages" in read_attributes(source, "item", {}, "dataset.items_as").texts
    assert "such as 1,500, could separate thousands or decimals" in " ".join(out.getvalue().split())


def test_lists_vectors_and_times_of_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "item": ["a", "b"],
            "tags": pa.array([["x", "y"], None]),
            "codes": pa.array([[3, 1, 3], []], pa.list_(pa.int32())),
            "vector": pa.array([[0.5, 1.0], None], pa.list_(pa.float32())),
            "made": pa.array([1_000, None], pa.timestamp("ms")),
            "new": [True, False],
        }
    )
    pq.write_table(table, tmp_path / "items.parquet")
    found = read(tmp_path / "items.parquet")
    assert found.lists["tags"].indptr.tolist() == [0, 2, 2]
    assert found.lists["codes"].code.tolist() == [0, 1]
    assert np.array_equal(found.embedding, [[0.5, 1], [np.nan, np.nan]], equal_nan=True)  # type: ignore[arg-type]
    assert found.times["made"].tolist() == [1_000, np.iinfo(np.int64).max]
    assert found.classes["new"].tolist() == [1, 0]


def test_an_embedding_in_columns(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,e0,e1,e10\n5,1,2,3\n6,,4,5\n")
    with_gap = read(tmp_path / "items.csv")
    assert with_gap.embedding is None
    assert list(with_gap.numbers) == ["e0", "e1", "e10"]
    (tmp_path / "items.csv").write_text("item,e1,e0\n5,1,2\n6,,4\n")
    found = read(tmp_path / "items.csv").embedding
    assert np.array_equal(found, [[2, 1], [4, np.nan]], equal_nan=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("a,b", "the column of the items' ids is none of a, b by its name: set dataset.items_id to it"),
        ("movie_id,product_id", "the column of the items' ids could be 'movie_id' or 'product_id'"),
    ],
)
def test_ids_that_are_not_seen_are_asked_for(tmp_path: Path, header: str, said: str) -> None:
    (tmp_path / "items.csv").write_text(f"{header}\n1,2\n")
    with pytest.raises(InputError, match=said):
        read(tmp_path / "items.csv")
