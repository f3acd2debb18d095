"""Maximal marginal relevance by hand, and place by place on random lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.reranker import mmr as module
from recx.parts.reranker.mmr import MMR


def history(embedding: Array | None, texts: list[str] | None = None) -> Interactions:
    n = len(texts if embedding is None and texts is not None else embedding)  # type: ignore[arg-type]
    table = {} if texts is None else {"text": np.array(texts, dtype=object)}
    vectors = None if embedding is None else np.asarray(embedding, dtype=np.float32)
    return Interactions(
        indptr=np.zeros(2, dtype=np.int64),
        item=np.zeros(0, dtype=np.int32),
        time=None,
        weight=np.zeros(0, dtype=np.float32),
        users=Entities(np.arange(1)),
        items=Entities(np.arange(n), table, vectors),
    )


def lists(*of: dict[int, float]) -> RankedLists:
    """Return a list for each user: item -> score, best first."""
    item = np.array([item for one in of for item in one], dtype=np.int32)
    score = np.array([score for one in of for score in one.values()], dtype=np.float32)
    return RankedLists(np.arange(len(of), dtype=np.int32), indptr_of(np.array([len(one) for one in of])), item, score)


def order(of: MMR, world: Interactions, shown: RankedLists) -> RankedLists:
    return of.rank(shown, world, Requests(shown.user))


CLOSE = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0]])


def test_what_is_like_the_items_before_goes_down() -> None:
    # Relevance 1, 0.9, 0.5, 0. After item 0: item 1 has 0.45 - 0.4, item 2 0.25 - 0, item 3 0 (its cosine of -1 is 0).
    # After item 2: item 1 is 0.8 from item 0 still, which leaves 0.05; item 3 follows with 0.
    found = order(MMR(Tfidf(), relevance=0.5), history(CLOSE), lists({0: 20, 1: 19, 2: 15, 3: 10}))
    assert found.item.tolist() == [0, 2, 1, 3]
    assert found.score.tolist() == pytest.approx([0.5, 0.25, 0.05, 0])


def test_all_relevance_is_the_rankers_order_and_none_the_farthest_first() -> None:
    shown = lists({1: 4, 0: 3, 2: 2, 3: 1})
    assert order(MMR(Tfidf(), relevance=1.0), history(CLOSE), shown).item.tolist() == [1, 0, 2, 3]
    assert order(MMR(Tfidf(), relevance=0.0), history(CLOSE), shown).item.tolist() == [1, 3, 2, 0]


def test_below_the_places_the_rankers_order_stays() -> None:
    shown = lists({0: 4, 1: 3, 2: 2, 3: 1})
    found = order(MMR(Tfidf(), relevance=0.5, top=2), history(CLOSE), shown)
    assert found.item.tolist() == [0, 2, 1, 3]
    assert (np.diff(found.score) < 0).all()


def test_texts_are_compared_by_the_encoder() -> None:
    texts = ["red fox", "red fox", "blue cat"]
    found = order(MMR(Tfidf(), relevance=0.5, similarity="text"), history(None, texts), lists({0: 3, 1: 2.9, 2: 1}))
    assert found.item.tolist() == [0, 2, 1]


def test_data_without_vectors_or_texts_is_refused() -> None:
    bare = replace(history(CLOSE), items=Entities(np.arange(4)))
    with pytest.raises(InputError, match=r"reranker\.similarity=embedding, and the items of this data have no embedd"):
        order(MMR(Tfidf()), bare, lists({0: 1.0}))
    with pytest.raises(InputError, match="text"):
        order(MMR(Tfidf(), similarity="text"), bare, lists({0: 1.0}))


def by_places(shown: RankedLists, vectors: Array, of: MMR) -> list[list[int]]:
    """Return the order of each list, filled place by place."""
    made = []
    for start, stop in zip(shown.indptr[:-1], shown.indptr[1:], strict=True):
        item, score = shown.item[start:stop].tolist(), shown.score[start:stop].astype(np.float64)
        span = np.ptp(score) if len(score) else 0
        relevant = dict(zip(item, (score - score.min()) / span if span else np.ones(len(score)), strict=True))
        left, chosen = list(item), list[int]()
        while left and len(chosen) < of.top:
            value = {
                one: of.relevance * relevant[one]
                - (1 - of.relevance) * max((max(0.0, vectors[one] @ vectors[two]) for two in chosen), default=0.0)
                for one in left
            }
            chosen.append(max(left, key=lambda one: value[one]))
            left.remove(chosen[-1])
        made.append([*chosen, *left])
    return made


@pytest.mark.parametrize(("relevance", "top"), [(0.7, 20), (0.3, 5), (0.0, 3)])
def test_lists_are_filled_place_by_place(relevance: float, top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(40, 7))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    drawn = [rng.choice(40, n, replace=False) for n in (0, 1, 12, 30, 7)]
    shown = lists(
        *[{int(item): float(n) for item, n in zip(of, -np.sort(rng.random(len(of))), strict=True)} for of in drawn]
    )
    of = MMR(Tfidf(), relevance=relevance, top=top)
    monkeypatch.setattr(module, "LISTS", 2)
    found = order(of, history(vectors), shown)
    own = [found.item[a:b].tolist() for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True)]
    assert own == by_places(shown, vectors, of)


@pytest.mark.parametrize(("key", "value"), [("relevance", 1.1), ("similarity", "x"), ("top", 0)])
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"reranker\.{key}="):
        MMR(Tfidf(), **{key: value})  # type: ignore[arg-type]
