from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.table import Table
from recx.storage.cache.keys import key_of_part


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("user,item,time\nb,3,5\nb,1,6\na,3,7\n")
    Path("items.csv").write_text("item,genre,title,created,tags\n1,x,One,1970-01-02,p|q\n2,y,Two,,q\n3,x,,,\n1,z,,,\n")
    Path("users.csv").write_text("user,age\na,30\nc,40\n")
    return tmp_path


def load(**settings: Any) -> Interactions:
    return Table("events.csv", relative_times=True, items="items.csv", **settings).load()


def test_items_and_users_are_described(here: Path) -> None:
    events = load(users="users.csv")
    items, users = events.items, events.users
    assert items.ids.tolist() == [1, 2, 3]
    assert items.ids[events.item].tolist() == [3, 1, 3]
    assert items.table["category"].tolist() == [0, 1, 0]
    assert items.table["text"].tolist() == ["One", "Two", ""]
    assert items.table["created_at"].tolist() == [86_400_000, UNKNOWN_TIME, UNKNOWN_TIME]
    assert items.lists["tags"].indptr.tolist() == [0, 2, 3, 3]
    assert items.lists["tags"].code.tolist() == [0, 1, 1]
    assert users.ids.tolist() == ["b", "a"]
    assert np.array_equal(users.table["age"], [np.nan, 30], equal_nan=True)
    counts = {"items": 3, "items_without_events": 1, "items_not_described": 0, "item_rows_repeated": 1}
    assert counts.items() <= dict(events.notes).items()
    assert {"users_not_described": 1, "user_rows_without_events": 1}.items() <= dict(events.notes).items()


def test_ids_that_are_numbers_on_one_side_only(here: Path) -> None:
    Path("items.csv").write_text("item,genre\n1,x\nA7,y\n3,x\n")
    events = load()
    assert events.items.ids.tolist() == [1, 3]
    assert events.notes["item_rows_of_other_ids"] == 1
    Path("items.csv").write_text(f"item,genre\n1,x\n--3,y\n{10**20},y\n3,x\n")
    events = load()
    assert events.items.ids.tolist() == [1, 3]
    assert events.notes["item_rows_of_other_ids"] == 2
    Path("events.csv").write_text("user,item,time\nb,3,5\nb,a1,6\n")
    Path("items.csv").write_text("item,genre\n1,x\n3,x\n")
    events = load()
    assert events.items.ids.tolist() == ["1", "3", "a1"]
    assert events.items.table["category"].tolist() == [0, 0, -1]


def test_rows_of_descriptions_are_counted_for_what_they_are(here: Path) -> None:
    Path("items.csv").write_text("item;price\n1;1,5\n3;2\nitem;price\n")  # the delimiter is that by which there are ids
    Path("users.csv").write_text("user,age\na,30\nuser,age\nc,40\na,31\nb,1\nc,41\n")
    events = load(users="users.csv")
    assert events.items.table["price"].tolist() == [1.5, 2]
    assert events.users.table["age"].tolist() == [1, 30]
    counts = {"user_rows_without_events": 1, "user_rows_repeated": 2, "users_not_described": 0, "repeated_headers": 2}
    assert counts.items() <= dict(events.notes).items()


@pytest.mark.parametrize("born", ["1400000000", "20140513", "1400000000000"])
@pytest.mark.parametrize("name", ["created_at", "published", "created_at:float"])
def test_the_creation_time_of_items_as_a_number(here: Path, born: str, name: str) -> None:
    Path("items.tsv").write_text(f"item\t{name}\n1\t{born}\n3\t{born}\n")
    items = Table("events.csv", relative_times=True, items="items.tsv").load().items
    day = 1_399_939_200_000 if born == "20140513" else 1_400_000_000_000
    assert items.table["created_at"].tolist() == [day, day]


def test_columns_never_stand_for_what_they_are_not(here: Path) -> None:
    Path("items.csv").write_text("item,genre,created_at,category,text\n1,x,7,p,3\n3,y,8,p,4\n")
    table = load().items.table
    assert {name: column.tolist() for name, column in table.items()} == {
        "genre": [0, 1],
        "category": [0, 0],
        "created_at_number": [7, 8],
        "text_number": [3, 4],
    }


def test_a_key_that_only_the_second_file_of_json_has(here: Path) -> None:
    Path("1.jsonl").write_text('{"item": 1, "genre": "x"}\n')
    Path("2.jsonl").write_text('{"price": 3, "item": 3}\n')
    items = Table("events.csv", relative_times=True, items=("1.jsonl", "2.jsonl")).load().items
    assert items.table["category"].tolist() == [0, -1]
    assert np.array_equal(items.table["price"], [np.nan, 3], equal_nan=True)


def test_an_embedding_beside_the_table(here: Path) -> None:
    np.save("e.npy", np.arange(8, dtype=np.float64).reshape(4, 2))
    assert load(items_embedding="e.npy").items.embedding.tolist() == [[0, 1], [2, 3], [4, 5]]  # type: ignore[union-attr]
    np.save("e.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"e.npy holds float64 of shape .3, 2., and must hold .* of the 4 rows"):
        load(items_embedding="e.npy")
    Path("e.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match=r"e.npy is not an array of NumPy"):
        load(items_embedding="e.npy")
    with pytest.raises(InputError, match=r"dataset.items_embedding is set, and dataset.items is not"):
        Table("events.csv", relative_times=True, items_embedding="e.npy").load()


def test_a_table_of_other_items_is_refused(here: Path) -> None:
    Path("items.csv").write_text("item,genre\n8,x\n9,y\n")
    with pytest.raises(
        InputError, match=r"dataset.items describes none of the items .*, whose ids are such as \d+ and there 8:"
    ):
        load()
    with pytest.raises(InputError, match=r"dataset.items_as.genre=colour: did you mean|dataset.items_as.genre=colour"):
        load(items_as={"genre": "colour"})


def test_the_cache_sees_the_tables(here: Path) -> None:
    table = Table("events.csv", items="items.csv", users="users.csv")
    keys = {key_of_part(table)}
    for name in ("items.csv", "users.csv"):
        Path(name).write_text(Path(name).read_text() + "9,9\n")
        keys.add(key_of_part(table))
    assert len(keys) == 3
