"""Files of users and items, and what is read from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.event_frame import Duplicates
from recx.experiment.model.folder import Kept
from recx.jobs.predict.files import alike, all_alike, named, read_events, read_ids
from recx.parts.dataset.table import Table


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("3\n1\n2\n", [3, 1, 2]),
        ("3\n\n\n1", [3, 1]),
        ("\ufeff3\r\n1\r\n", [3, 1]),
        ("user\n3\n1\n", [3, 1]),
        ("item,user,x\na,3,\nb,1,\n", [3, 1]),
        ("user;x\n3;2\n1;\n", [3, 1]),
        ("\ufeffuser\na\nb\n", ["a", "b"]),
        ("007\n7\n", ["007", "7"]),
        ("user\na b\nc\n", ["a b", "c"]),
        ('"x, y"\nz\n', ["x, y", "z"]),
        ("user\nx\nuser\ny\n", ["x", "y"]),  # files that were joined
    ],
)
def test_ids_stand_one_per_line_or_in_a_column(tmp_path: Path, text: str, ids: list[object]) -> None:
    (tmp_path / "users.csv").write_bytes(text.encode())
    assert read_ids(tmp_path / "users.csv", "user").tolist() == ids


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"user\n", "names no user"),
        (b"a,b\n1,2\n", "its first line has 2 columns separated by ',', and none is called 'user'"),
        (b"a b\nc d\n", "its first line has 2 columns separated by ' '"),
        (b"1\n   \n", "row 2: the value is missing"),
        (b"1\n2,3\n", "row 2: 2 columns instead of 1"),
        (b"user_id\n1\n", "could be an id or the name of a column: write user there"),
        (b"1\nNaN\n", "row 2: the value is missing"),
        (b"1.0\n2.0\n", "is a decimal number"),
        (b"1\nid\n", "is a title or a total among whole numbers"),
        (b"\xff\xd8\xff\xe0 image", "is a JPEG image"),
        (b"a\x00b\n", "binary"),
        (b"a\xffb\n", "not text in UTF-8"),
    ],
)
def test_what_is_no_list_of_ids_is_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "users.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_ids(tmp_path / "users.csv", "user")


def test_a_parquet_file_needs_the_column(tmp_path: Path) -> None:
    pd.DataFrame({"user": [3, 1], "x": ["a", "b"]}).to_parquet(tmp_path / "users.parquet")
    assert read_ids(tmp_path / "users.parquet", "user").tolist() == [3, 1]
    with pytest.raises(InputError, match=r"has no column 'item' \(its columns: user, x\)"):
        read_ids(tmp_path / "users.parquet", "item")
    pd.DataFrame({"user": [3.0, np.nan]}).to_parquet(tmp_path / "users.parquet")
    with pytest.raises(InputError, match="row 2: the value is missing"):
        read_ids(tmp_path / "users.parquet", "user")


def test_ids_take_the_type_of_the_model_s() -> None:
    numbers, texts = Entities(np.array([7, 12])), Entities(np.array(["7", "x"], dtype=object))
    found = alike(np.array([12, 7, 12]), texts)
    assert (found.ids.tolist(), found.repeated, found.unlike) == (["12", "7"], 1, 0)
    found = alike(np.array(["12", "x", "007", "12"], dtype=object), numbers)
    assert (found.ids.tolist(), found.ids.dtype, found.repeated, found.unlike) == ([12], np.int64, 1, 2)
    assert alike(np.array([5, 5]), Entities(np.zeros(0, dtype=object))).ids.tolist() == [5]
    with pytest.raises(InputError, match=r"users.csv: '007' is no user of the model, whose ids are whole numbers"):
        all_alike(np.array(["12", "007"], dtype=object), numbers, "users.csv")


def test_typed_ids_are_numbers_if_all_are() -> None:
    assert named(["3", "4"]).tolist() == [3, 4]
    assert named(["3", "x"]).tolist() == ["3", "x"]
    with pytest.raises(InputError, match=r"--user.*the value is missing"):
        named([""])


@dataclass(frozen=True)
class Other:
    """A dataset that is no table."""

    time_unit: str = "s"
    duplicates: Duplicates = "drop"


def kept(monkeypatch: pytest.MonkeyPatch, times: bool, duplicates: Duplicates = "drop") -> Kept:
    """Return what is read of a model of items 7 and 8 whose run had such a dataset."""
    dataset = SimpleNamespace(dataset=Other(duplicates=duplicates))
    monkeypatch.setattr("recx.jobs.predict.files.build.experiment", lambda config: dataset)
    card = {"steps": {"fold": {"first_request": "2020-01-01" if times else None}}}
    chain = SimpleNamespace(items=Entities(np.array([7, 8])))
    return Kept(Path(), chain, {}, card, {})  # type: ignore[arg-type]


def test_events_of_other_datasets_have_columns_of_fixed_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times count what those of the run's data count; events of unknown items (9, x) are left out."""
    path = tmp_path / "events.csv"
    path.write_text("item,user,time,weight\n8,a,1600000060,2\nx,b,1600000000,1\n7,a,1600000000,1\n9,a,1600000000,1\n")
    events, unknown = read_events(path, kept(monkeypatch, times=True))
    assert unknown == 2
    assert events.time is not None
    assert events.users.ids.tolist() == ["a", "b"]
    assert events.items.ids[events.item].tolist() == [7, 8]
    assert (events.indptr.tolist(), events.weight.tolist()) == ([0, 2, 2], [1, 2])
    assert events.time.tolist() == [1_600_000_000_000, 1_600_000_060_000]


