"""The words of a dataset for its users and items."""

from __future__ import annotations

from types import SimpleNamespace

from recx.core.nouns import OF_NEWS, Nouns, nouns_of


def test_a_dataset_without_words_of_its_own_has_users_and_items() -> None:
    assert nouns_of(object()) == nouns_of(SimpleNamespace(nouns="readers")) == Nouns("user", "users", "item", "items")


def test_a_dataset_may_name_its_users_and_items() -> None:
    assert nouns_of(SimpleNamespace(nouns=OF_NEWS)) == Nouns("reader", "readers", "article", "articles")
