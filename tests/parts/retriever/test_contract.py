"""Every built-in retriever keeps the promises of ``recx.testing`` in a world where much is missing."""

from __future__ import annotations

import pytest

from recx.core.protocols import Retriever
from recx.parts.retriever.ease import EASE
from recx.parts.retriever.faiss import Faiss
from recx.parts.retriever.given import Given
from recx.parts.retriever.ials import IALS
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.markov import Markov
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.random import Random
from recx.parts.retriever.rp3beta import RP3Beta
from recx.parts.retriever.slim import SLIM
from recx.parts.retriever.union import Union
from recx.parts.retriever.vsknn import VSkNN
from recx.testing import check_retriever, tiny_world

SOURCES = {"knn": ItemKNN(), "recent": Popularity(half_life="1h"), "faiss": Faiss(factors=4)}
RETRIEVERS: dict[str, Retriever] = {
    "random": Random(seed=3),
    "popularity": Popularity(),
    "popularity, window": Popularity(window="45m"),
    "popularity, half-life": Popularity(half_life="30m"),
    "popularity, window and half-life": Popularity(window="3h", half_life="30m"),
    "popularity, seen kept": Popularity(seen="keep"),
    "item_knn, cosine": ItemKNN(),
    "item_knn, lift": ItemKNN(normalise="lift", half_life="1h", neighbours=3),
    "item_knn, none": ItemKNN(normalise="none", seen="keep"),
    "faiss, Flat": Faiss(factors=4),
    "faiss, HNSW": Faiss(index="HNSW8", factors=4),
    "faiss, IVF": Faiss(index="IVF4,Flat", nprobe=2, factors=4),
    "ease": EASE(l2=2.0),
    "rp3beta": RP3Beta(neighbours=4),
    "rp3beta, seen kept": RP3Beta(alpha=0.5, beta=0.0, seen="keep"),
    "slim": SLIM(l1=0.1, l2=1.0),
    "slim, seen kept": SLIM(l1=0.0, seen="keep"),
    "ials": IALS(factors=3),
    "ials, more factors than clicks, seen kept": IALS(factors=20, unobserved=0.5, l2=0.1, exponent=0.5, seen="keep"),
    "vsknn": VSkNN(),
    "vsknn, few sessions": VSkNN(neighbours=3, sample=4, last=2, seed=1),
    "vsknn, cosine and order": VSkNN(
        weighting="geometric", decay="same", normalise="cosine", position_decay=0.6, idf=5.0, seen="keep"
    ),
    "markov": Markov(),
    "markov, sequential rules": Markov(distance=10, smoothing=0.0, neighbours=3, seen="keep"),
    "union, reciprocal rank": Union(SOURCES, weights={"faiss": 0.3}),
    "union, score": Union(SOURCES, method="score"),
}


@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS.keys())
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
@pytest.mark.parametrize("embeddings", [True, False], ids=["embeddings", "no embeddings"])
def test_a_retriever_keeps_its_promises(retriever: Retriever, times: bool, embeddings: bool) -> None:
    check_retriever(retriever, tiny_world(times=times, embeddings=embeddings))


TIMED: dict[str, Retriever] = {
    "vsknn, sessions": VSkNN(gap="1h", half_life="2h"),
    "markov, half-life": Markov(half_life="1h"),
}


@pytest.mark.parametrize("retriever", TIMED.values(), ids=TIMED.keys())
def test_a_retriever_that_needs_times_keeps_its_promises(retriever: Retriever) -> None:
    check_retriever(retriever, tiny_world())


def test_given_keeps_its_promises_where_there_are_slates() -> None:
    check_retriever(Given(), tiny_world(slates=True), k=2)


def test_a_union_may_hold_the_slates() -> None:
    check_retriever(Union({"given": Given(), "popularity": Popularity()}), tiny_world(slates=True), k=4)
