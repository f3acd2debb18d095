from __future__ import annotations

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recx.core import mapped
from recx.core.mapped import Column, Mapped, folder, temporary_in
from recx.core.types import Array

PARTS = st.lists(hnp.arrays(np.float32, st.integers(0, 3_000), elements=st.floats(-9, 9, width=32)), max_size=4)


def stored(*parts: Array) -> Array:
    column, n = Column(), 0
    for part in parts:
        column.write(part, n)
        n += len(part)
    return column.array(n)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@given(parts=PARTS, start=st.integers(-5, 9_000), length=st.integers(0, 4_000))
def test_it_is_the_array_of_all_parts(parts: list[Array], start: int, length: int) -> None:
    whole, column = np.concatenate([np.zeros(0, np.float32), *parts]), stored(*parts)
    assert (len(column), column.dtype) == (len(whole), np.float32)
    np.testing.assert_array_equal(column, whole)
    np.testing.assert_array_equal(column[start : start + length], whole[start : start + length])
    np.testing.assert_array_equal(column[::2], whole[::2])
    rows = np.arange(len(whole))[::-3]
    np.testing.assert_array_equal(column[rows], whole[rows])
    np.testing.assert_array_equal(column[whole > 0], whole[whole > 0])


def test_what_is_computed_is_a_plain_array_or_number() -> None:
    column = stored(np.arange(10))
    assert type(column) is Mapped
    for made in (column + 1, np.diff(column), column[2:4], column[[1, 3]], column[::3], column[column > 3]):
        assert type(made) is np.ndarray
    assert (column.sum(), column[3], np.abs(column).max()) == (45, 3, 9)
    assert isinstance(column[3], np.integer)
    assert isinstance(column.sum(), np.integer)


def test_a_part_that_needs_float64_widens_what_was_written_before() -> None:
    exact = 1 / 3
    column = stored(np.array([0.5, 0.25], np.float32), np.array([exact]), np.array([2.0], np.float32))
    assert column.dtype == np.float64
    assert column.tolist() == [0.5, 0.25, exact, 2.0]


def test_what_was_written_in_part_is_written_again() -> None:
    column = Column()
    column.write(np.arange(5), 0)
    column.write(np.arange(3) + 70, 5)  # such as what fitted on a full disk
    column.write(np.arange(4) + 90, 5)
    assert column.array(9).tolist() == [0, 1, 2, 3, 4, 90, 91, 92, 93]


def test_it_cannot_be_written_to() -> None:
    column = stored(np.arange(10))
    for part in (column, column[2:5]):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1


def test_a_slice_outlives_the_array_and_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    with temporary_in(tmp_path):
        assert folder() == tmp_path
        column = stored(np.arange(100_000))
    part = column[50_000:50_003]
    assert list(tmp_path.iterdir()) == []  # without a name, so that a killed process leaves nothing either
    del column
    gc.collect()
    assert part.tolist() == [50_000, 50_001, 50_002]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_files_are_closed_with_their_arrays() -> None:
    n = open_files()
    columns = [stored(np.arange(10)) for _ in range(20)]
    assert open_files() >= n + 20
    del columns
    gc.collect()
    assert open_files() <= n


def test_parts_without_values_do_not_widen_it() -> None:
    none, some = np.zeros(0), np.arange(3, dtype=np.int32)
    assert stored(none, some, none).dtype == np.int32
    assert stored(none, some.astype(np.float32)).dtype == np.float32
    assert stored(none[:0].astype(np.int32)).dtype == np.int32


def test_slices_are_read_where_no_more_files_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(self: object, n_bytes: int, offset: int = 0) -> None:
        raise OSError(24, "Too many open files")

    column = stored(np.arange(100_000))
    monkeypatch.setattr(mapped._File, "mapped", too_many)
    assert column[70_000:70_003].tolist() == [70_000, 70_001, 70_002]
    assert column[99_998::2].tolist() == [99_998]


def test_it_is_pickled_by_its_values() -> None:
    assert pickle.loads(pickle.dumps(stored(np.arange(5)))).tolist() == [0, 1, 2, 3, 4]
