"""Ids of a file beside those of the events: whole numbers or texts, as these are."""

from __future__ import annotations

import re

import numpy as np

from recx.core.types import Array, Bools

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""A text that is read as a whole number where all ids of a column are such; 007 is a name."""


def alike(ids: Array, events: Array) -> tuple[Array, Bools]:
    """Return ids [n] as the events write theirs, and which of them cannot be written so, and are 0 [n].

    Args:
        ids: The ids, whole numbers or texts.
        events: The ids of the events.
    """
    numbers, theirs = (array.dtype.kind in "iu" for array in (ids, events))
    odd = np.zeros(len(ids), dtype=bool)
    if numbers == theirs:
        return ids, odd
    texts = [str(one) for one in ids.tolist()]
    if numbers:
        return np.array(texts, dtype=object), odd
    odd = np.array([WHOLE.fullmatch(text) is None for text in texts], dtype=bool)
    return np.array([0 if bad else int(text) for text, bad in zip(texts, odd, strict=True)], dtype=np.int64), odd
