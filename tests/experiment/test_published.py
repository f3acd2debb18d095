"""The counts of data against those that its source publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from recx.core.types import Interactions
from recx.experiment.published import compared, counts_of
from recx.parts.dataset.known_files import Published

SOURCE = "https://example.org/readme"
SMALL = Published("Small", SOURCE, {"users": 3, "items": 4, "events": 10})
LARGE = Published("Large", SOURCE, {"users": 300, "items": 400, "events": 1000})


def events(n: int = 10) -> Interactions:
    frame = pd.DataFrame({"user": np.arange(n) % 3, "item": np.arange(n) % 4, "time": np.arange(n)})
    return Interactions.from_frame(frame, relative_times=True)


def test_equal_counts_are_fine_and_name_their_source() -> None:
    (found,) = compared(events(), [LARGE, SMALL])
    assert (found.count, found.of, found.verdict) == (0, 3, "fine")
    assert found.why == f"as {SOURCE} says of Small: 3 users, 4 items, 10 events"


def test_rows_that_are_missing_are_told() -> None:
    (found,) = compared(events(9), [LARGE, SMALL])
    assert (found.count, found.of, found.verdict) == (1, 3, "look")
    assert "10 events, and here are 3 users, 4 items, 9 events" in found.why


def test_data_of_another_size_is_not_taken_for_the_published_one() -> None:
    assert compared(events(50), [LARGE, SMALL]) == []
    assert compared(events(), []) == []


def test_rows_that_were_left_out_count_as_the_file_has_them() -> None:
    some = events(8)
    assert counts_of(replace(some, notes={**some.notes, "duplicate_rows": 1, "rows_of_weight_0": 1}))["events"] == 10
