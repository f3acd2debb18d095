"""The engine of one machine: block by block, as results are wanted."""

from __future__ import annotations

import numpy as np

from recx.core.types import Requests
from recx.experiment.engine.local import Local


def test_results_come_in_the_order_of_the_blocks_and_a_block_is_taken_when_its_result_is_wanted() -> None:
    taken: list[int] = []

    def blocks() -> object:
        for start in (0, 3, 6):
            taken.append(start)
            yield Requests(np.arange(start, start + 3, dtype=np.int32))

    results = Local().each(lambda block: block.user.sum(), blocks())  # type: ignore[arg-type]
    assert next(results) == 3
    assert taken == [0]
    assert list(results) == [12, 21]
