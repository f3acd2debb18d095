"""When the tasks of two requests say the same: their texts are equal but for case, blanks and punctuation."""

from __future__ import annotations

import re
from unicodedata import category, normalize

import numpy as np

from recx.core.entities import Entities
from recx.core.types import Array


def tasks_of(users: Entities) -> Array:
    """Return what each user's task says, without case, blanks and punctuation [n_users]."""
    return np.array([core_of(text) for text in whole_tasks(users)], dtype=object)


def whole_tasks(users: Entities) -> list[str]:
    """Return the text of each user's task.

    That of a node inside a calling graph is the text of the graph's root, which the column ``request`` holds: alone,
    such nodes say the same in many graphs.
    """
    texts = users.table["text"]
    return [str(root or text) for root, text in zip(users.table.get("request", texts), texts, strict=True)]


def core_of(text: str) -> str:
    """Return what remains of a text without case, blanks and punctuation; the text itself if nothing does."""
    one = normalize("NFKC", text).casefold()
    if one.isascii():
        return re.sub(r"[\W_]+", "", one) or one.strip()
    return "".join(sign for sign in one if category(sign)[0] in "LMN") or one.strip()
