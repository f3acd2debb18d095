"""The data of a run: loaded, checked and filtered."""

from __future__ import annotations

from collections.abc import Mapping

from recx.core.clock import check_clock
from recx.core.contracts import check_type
from recx.core.filters import Filter, filtered
from recx.core.protocols import Dataset
from recx.core.types import Interactions


def load(dataset: Dataset, filters: Mapping[str, Filter]) -> Interactions:
    """Return what filters leave of a dataset (see ``recx.core.filters``).

    Raises:
        InputError: The data, or a filter, cannot be used.
        RecxError: A part returns something else than Interactions.
    """
    interactions = check_type(dataset.load(), Interactions, "the dataset's load")
    if interactions.time is not None:
        check_clock(interactions.time, interactions.notes)
    return filtered(interactions, filters)
