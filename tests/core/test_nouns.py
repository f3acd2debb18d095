"""The words of a dataset for its users and items."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from recx.core.nouns import OF_NEWS, Nouns, nouns_of


def test_a_dataset_without_words_of_its_own_has_users_and_items() -> None:
    assert nouns_of(object()) == nouns_of(SimpleNamespace(nouns="readers")) == Nouns("user", "users", "item", "items")


def test_a_dataset_may_name_its_users_and_items() -> None:
    assert nouns_of(SimpleNamespace(nouns=OF_NEWS)) == Nouns("reader", "readers", "article", "articles")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Users see items", "Readers see articles"),
        ("a user sees an item.", "a reader sees an article."),
        ("An item of a user's list, users", "An article of a reader's list, readers"),
        (
            "set dataset.user=uid, split.max_users or users.known",
            "set dataset.user=uid, split.max_users or users.known",
        ),
        ("item-item similarity of `items/part`", "article-article similarity of `items/part`"),
        ("itemised by superusers", "itemised by superusers"),
        ("", ""),
    ],
)
def test_a_sentence_is_said_in_the_words_of_a_dataset(sentence: str, said: str) -> None:
    assert OF_NEWS.say(sentence) == said
    assert Nouns().say(sentence) == sentence


def test_articles_follow_the_noun() -> None:
    tools = Nouns("task", "tasks", "tool", "tools")
    assert tools.say("an item for a user; An item") == "a tool for a task; A tool"
    assert Nouns("event", "events", "act", "acts").say("A user, the user") == "An event, the event"
