from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.parts.dataset.sequences import Sequences


def test_a_small_file_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(b"\xef\xbb\xbf7 30 10 30\r\n\r\n8\r\n5\t10  20\r\n")
    events = Sequences(str(path)).load()
    assert events.users.ids.tolist() == [7, 5]
    assert events.items.ids.tolist() == [10, 20, 30]
    assert events.indptr.tolist() == [0, 3, 5]
    assert events.item.tolist() == [2, 0, 2, 0, 1]
    assert events.time is None
    assert events.weight.tolist() == [1] * 5
    assert dict(events.notes) == {"blank_lines": 1, "users_without_items": 1}


@pytest.mark.parametrize(
    "header",
    [
        "user_id:token item_id_list:token_seq item_id:token",  # RecBole's benchmark files (public report 36)
        "user_id:token\titem_id_list:token_seq\titem_id:token",
        "session_id:token\titem_id_list:token_seq",
        "\nuser_id item_id_list item_id",
        "user items",
        "UserID ItemIDs",
    ],
)
def test_a_header_is_no_user(tmp_path: Path, header: str) -> None:
    plain, headed = tmp_path / "plain.txt", tmp_path / "headed.txt"
    lines = "u1\ti1 i2\ti3\nu2\ti2\ti1\n"
    plain.write_text(lines)
    headed.write_text(f"{header}\n{lines}")
    one, other = Sequences(str(plain)).load(), Sequences(str(headed)).load()
    assert other.users.ids.tolist() == one.users.ids.tolist() == ["u1", "u2"]
    assert other.items.ids.tolist() == one.items.ids.tolist() == ["i1", "i2", "i3"]
    assert other.item.tolist() == one.item.tolist() == [0, 1, 2, 1, 0]
    assert dict(other.notes) == {**one.notes, "header_lines": 1, "blank_lines": header.count("\n")}


@pytest.mark.parametrize("first", ["user i1 i2", "u1 item items", "users 1 2", "user_id:token", "item user"])
def test_ids_that_look_a_little_like_a_header_are_ids(tmp_path: Path, first: str) -> None:
    path = tmp_path / "s.txt"
    path.write_text(f"{first} x\nu9 i9\n")
    assert Sequences(str(path)).load().n_users == 2


@pytest.mark.parametrize(
    "header",
    [
        "user_id:token item_id:token timestamp:float",
        "user_id:token item_id:token item_id_list:token_seq",  # the last item first
        "user_id:token item_id_list:token_seq timestamp_list:float_seq item_id:token",
        "item_id:token title:token_seq",
    ],
)
def test_a_header_with_other_columns_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "s.txt"
    path.write_text(f"{header}\nu1 i1 i2 i3\n")
    with pytest.raises(InputError, match=r"s.txt, line 1: the header names the columns .*dataset=table"):
        Sequences(str(path)).load()


@given(st.lists(st.lists(st.text("0123456789ab", min_size=1, max_size=3), min_size=1, max_size=6), min_size=1))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, sequences: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("sequences") / "s.txt"
    path.write_text("".join(f"u{number} {' '.join(items)}\n" for number, items in enumerate(sequences)))
    events = Sequences(str(path)).load()
    ids = [str(i) for i in events.items.ids[events.item]]
    assert [ids[events.indptr[u] : events.indptr[u + 1]] for u in range(events.n_users)] == sequences


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1 2 3\n2 4\n1 5\n", "user '1' is on lines 1 and 3"),
        (b"1\n2\n", "no line with a user and an item"),
        (b"", "is empty"),
        (b"\x89PNG\x00", "is a PNG image"),
        (b"1 \xff\n", "is not text in UTF-8"),
        (b"1 2.0 3.0\n", "the items, line 1: '2.0' is a decimal number"),
    ],
)
def test_what_cannot_be_used_is_reported(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        Sequences(str(path)).load()
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_only_the_end_of_a_line_ends_it(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes("u a\x85b c\r\nv \u2028d e\rw f g".encode())
    loaded = Sequences(path=str(tmp_path / "s.txt")).load()
    assert loaded.users.ids.tolist() == ["u", "v", "w"]


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match=r"dataset.path is not set"):
        Sequences().load()


def test_beauty_has_the_counts_of_its_source(shared_data: Callable[[str], Path]) -> None:
    events = Sequences(str(shared_data("beauty/Beauty.txt.gz"))).load()
    assert (len(events), events.n_users, events.n_items) == (198_502, 22_363, 12_101)
