"""The rankers of texts: BM25, the cosine, and any object that reranks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from types import ModuleType

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError, RecxError
from recx.core.protocols import FittedRanker
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.words import Bm25 as Bm25Feature
from recx.parts.feature.words import Length
from recx.parts.ranker.bm25 import Bm25
from recx.parts.ranker.callable import Callable
from recx.parts.ranker.cosine import Cosine
from recx.testing import check_feature, check_ranker, tiny_world

DOCUMENTS = ["red fox", "red red dog house garden tree", "blue cat", "", "fox " * 100]


def world(*queries: str, documents: Sequence[str] = DOCUMENTS) -> tuple[RankedLists, Interactions, Requests]:
    """Return every document as each query's candidate, in the order given, and an empty history."""
    n = len(documents)
    history = Interactions(
        indptr=np.zeros(len(queries) + 1, dtype=np.int64),
        item=np.zeros(0, dtype=np.int32),
        time=None,
        weight=np.zeros(0, dtype=np.float32),
        users=Entities(np.arange(len(queries)), {"text": np.array(queries, dtype=object)}),
        items=Entities(np.arange(n), {"text": np.array(documents, dtype=object)}),
    )
    users = np.arange(len(queries), dtype=np.int32)
    item = np.tile(np.arange(n, dtype=np.int32), len(queries))
    lists = RankedLists(users, indptr_of(np.full(len(queries), n)), item, np.zeros(len(item), dtype=np.float32))
    return lists, history, Requests(users)


def score_of(ranker: FittedRanker, *queries: str, documents: Sequence[str] = DOCUMENTS) -> Array:
    """Return each query's score of every document, in their order."""
    lists, history, requests = world(*queries, documents=documents)
    ranked = ranker.rank(lists, history, requests)
    table = np.zeros((len(queries), len(documents)), dtype=np.float32)
    table[ranked.list_of_row, ranked.item] = ranked.score
    return table


def test_bm25_is_what_the_formula_says() -> None:
    documents = ["red fox", "red red dog house", "blue cat"]
    found = score_of(Bm25(k1=1.2, b=0.75), "Red, fox?", documents=documents)[0]
    mean = 8 / 3
    red, fox = np.log(1 + 1.5 / 2.5), np.log(1 + 2.5 / 1.5)
    first = (red + fox) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean))
    second = red * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / mean))
    assert found == pytest.approx([first, second, 0], rel=1e-6)


def test_bm25_is_what_a_loop_finds() -> None:
    rng, words = np.random.default_rng(0), list("abcdefgh")
    queries, documents = ([" ".join(rng.choice(words, rng.integers(0, 9))) for _ in range(n)] for n in (20, 30))
    mean = sum(len(document.split()) for document in documents) / 30
    expected = np.zeros((20, 30))
    for (row, query), (column, document) in product(enumerate(queries), enumerate(documents)):
        said = document.split()
        for word in query.split():  # a word that the query repeats counts again
            n_with = sum(word in other.split() for other in documents)
            idf = np.log(1 + (30 - n_with + 0.5) / (n_with + 0.5))
            room = 0.9 * (1 - 0.4 + 0.4 * len(said) / mean)
            expected[row, column] += idf * said.count(word) * 1.9 / (said.count(word) + room)
    assert score_of(Bm25(k1=0.9, b=0.4), *queries, documents=documents) == pytest.approx(expected, abs=1e-5)


def test_bm25_without_k1_counts_a_word_once() -> None:
    found = score_of(Bm25(k1=0, b=0), "fox", "red")
    assert found[0, 0] == found[0, 4] > 0
    assert found[1, 0] == found[1, 1] > 0


@pytest.mark.parametrize("ranker", [Bm25(), Cosine(Tfidf())], ids=["bm25", "cosine"])
def test_texts_in_any_script_and_none_at_all(ranker: FittedRanker) -> None:
    queries = ["\u732b \u72ac", "\u0645\u0631\u062d\u0628\u0627", "\U0001f98a", "", "x" * 100_000]
    documents = [*queries[:2], "", "\U0001f98a", "fox"]
    found = score_of(ranker, *queries, documents=documents)
    assert found[0].argmax() == 0
    assert found[1].argmax() == 1
    assert not found[2:].any()
    assert not score_of(ranker, "fox", documents=["", ""]).any()


@pytest.mark.parametrize("ranker", [Bm25(), Cosine(Tfidf())], ids=["bm25", "cosine"])
def test_rankers_of_texts_keep_their_promises(ranker: FittedRanker) -> None:
    check_ranker(ranker, told_world())


@pytest.mark.parametrize("feature", [Bm25Feature(), Length()], ids=["bm25", "length"])
def test_features_of_texts_keep_their_promises(feature: Bm25Feature | Length) -> None:
    check_feature(feature, told_world())


def told_world() -> Interactions:
    made, rng = tiny_world(), np.random.default_rng(0)
    words = np.array(["red", "blue", "fox", "cat", "dog"])

    def texts(n: int) -> Array:
        return np.array([" ".join(rng.choice(words, rng.integers(0, 6))) for _ in range(n)], dtype=object)

    users, items = made.users, made.items
    return replace(
        made,
        users=replace(users, table={**users.table, "text": texts(len(users))}),
        items=replace(items, table={**items.table, "text": texts(len(items))}),
    )


