"""Packing loses nothing: every event lies in one cell, pieces stay contiguous, and rows are full."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from recx_transformer.packing import Packing, pack, pieces

from recx.plugin import indptr_of

LENGTHS = st.lists(st.integers(1, 16), max_size=40).map(lambda lengths: np.array(lengths, dtype=np.int64))


def laid_out(packing: Packing, order: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return packing.grid(indptr_of(lengths)[:-1][order])


@given(LENGTHS)
def test_every_event_has_one_cell_and_pieces_stay_whole(lengths: np.ndarray) -> None:
    packing, order = pack(lengths, 16)
    event, place = laid_out(packing, order, lengths)
    filled = event[event >= 0]
    assert np.array_equal(np.sort(filled), np.arange(lengths.sum()))
    assert np.array_equal(packing.length, lengths[order])
    row, column = np.nonzero((event >= 0) & (place > 0))
    assert (event[row, column - 1] == event[row, column] - 1).all()  # the event before is next to it
    assert (place[row, column - 1] == place[row, column] - 1).all()
    assert (place[event < 0] == 0).all()


@given(LENGTHS, st.integers(0, 5))
def test_a_shuffled_packing_lays_out_the_same_events(lengths: np.ndarray, seed: int) -> None:
    packing, order = pack(lengths, 16)
    shuffled, pieces_then = packing.shuffled(np.random.default_rng(seed))
    event, _ = laid_out(shuffled, order[pieces_then], lengths)
    assert np.array_equal(np.sort(event[event >= 0]), np.arange(lengths.sum()))
    assert event.shape == (packing.n_rows, 16)


def test_rows_take_the_longest_pieces_that_fit() -> None:
    packing, order = pack(np.array([3, 8, 5, 5, 2, 3]), 8)
    event, _ = laid_out(packing, order, np.array([3, 8, 5, 5, 2, 3]))
    assert packing.n_rows == 4  # 8 | 5 3 | 5 3 | 2
    assert (event >= 0).sum(axis=1).tolist() == [8, 8, 8, 2]


def test_short_sequences_leave_few_cells_empty() -> None:
    lengths = np.clip(np.random.default_rng(0).geometric(1 / 7, 20_000), 1, 50)
    packing, _ = pack(lengths, 64)
    assert lengths.sum() / (packing.n_rows * 64) > 0.99


def test_nothing_to_pack_makes_no_row() -> None:
    packing, order = pack(np.zeros(0, dtype=np.int64), 8)
    event, place = packing.grid(np.zeros(0, dtype=np.int64))
    assert len(order) == 0
    assert event.shape == place.shape == (0, 8)


def test_pieces_are_cut_from_the_end() -> None:
    first, length = pieces(np.array([0, 5, 5]), np.array([5, 0, 7]), 3)
    assert first.tolist() == [0, 2, 5, 6, 9]
    assert length.tolist() == [2, 3, 1, 3, 3]
