"""What the users and the items of a dataset are called, where its page speaks of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"(?<![\w.=/])(?:(an?) )?(users?|items?)(?![\w=/]|\.\w)", re.IGNORECASE)
"""A word of a sentence, with an article; not one of a setting, a column or a path, such as ``dataset.user=uid``."""


@dataclass(frozen=True)
class Nouns:
    """The words for who asks and what is recommended.

    Attributes:
        user: One who gets a list.
        users: Several of them.
        item: One thing in a list.
        items: Several of them.
    """

    user: str = "user"
    users: str = "users"
    item: str = "item"
    items: str = "items"

    def say(self, text: str) -> str:
        """Return a sentence about users and items in these words.

        Args:
            text: A sentence with user, users, item and items.
        """
        return _WORD.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        article, word = found.groups()
        noun = str(getattr(self, word.lower()))
        noun = noun.capitalize() if word[0].isupper() else noun
        if article is None:
            return noun
        right = "an" if noun[0].lower() in "aeio" else "a"  # u is mostly spoken as in user
        return f"{right.capitalize() if article[0].isupper() else right} {noun}"


ORDINARY = Nouns()
OF_SEARCH = Nouns("query", "queries", "document", "documents")
OF_NEWS = Nouns("reader", "readers", "article", "articles")


def nouns_of(dataset: object) -> Nouns:
    """Return the words of a dataset, its attribute ``nouns``; users and items if it has none."""
    found = getattr(dataset, "nouns", None)
    return found if isinstance(found, Nouns) else ORDINARY
