"""The data of a run: loaded, checked and filtered."""

from __future__ import annotations

from collections.abc import Mapping

from recx.core.clock import check_clock
from recx.core.contracts import check_type
from recx.core.errors import InputError
from recx.core.filters import Filter, filtered
from recx.core.protocols import Dataset
from recx.core.types import Interactions


def load(dataset: Dataset, filters: Mapping[str, Filter]) -> Interactions:
    """Return what filters leave of a dataset (see ``recx.core.filters``).

    Raises:
        InputError: The data, or a filter, cannot be used; where another dataset reads its files, the message names it.
        RecxError: A part returns something else than Interactions.
    """
    try:
        loaded = dataset.load()
    except InputError as error:
        from recx.parts.dataset.recognised_files import right_dataset

        raise InputError(f"{error}{right_dataset(dataset)}") from error
    interactions = check_type(loaded, Interactions, "the dataset's load")
    if interactions.time is not None:
        check_clock(interactions.time, interactions.notes)
    return filtered(interactions, filters)
