"""The table of ids against pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core import id_table
from recx.core.id_table import IdTable

WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 20) | st.integers(0, 40).map(lambda n: n << 40)


@given(blocks=st.lists(st.lists(WHOLE, max_size=40), max_size=5), first=st.sampled_from([2, 4, 64]))
def test_ids_are_numbered_by_first_appearance_whatever_the_blocks(blocks: list[list[int]], first: int) -> None:
    """Ids of both signs, close together or multiples of a power of 2; tables that must grow, also within a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_table, "FIRST", first)
        table, found = IdTable(), []
        for block in blocks:
            codes = np.full(len(block), -1, dtype=np.int32)
            table.number(np.array(block, dtype=np.int64), codes)
            found += codes.tolist()
    expected, ids = pd.factorize(np.array([raw for block in blocks for raw in block], dtype=np.int64))
    assert found == expected.tolist()
    assert table.ids.tolist() == ids.tolist()
    assert len(table) == len(ids)
