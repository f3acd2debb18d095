"""A text that is read in blocks gives what it gives when it is read whole: the same values, counts and errors."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.parts.dataset.table import Table
from recx.storage.readers import in_blocks, sources
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read

EXAMPLES = settings.default.max_examples
ID = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(
        ["007", "-0", " 7", "7 ", "a", "B é", "4000000000", "9" * 18, "9" * 19, "", "nan", "1.0", "uid", "-"]
    ),
)
TIME = st.one_of(
    st.integers(1_400_000_000, 1_500_000_000).map(str),
    st.sampled_from(["1400000000.5", "0", "", "2017-07-14", "20170714", "1400000000000", "9" * 19, "ts"]),
)
NUMBER = st.sampled_from(
    ["1", "2.5", "0", "-1", "0.1", "1e3", "", "inf", "NaN", "9007199254740993", "1,5", "high", "16777217"]
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Return a table that is mostly plain, with whatever may stand in one."""

    def column(odd: st.SearchStrategy[str], plain: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return draw(st.sampled_from([plain, plain, odd]))

    user, item = (column(ID, st.integers(0, 99).map(str)) for _ in range(2))
    time = column(TIME, st.integers(1_400_000_000, 1_500_000_000).map(str))
    rating = column(NUMBER, st.sampled_from(["0.5", "1", "4.0", "5"]))
    rows = draw(st.lists(st.tuples(user, item, rating, time), max_size=9))
    lines = [",".join(("uid", "iid", "rating", "ts")), *map(",".join, rows)]
    for odd in draw(
        st.sampled_from([[], [], ["uid,iid,rating,ts"], [""], ["  "], ["1,2"], ['"7",7,1,1400000000'], ["1,\0,1,1"]])
    ):
        lines.insert(draw(st.integers(0, len(lines))), odd)
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return (
        draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end, 2 * end]))
    ).encode()


def both(monkeypatch: pytest.MonkeyPatch, block: int, act: Any) -> tuple[Any, Any]:
    """Return what something gives, or says, with the text read in blocks and read whole."""

    def found() -> Any:
        try:
            return act()
        except InputError as error:
            return str(error)

    with monkeypatch.context() as patch:
        patch.setattr(in_blocks, "BLOCK", block)
        parted = found()
        patch.setattr(sources, "in_blocks", lambda text, kinds: None)
        return parted, found()


KINDS = {"uid": "id", "iid": "id?", "rating": "number?", "ts": "exact s?"}


def test_columns_are_the_same_in_blocks_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=2 * EXAMPLES)
    @given(
        texts(),
        st.sampled_from([9, 25, 60, 1 << 20]),
        st.sampled_from(["number?", "double?", "whole?", "text?", "code?"]),
    )
    def check(data: bytes, block: int, rating: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.csv"
            path.write_bytes(data)

            def values() -> Any:
                notes: dict[str, int] = {}
                return read(Source(path), {**KINDS, "rating": rating}, notes=notes), notes

            parted, whole = both(monkeypatch, block, values)
        seen["refused" if isinstance(whole, str) else "read"] += 1
        if isinstance(whole, str):
            assert parted == whole
            return
        assert parted[1] == whole[1]
        for name, column in whole[0].items():
            assert parted[0][name].dtype == column.dtype
            assert np.array_equal(parted[0][name], column, equal_nan=column.dtype.kind in "fM")

    check()
    assert min(seen["read"], seen["refused"]) > EXAMPLES / 5


def test_events_are_the_same_in_blocks_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=2 * EXAMPLES)
    @given(
        texts(),
        st.sampled_from([9, 25, 60]),
        st.sampled_from([{}, {"weight": None}, {"weight": "rating"}, {"time": None}]),
    )
    def check(data: bytes, block: int, named: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.csv"
            path.write_bytes(data)
            made = {"user": "uid", "item": "iid", "order": "given", **named}
            parted, whole = both(monkeypatch, block, lambda: Table(path=str(path), **made).load())
        seen["refused" if isinstance(whole, str) else "read"] += 1
        if isinstance(whole, str):
            assert parted == whole
            return
        assert parted.notes == whole.notes
        assert parted.users.ids.tolist() == whole.users.ids.tolist()
        assert parted.items.ids.tolist() == whole.items.ids.tolist()
        for name in ("indptr", "item", "weight"):
            assert getattr(parted, name).dtype == getattr(whole, name).dtype
            assert getattr(parted, name).tolist() == getattr(whole, name).tolist()
        assert (parted.time is None) == (whole.time is None)
        assert parted.time is None or parted.time.tolist() == whole.time.tolist()

    check()
    assert min(seen["read"], seen["refused"]) > EXAMPLES / 5


def test_plain_text_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK", 30)
    monkeypatch.setattr(sources, "_read_whole", lambda *_: pytest.fail("it was read whole"))
    rows = [f"{user % 3},i{user % 5},{user / 2},{1_400_000_000 + user}" for user in range(50)]
    (tmp_path / "events.csv").write_text("\n".join(["uid,iid,rating,ts", *rows]) + "\n")
    table = read(
        Source(tmp_path / "events.csv"), {"uid": "id", "iid": "id", "rating": "number", "ts": "s", "iid?": "text?"}
    )
    assert table["uid"].tolist() == [user % 3 for user in range(50)]
    assert table["uid"].dtype == np.int64
    assert table["iid"].tolist() == [f"i{user % 5}" for user in range(50)]
    assert table["rating"].tolist() == [user / 2 for user in range(50)]
    assert table["ts"].tolist() == [1_400_000_000_000 + 1_000 * user for user in range(50)]


def test_numbers_grow_wider_where_they_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK", 8)
    monkeypatch.setattr(sources, "_read_whole", lambda *_: pytest.fail("it was read whole"))
    (tmp_path / "events.csv").write_text("uid,rating\n1,0.5\n2,0.1\n2147483648,3\n-5,0.25\n")
    table = read(Source(tmp_path / "events.csv"), {"uid": "id", "rating": "double"})
    assert table["uid"].tolist() == [1, 2, 2**31, -5]
    assert table["rating"].tolist() == [0.5, 0.1, 3.0, 0.25]
