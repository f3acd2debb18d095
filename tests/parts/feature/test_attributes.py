"""Each feature against values worked out by hand on four items and two users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import UNKNOWN_TIME, ClassLists, Entities
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.attributes import ClassOverlap, NumberDistance, PopularityInClass, TextOverlap

ITEMS = Entities(
    np.array([10, 11, 12, 13]),
    {
        "category": np.int32([0, 0, 1, -1]),
        "price": np.float32([1, 3, np.nan, 5]),
        "created_at": np.array([0, 3_600_000, 7_200_000, UNKNOWN_TIME]),
        "text": np.array(["red car", "red bike", "blue boat", ""], dtype=object),
    },
)
HISTORY = Interactions(
    indptr=np.array([0, 2, 3]),
    item=np.int32([0, 1, 0]),
    time=np.array([5, 9, 7]),
    weight=np.ones(3, dtype=np.float32),
    users=Entities(np.array([0, 1])),
    items=ITEMS,
)
LISTS = RankedLists(np.int32([0, 1]), np.array([0, 4, 8]), np.int32([0, 1, 2, 3] * 2), np.zeros(8, np.float32), {})
REQUESTS = Requests(np.int32([0, 1]), np.array([8, 20]))
PLAIN = replace(HISTORY, items=Entities(ITEMS.ids))


def values(feature: object, history: Interactions = HISTORY) -> list[float]:
    return feature.fit(history)(LISTS, REQUESTS).tolist()  # type: ignore[attr-defined]


def test_class_overlap_is_the_cosine_of_classes() -> None:
    assert values(ClassOverlap()) == pytest.approx([1, 1, 0, 0] * 2)
    lists = {"tags": ClassLists(np.array([0, 1, 3, 4, 4]), np.int32([0, 0, 1, 1]))}
    tagged = replace(HISTORY, items=Entities(ITEMS.ids, lists=lists))
    # Both tags are as rare: item 0 is (1, 0), item 1 (1, 1) / sqrt 2, item 2 (0, 1); user 1 had item 0 alone.
    assert values(ClassOverlap(), tagged)[4:] == pytest.approx([1, np.sqrt(0.5), 0, 0])
    assert values(ClassOverlap(last=1), tagged)[:4] == pytest.approx([np.sqrt(0.5), 1, np.sqrt(0.5), 0])
    assert values(ClassOverlap(), PLAIN) == [0] * 8


def test_text_overlap_is_the_cosine_of_texts() -> None:
    found = values(TextOverlap(Tfidf()))[4:]
    assert found[0] == pytest.approx(1)
    assert 0 < found[1] < 1
    assert found[2:] == [0, 0]
    assert values(TextOverlap(Tfidf()), PLAIN) == [0] * 8


def test_popularity_in_class_counts_up_to_the_request() -> None:
    # At 8, item 0 has 2 clicks, item 1 none (its click is at 9), and their category a mean of 1; at 20, 2, 1 and 1.5.
    expected = [np.log(3 / 2), np.log(1 / 2), 0, 0, np.log(3 / 2.5), np.log(2 / 2.5), 0, 0]
    assert values(PopularityInClass()) == pytest.approx(expected)
    assert values(PopularityInClass(), PLAIN) == [0] * 8


def test_number_distance_is_in_standard_deviations() -> None:
    spread = np.std([1, 3, 5])
    # User 1 had the price of 1, and a missing price counts as the mean, 3.
    assert values(NumberDistance())[4:] == pytest.approx([0, 2 / spread, 2 / spread, 4 / spread])
    hours = np.std([0, 1, 2])
    assert values(NumberDistance(("created_at",)))[4:] == pytest.approx([0, 1 / hours, 2 / hours, 1 / hours])
    assert values(NumberDistance(), PLAIN) == [0] * 8


def test_no_event_of_the_future_counts() -> None:
    later = replace(HISTORY, item=np.int32([0, 3, 0]))  # another click at 9, after the first request
    assert values(PopularityInClass(), later)[:4] == values(PopularityInClass())[:4]
