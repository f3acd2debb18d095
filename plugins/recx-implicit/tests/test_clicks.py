"""Fingerprints of the rows of the matrix that implicit learns from."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from recx_implicit.clicks import fingerprints
from scipy import sparse

tables = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=8)


@given(tables)
def test_fingerprints_are_equal_for_equal_rows_alone(table: list[list[int]]) -> None:
    found = fingerprints(sparse.csr_matrix(np.array(table, dtype=np.float32))).tolist()
    for row, one in zip(table, found, strict=True):
        assert [other == one for other in found] == [other == row for other in table]
