"""Every target is learnt from once an epoch, against candidates of its own list that are worth less."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from recx_text.groups import Groups

from recx.plugin import Examples, RankedLists, Requests, indptr_of


def examples_of(gains: list[list[int]]) -> Examples:
    """Return one list per user with these gains."""
    users, lengths = np.arange(len(gains), dtype=np.int32), np.array([len(of) for of in gains])
    item = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    lists = RankedLists(users, indptr_of(lengths), item, np.zeros(len(item), dtype=np.float32))
    return Examples(lists, np.concatenate(gains).astype(np.float64), Requests(users, None), {})


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_an_epoch_has_every_target_once_with_lower_candidates(
    gains: list[list[int]], negatives: int, size: int, seed: int
) -> None:
    examples = examples_of(gains)
    groups = Groups.of(examples)
    list_of_row, gain = examples.lists.list_of_row, examples.gain
    lower = [int(((list_of_row == list_of_row[row]) & (gain < gain[row])).sum()) for row in range(len(gain))]
    able = [row for row in range(len(gain)) if gain[row] > 0 and lower[row]]
    assert sorted(groups.row.tolist()) == able
    assert groups.without_lower == int((gain > 0).sum()) - len(able)
    batches = list(groups.epoch(size, negatives, np.random.default_rng(seed)))
    assert all(len(batch) == size for batch, _ in pairwise(batches))
    drawn = [row.tolist() for batch in batches for row in batch]
    assert sorted(row[0] for row in drawn) == able
    for target, *others in drawn:
        there = [other for other in others if other >= 0]
        assert len(others) == negatives
        assert len(set(there)) == len(there) == min(negatives, lower[target])
        assert all(list_of_row[other] == list_of_row[target] and gain[other] < gain[target] for other in there)


def test_all_lower_candidates_are_drawn_equally_often() -> None:
    groups, rng = Groups.of(examples_of([[0, 3, 1, 0, 0]])), np.random.default_rng(0)
    drawn = [batch for _ in range(2_000) for batch in groups.epoch(2, 1, rng)]
    rows = np.concatenate(drawn)
    of_best = np.bincount(rows[rows[:, 0] == 1, 1], minlength=5)
    assert of_best[1] == 0
    assert np.allclose(of_best[[0, 2, 3, 4]], 500, atol=80)
    assert set(rows[rows[:, 0] == 2, 1].tolist()) == {0, 3, 4}
