from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core import numbering
from recx.core.numbering import numbered

CLOSE = st.lists(st.integers(-50, 60), min_size=1)
APART = st.lists(st.sampled_from([-(2**63), 2**63 - 1, 0, 2**40]), min_size=1)


@given(CLOSE | APART, st.booleans())
def test_whole_numbers_are_numbered_as_by_hashing(ids: list[int], sort: bool) -> None:
    codes, entities = numbered(pd.Series(ids, dtype=np.int64), "user", None, sort=sort)
    expected = sorted(set(ids)) if sort else list(dict.fromkeys(ids))
    assert entities.ids.tolist() == expected
    assert codes.tolist() == [expected.index(one) for one in ids]
    assert (codes.dtype, entities.ids.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("sort", [False, True])
def test_ids_keep_their_type(kind: str, sort: bool) -> None:
    column = pd.Series([np.iinfo(kind).max, 0, np.iinfo(kind).min, 0], dtype=kind)
    codes, entities = numbered(column, "item", None, sort=sort)
    assert entities.ids.dtype == np.dtype(kind)
    assert entities.ids[codes].tolist() == column.tolist()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pd.Series(np.random.default_rng(0).integers(0, 50, 1_000))
    expected, entities = numbered(column, "item", None, sort=True)
    monkeypatch.setattr(numbering, "ROWS", 7)
    codes, again = numbered(column, "item", None, sort=True)
    assert codes.tolist() == expected.tolist()
    assert again.ids.tolist() == entities.ids.tolist()


def test_no_ids_have_no_numbers() -> None:
    codes, entities = numbered(pd.Series([], dtype=np.int64), "user", None, sort=False)
    assert (len(codes), len(entities)) == (0, 0)
