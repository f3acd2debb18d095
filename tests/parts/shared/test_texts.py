from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.shared import products, texts

ENCODERS = {"sparse": Tfidf(), "dense": Tfidf(factors=4)}
every_encoder = pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)


def world(times: bool = False) -> Interactions:
    """Tasks 0 and 1 are answered by tool 0, task 2 by tools 1 and 2; tasks 3 and 4 ask; nothing is known of tool 3."""
    tasks = ["send a mail", "mail to all", "weather in rome", "mail rome", "unheard words"]
    tools = ["mail", "weather", "forecast of weather", "words"]
    return Interactions(
        indptr=np.array([0, 1, 2, 4, 4, 4]),
        item=np.array([0, 0, 1, 2], dtype=np.int32),
        time=np.arange(4, dtype=np.int64) if times else None,
        weight=np.ones(4, dtype=np.float32),
        users=Entities(np.arange(5), {"text": np.array(tasks, dtype=object)}),
        items=Entities(np.arange(4), {"text": np.array(tools, dtype=object)}),
    )


def users(history: Interactions, encoder: Tfidf) -> Any:
    requests = Requests(np.arange(history.n_users, dtype=np.int32))
    return texts.query_vectors(requests, texts.encoded(history, encoder))


def dense(vectors: object) -> Array:
    return vectors.toarray() if sparse.issparse(vectors) else np.asarray(vectors)


def test_the_encoder_learns_from_those_who_have_events_alone() -> None:
    made = world()
    text = made.users.table["text"].copy()
    text[4] = "quite other words than before"
    other = replace(made, users=replace(made.users, table={"text": text}))
    one, two = (dense(users(history, Tfidf())) for history in (made, other))
    assert np.array_equal(one[:4], two[:4])
    assert np.array_equal(*(dense(texts.encoded(history, Tfidf()).items) for history in (made, other)))


def test_where_data_has_times_it_learns_from_the_items_alone() -> None:
    assert users(world(times=True), Tfidf()).shape[1] == len({"mail", "weather", "forecast", "of", "words"})


def test_what_was_encoded_is_remembered_for_the_history() -> None:
    made = world()
    assert texts.encoded(made, Tfidf()) is texts.encoded(made, Tfidf())


@every_encoder
def test_only_those_who_ask_are_encoded_and_get_the_vectors_that_all_would_get(encoder: Tfidf) -> None:
    made, told = world(), []

    @dataclass(frozen=True)
    class Telling:
        def fit(self, known: Array) -> Telling:
            return self

        def encode(self, given: Array) -> object:
            told.append(given.tolist())
            return encoder.fit(made.items.table["text"]).encode(given)

    requests = Requests(np.array([1, 4], dtype=np.int32))
    found = texts.query_vectors(requests, texts.encoded(made, Telling()))
    assert texts.query_vectors(requests, texts.encoded(made, Telling())) is found
    assert told == [made.items.table["text"].tolist(), ["mail to all", "unheard words"]]
    assert np.array_equal(dense(found), dense(users(made, Telling()))[[1, 4]])


@every_encoder
def test_past_tasks_are_the_mean_of_what_an_item_answered(encoder: Tfidf) -> None:
    made = world()
    every, found = dense(users(made, encoder)), dense(texts.past_tasks(made, encoder))
    for item, answered in enumerate([[0, 1], [2], [2]]):
        mean = every[answered].mean(axis=0)
        assert found[item] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert not found[3].any()


@every_encoder
@pytest.mark.parametrize("few", [0, 1000], ids=["pair by pair", "with all items"])
def test_products_of_lists_are_the_cosines(encoder: Tfidf, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FEW", few)
    monkeypatch.setattr(products, "LISTS", 2)
    monkeypatch.setattr(products, "ROWS", 3)
    lengths, item = np.array([2, 0, 4, 1]), np.array([3, 0, 0, 1, 2, 3, 1], dtype=np.int32)
    user = np.array([0, 1, 3, 4], dtype=np.int32)
    lists = RankedLists(user, indptr_of(lengths), item, np.zeros(7, dtype=np.float32))
    every, items = users(world(), encoder), texts.encoded(world(), encoder).items
    expected = (dense(every) @ dense(items).T)[np.repeat(user, lengths), item]
    found = products.products_of_lists(lists, every[user], items)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found.dtype == np.float32
    part = products.products_of_lists(lists[2:4], every[user[2:4]], items)
    assert np.array_equal(part, found[2:])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_scaled(kind: type) -> None:
    vectors = kind(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]], dtype=np.float32))
    assert dense(texts.unit_rows(vectors)) == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0, -1]]), abs=1e-6)
    assert dense(texts.scaled_rows(vectors, np.array([2.0, 1.0, 0.5])))[0].tolist() == [6, 8]


def test_entities_without_texts_are_named() -> None:
    made = world()
    with pytest.raises(InputError, match="the items of this dataset have no text"):
        texts.encoded(replace(made, items=Entities(np.arange(4))), Tfidf())
