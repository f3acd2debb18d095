"""What ``phi_hist`` is made of: the usage of a tool in the past, or the reliability that the data gives for it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Array, Doubles

Source = Literal["auto", "usage", "reliability"]
"""``auto``: the reliability if the data gives it, otherwise the usage; the one of both that is named. Never both."""


def given(source: Source, reliability: Array | None) -> Doubles | None:
    """Return the reliability of each tool [n_tools], a missing one as the mean of the others; None: usage counts.

    Args:
        source: What is asked for.
        reliability: What the data says of each tool, from 0 to 1, NaN where it says nothing [n_tools]; None: of none.

    Raises:
        InputError: The reliability is asked for and the data gives none, or a value is not from 0 to 1.
    """
    if source == "usage" or (source == "auto" and reliability is None):
        return None
    if reliability is None or np.isnan(reliability).all():
        raise InputError(
            "phi_hist is the reliability of tools, and the data gives none: name its column of the tool pool by "
            "dataset.reliability=COLUMN, or set feature.phi_hist.source=usage"
        )
    values: Doubles = reliability.astype(np.float64)
    known = ~np.isnan(values)
    outside = known & ~((values >= 0) & (values <= 1))
    if outside.any():
        raise InputError(
            f"phi_hist is the reliability of tools, from 0 to 1, and one is {values[np.argmax(outside)]:g}: divide "
            "them by the largest possible one, or set feature.phi_hist.source=usage"
        )
    return np.where(known, values, values[known].mean())
