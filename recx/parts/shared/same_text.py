"""When the tasks of two requests say the same: their texts are equal but for case, blanks and punctuation."""

from __future__ import annotations

import re
from unicodedata import category, normalize

import numpy as np

from recx.core.entities import Entities
from recx.core.types import Array

_SAID = "+-<>=$€£¥%#|"
"""Signs that change the meaning: of arithmetic and money, and what is put between numbers that are apart."""
_UNSAID = re.compile(r"(?<=\w)-|-(?!\d)|(?<!\w)#")  # hyphens, dashes, marks of titles
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_APART = re.compile(r"(?<=\d)[\s.,:/]+(?=\d)")


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
    """Return what remains of a text without case, blanks and punctuation; the text itself if nothing does.

    What changes the meaning stays: signs of arithmetic and money, and that numbers are apart (1.5 is not 15).
    """
    one = normalize("NFKC", text).casefold()
    said = _UNSAID.sub("", _APART.sub("|", _THOUSANDS.sub("", one)))
    if said.isascii():
        return re.sub(rf"[^a-z0-9{re.escape(_SAID)}]+", "", said) or one.strip()
    return "".join(sign for sign in said if sign in _SAID or category(sign)[0] in "LMN") or one.strip()
