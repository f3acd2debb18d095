"""Columns become arrays piece by piece."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recx.storage.readers import arrays
from recx.storage.readers.arrays import GrowingArray, array_of


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_a_column_of_several_chunks_is_one_array(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(arrays, "ROWS", rows)
    column = pa.chunked_array(
        [pa.array([1, None], pa.int32()), pa.array([], pa.int32()), pa.array([3, 4, 5], pa.int32())]
    )
    assert array_of(column, pa.int64(), -1).tolist() == [1, -1, 3, 4, 5]
    assert array_of(column, pa.int64(), -1).dtype == np.int64
    assert array_of(column.cast(pa.string()), pa.float64(), np.nan).tolist()[2:] == [3.0, 4.0, 5.0]
    assert array_of(pa.chunked_array([], pa.int64()), pa.int64()).tolist() == []


def test_what_a_type_does_not_hold_is_an_error() -> None:
    with pytest.raises(pa.ArrowInvalid):
        array_of(pa.chunked_array([pa.array([2**63], pa.uint64())]), pa.int64())


def test_an_array_grows_and_widens() -> None:
    array = GrowingArray(np.dtype(np.int32), 3)
    assert array.values.tolist() == []
    for more in ([1, 2], [3], [4, 5, 6, 7, 8, 9], []):
        array.extend(np.array(more, np.int32))
    assert array.values.dtype == np.int32
    array.extend(np.array([2**40]))
    array.extend(np.array([-1], np.int32))
    assert array.values.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 2**40, -1]
    assert array.values.dtype == np.int64
