"""The bins of popularity."""

from __future__ import annotations

import numpy as np

from recx.jobs.replay.moved import tenths


def test_items_share_bins_with_those_of_like_popularity() -> None:
    """Of 20 clicks the first item has 10, which is the first five tenths; then come tenths of two clicks."""
    clicks = np.array([10, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0])
    earlier = np.array([10, 2, 2, 1, 1, 1, 1, 1, 1, 4, 0])
    assert tenths(clicks, earlier).tolist() == [0, 1, 2, 3, 3, 4, 4, 5, 5, 5, -1]


def test_the_order_of_items_does_not_matter_but_for_ties() -> None:
    clicks = np.array([1, 0, 30, 9])
    assert tenths(clicks, np.array([1, 7, 30, 9])).tolist() == [2, 2, 0, 1]
    assert tenths(np.zeros(3, dtype=np.int64), np.array([2, 1, 0])).tolist() == [0, 0, -1]