@pytest.mark.parametrize(("duplicates", "counted"), [("drop", 1), ("keep", 2)])
def test_repeated_events_count_as_in_the_data_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duplicates: Duplicates, counted: int
) -> None:
    path = tmp_path / "events.csv"
    path.write_text("user,item,time\na,7,1600000000\na,7,1600000000\n")
    events, _ = read_events(path, kept(monkeypatch, times=True, duplicates=duplicates))
    assert len(events) == counted


@pytest.mark.parametrize(
    ("text", "times", "said"),
    [
        ("user,item\n1,7\n", True, "column 'time' is missing"),
        ("user,item,time\n1,7,1600000000\n", False, "has a column 'time', and the run's data has no times: sort"),
        ("user,item,time\n1,7,1600000000000\n", True, "count ms, not s"),
        ("user,item,time\n1,7,\n", True, "the value is missing"),
        ("user,item,label\n1,7,0\n1,8,1\n2,8,0\n2,7,0.5\n", False, "'label' is 0 in row 1, which could mean"),
        ("user,item,weight\n1,7,nan\n", False, "weight"),
        ("user,item,weight\n1,7,0\n", False, "no row has a weight above 0"),
        ("who,what\n1,7\n", False, "column 'user' is missing"),
        ("user,item\n", False, "has a header but no rows"),
    ],
)
def test_events_that_could_be_misread_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, times: bool, said: str
) -> None:
    path = tmp_path / "events.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_events(path, kept(monkeypatch, times=times))


def test_the_tables_and_folds_beside_a_run_s_events_are_not_read_with_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model knows its items; events of its test file are none of the history's."""
    path = tmp_path / "events.csv"
    path.write_text("item,user\n8,a\n7,a\n")
    gone = str(tmp_path / "gone.csv")
    of_run = Table(items=gone, users=gone, valid=gone, test=gone, slates=gone, items_embedding=gone)
    made = kept(monkeypatch, times=False)
    monkeypatch.setattr("recx.jobs.predict.files.build.experiment", lambda config: SimpleNamespace(dataset=of_run))
    events, unknown = read_events(path, made)
    assert (events.items.ids[events.item].tolist(), unknown) == ([8, 7], 0)
