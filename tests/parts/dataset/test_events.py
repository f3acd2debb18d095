from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.types import Array
from recx.parts.dataset.events import interactions_of

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(10, 13), st.integers(0, 2)), min_size=1, max_size=30)


def columns(rows: list[tuple[int, int, int]]) -> dict[str, Array]:
    user, item, time = np.array(rows, dtype=np.int64).T
    return {"user": user, "item": item, "time": time, "weight": 1 + np.arange(len(rows), dtype=np.float32)}


@given(ROWS)
def test_exact_duplicates_are_dropped_once_first_kept_in_file_order_and_counted(
    rows: list[tuple[int, int, int]],
) -> None:
    kept = list(dict.fromkeys(rows))
    expected = sorted(kept, key=lambda row: (next(i for i, r in enumerate(rows) if r[0] == row[0]), row[2]))
    events = interactions_of(columns(rows), "drop")
    assert events.notes["duplicate_rows"] == len(rows) - len(kept)
    assert events.time is not None
    found = zip(events.users.ids[events.user], events.items.ids[events.item], events.time, strict=True)
    assert [tuple(int(v) for v in row) for row in found] == expected
    assert events.weight.tolist() == [1.0 + rows.index(row) for row in expected]


@given(ROWS, st.randoms(use_true_random=False))
def test_shuffling_the_rows_never_changes_the_set(rows: list[tuple[int, int, int]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def reported(rows: list[tuple[int, int, int]]) -> list[tuple[int, ...]]:
        events = interactions_of(columns(rows), "drop")
        assert events.time is not None
        return sorted(zip(events.users.ids[events.user], events.items.ids[events.item], events.time, strict=True))

    assert reported(rows) == reported(shuffled)


@pytest.mark.parametrize("times", [True, False])
def test_without_times_or_when_kept_nothing_is_a_duplicate(times: bool) -> None:
    twice = columns([(1, 10, 5), (1, 10, 5)])
    if not times:
        del twice["time"]
    events = interactions_of(twice, "keep" if times else "drop")
    assert len(events) == 2
    assert "duplicate_rows" not in events.notes
