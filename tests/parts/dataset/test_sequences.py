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
