"""Products of vectors are those of a loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from recx.core.system.threads import limited_to
from recx.parts.shared import products


@given(st.integers(0, 9), st.integers(0, 12), st.sampled_from([np.asarray, sparse.csr_array]), st.integers(0, 99))
def test_products_of_pairs_are_those_of_a_loop_whatever_the_pieces_and_threads(
    d: int, n: int, kind: Callable[..., Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(-2, 3, (rows, d + 1)).astype(np.float32) / 3 for rows in (3, 5))
    user, item = rng.integers(0, 3, n), rng.integers(0, 5, n).astype(np.int32)
    whole = products.products_of_pairs(kind(one), user, kind(other), item)
    expected = [
        math.fsum(a * b for a, b in zip(one[u], other[i], strict=True)) for u, i in zip(user, item, strict=True)
    ]
    assert whole == pytest.approx(expected, abs=1e-6)
    for rows, threads in ((1, 1), (3, 3), (100, 3)):
        with mock.patch.object(products, "ROWS", rows), limited_to(threads):
            assert np.array_equal(products.products_of_pairs(kind(one), user, kind(other), item), whole)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("user", "item"), [(3, 0), (-1, 0), (0, 5), (0, -1)])
def test_rows_that_there_are_not_are_no_places_in_memory(kind: Callable[..., Any], user: int, item: int) -> None:
    one, other = kind(np.ones((3, 2), np.float32)), kind(np.ones((5, 2), np.float32))
    with pytest.raises(ValueError, match="not all"):
        products.products_of_pairs(one, np.array([0, user]), other, np.array([0, item], np.int32))
