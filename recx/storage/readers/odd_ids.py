"""Finds texts in a column of ids that are no ids: a missing value, a title or a total among numbers, a stray blank."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.types import Bools

_NOTHING = frozenset(
    ("na", "n/a", "#n/a", "#na", "nil", "none", "undefined", "unknown", "(null)", "<null>", "\\n", "-", "?")
)
_TITLE = re.compile(
    r"(id|.*([_ .-]id|[a-z]Id|ID)|"
    r"(user|item|movie|product|session|visitor|customer|query|document|article|track)s?(id)?)"
    r"(:token)?|total|sum|gesamt|summe|\(\d+ rows?( affected)?\)",
    re.IGNORECASE,
)
_FEW = 3


def odd_ids(words: pa.Array, bare: pa.Array, whole: Bools) -> tuple[Bools, str] | None:
    """Return which of the distinct texts of a column [n] are no ids, and why; None: all may be.

    Args:
        words: The texts.
        bare: The texts without blanks around them.
        whole: Which of them are whole numbers [n].
    """
    odd: Bools = ~whole
    if whole.any() and 0 < odd.sum() <= _FEW:
        texts = [str(text) for text in bare.filter(pa.array(odd)).to_pylist()]
        if all(text.lower() in _NOTHING or re.fullmatch(r"#[A-Z/0]+[!?]?", text) for text in texts):
            return odd, "stands for a missing value among whole numbers"
        if all(map(_TITLE.fullmatch, texts)):
            return odd, "is a title or a total among whole numbers, as where files with other headers were joined"
    lists = np.asarray(pc.match_substring_regex(bare, r"^\[.*\]$|^\(.*,.*\)$"))
    if len(lists) and lists.all():
        return lists, "is a list: write one row for each item"
    padded = np.asarray(pc.not_equal(words, bare))
    twice = padded & np.asarray(pc.is_in(bare, words.filter(pa.array(~padded)))) if padded.any() else padded
    return (twice, "differs from another id only in blanks around it") if twice.any() else None