def test_the_feature_is_bm25_over_the_largest_of_the_list() -> None:
    lists, history, requests = world("red fox", "nothing at all")
    values = Bm25Feature().fit(history)(lists, requests).reshape(2, -1)
    plain = score_of(Bm25(), "red fox")[0]
    assert values[0] == pytest.approx(plain / plain.max())
    assert not values[1].any()
    assert Length().fit(history)(lists, requests)[:4] == pytest.approx(np.log1p([7, 29, 8, 0]))


@pytest.mark.parametrize("ranker", [Bm25(), Cosine(Tfidf())], ids=["bm25", "cosine"])
def test_data_without_texts_is_reported(ranker: FittedRanker) -> None:
    with pytest.raises(InputError, match="of this dataset have no text"):
        check_ranker(ranker)


@pytest.mark.parametrize("setting", [{"k1": -1}, {"k1": np.inf}, {"b": 1.1}, {"b": -0.1}])
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InputError, match=rf"ranker\.{next(iter(setting))}="):
        Bm25(**setting)
    with pytest.raises(InputError, match=rf"feature\.{next(iter(setting))}="):
        Bm25Feature(**setting)


# ---- any object that reranks ----


class Short:
    """Prefers short documents and answers in the way that it is asked for."""

    def __init__(self, answer: str = "scores") -> None:
        self.answer = answer

    def rerank(self, query: str, documents: list[str]) -> object:
        score = [-float(len(document)) for document in documents]
        order = sorted(range(len(documents)), key=lambda place: -score[place])
        return {
            "scores": score,
            "array": np.array(score),
            "pairs of places": [(place, score[place]) for place in order],
            "pairs of texts": [(documents[place], score[place]) for place in order],
            "texts": [documents[place] for place in order],
            "too few": score[:-1],
            "one twice": [(0, 1.0)] * len(documents),
            "not finite": [float("nan")] * len(documents),
            "too large": [10**400] * len(documents),
            "a number": 7,
            "nothing": None,
            "unknown": ["no document"] * len(documents),
        }[self.answer]


class Fails:
    def rerank(self, query: str, documents: list[str]) -> object:
        raise KeyError("model")


class Needs:
    def __init__(self, weights: str) -> None:
        raise AssertionError


@pytest.fixture(autouse=True)
def _module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_rerankers")
    vars(module).update(Short=Short, Needs=Needs, fails=Fails(), nothing=object())
    for answer in ("scores", "array", "pairs of places", "pairs of texts", "texts"):
        vars(module)[answer.replace(" ", "_")] = Short(answer)
    for answer in ("too few", "one twice", "not finite", "too large", "a number", "nothing", "unknown"):
        vars(module)[f"bad_{answer.replace(' ', '_')}"] = Short(answer)
    monkeypatch.setitem(sys.modules, "my_rerankers", module)


@pytest.mark.parametrize("name", ["Short", "scores", "array", "pairs_of_places", "pairs_of_texts", "texts"])
def test_an_object_may_answer_with_scores_pairs_or_the_order(name: str) -> None:
    lists, history, requests = world("red", "", documents=["four", "one", "three", "one", ""])
    ranked = Callable(f"my_rerankers:{name}").rank(lists, history, requests)
    assert ranked.item.reshape(2, -1).tolist() == [[4, 1, 3, 0, 2]] * 2  # the two equal documents keep their order


def test_an_object_sees_nothing_for_an_empty_list() -> None:
    lists, history, requests = world("red", documents=[])
    assert len(Callable("my_rerankers:fails").rank(lists, history, requests)) == 0


@pytest.mark.parametrize("name", ["too_few", "one_twice", "not_finite", "too_large", "a_number", "nothing", "unknown"])
def test_another_answer_is_reported(name: str) -> None:
    with pytest.raises(RecxError, match=r"rerank for user 0 must return one finite score for each of the 5 documents"):
        Callable(f"my_rerankers:bad_{name}").rank(*world("red"))


def test_a_failing_object_is_reported() -> None:
    with pytest.raises(RecxError, match=r"my_rerankers:fails: rerank fails for user 0 \(KeyError: 'model'\)"):
        Callable("my_rerankers:fails").rank(*world("red"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_rerankers", "name a Python object as module:name"),
        (":x", "name a Python object as module:name"),
        ("no_such_module:x", "cannot be imported"),
        ("my_rerankers:absent", "cannot be imported"),
        ("my_rerankers:nothing", "has no rerank"),
        ("my_rerankers:Needs", r"Needs\(\) fails"),
    ],
)
def test_an_object_that_cannot_be_had_is_told_before_any_data_is_read(name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"ranker.object={name}: .*{said}"):
        Callable(name).preflight()


def test_an_object_must_be_named() -> None:
    with pytest.raises(InputError, match=r"ranker\.object is not set"):
        Callable().rank(*world("red"))
