"""What the users and the items of a dataset are called, where its page speaks of them."""

from __future__ import annotations

from dataclasses import dataclass


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


OF_SEARCH = Nouns("query", "queries", "document", "documents")
OF_NEWS = Nouns("reader", "readers", "article", "articles")


def nouns_of(dataset: object) -> Nouns:
    """Return the words of a dataset, its attribute ``nouns``; users and items if it has none."""
    found = getattr(dataset, "nouns", None)
    return found if isinstance(found, Nouns) else Nouns()
