from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.retriever.text import Text
from recx.testing import check_retriever, tiny_world

RETRIEVERS = {
    "sparse": Text(Tfidf()),
    "own text alone": Text(Tfidf(), past=0),
    "dense": Text(Tfidf(factors=6)),
    "HNSW": Text(Tfidf(factors=6), index="HNSW8"),
    "IVF, seen kept": Text(Tfidf(factors=6), index="IVF3,Flat", nprobe=2, seen="keep"),
}


def described(world: Interactions) -> Interactions:
    """Give the users and items of a world texts of a few words out of twelve; some have none."""
    rng = np.random.default_rng(5)

    def texts(entities: Entities) -> Entities:
        said = [" ".join(rng.choice(list("abcdefghijkl"), rng.integers(0, 5))) for _ in range(len(entities))]
        return replace(entities, table={**entities.table, "text": np.array(said, dtype=object)})

    return replace(world, users=texts(world.users), items=texts(world.items))


@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
def test_it_keeps_the_promises_of_a_retriever(retriever: Text, times: bool) -> None:
    check_retriever(retriever, described(tiny_world(times=times)))


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    """Tasks 0 and 1 were answered by tool 2 and task 2 by tool 0; tasks 3 to 6 ask. Tool 3 has no text."""
    made = drawn([[(2, 0)], [(2, 0)], [(0, 0)], [], [], [], []], 4, times=False)
    tasks = ["post a letter", "letter please", "mail him", "mail", "letter", "", "🙂"]
    tools = ["mail", "weather", "forecast of weather", ""]
    return replace(
        made,
        users=replace(made.users, table={"text": np.array(tasks, dtype=object)}),
        items=replace(made.items, table={"text": np.array(tools, dtype=object)}),
    )


def asked(*users: int) -> Requests:
    return Requests(np.array(users, dtype=np.int32))


def test_the_nearest_text_comes_first(world: Interactions, shown: Callable) -> None:
    lists = Text(Tfidf(), past=0).fit(world).retrieve(world, asked(3), 3)
    assert shown(lists) == [[0, 1, 2]]
    assert lists.score.tolist() == pytest.approx([1, 0, 0])


def test_what_a_tool_answered_makes_it_near(world: Interactions, shown: Callable) -> None:
    lists = Text(Tfidf(), past=1).fit(world).retrieve(world, asked(4), 1)
    assert shown(lists) == [[2]]
    users = world.users.table["text"]
    encoder = Tfidf().fit(np.concatenate([world.items.table["text"], users[:3]]))
    first, second, query = encoder.encode(users[[0, 1, 4]]).toarray()
    assert lists.score[0] == pytest.approx(query @ (first + second) / np.linalg.norm(first + second), abs=1e-6)


@pytest.mark.parametrize("index", ["Flat", "HNSW8"])
def test_a_task_without_a_known_word_gets_an_empty_list_and_is_counted(
    world: Interactions, shown: Callable, index: str
) -> None:
    lists = Text(Tfidf(factors=3), index=index).fit(world).retrieve(world, asked(3, 5, 6), 4)
    assert [len(items) for items in shown(lists)] == [3, 0, 0]
    assert lists.notes["items_without_vector"] == 1
    assert lists.notes["requests_without_vector"] == 2


def test_a_longer_history_is_served_by_the_words_that_were_learnt(world: Interactions) -> None:
    fitted = Text(Tfidf()).fit(world)
    table = {"text": np.append(world.users.table["text"][:-1], "words never heard and letter")}
    longer = replace(world, users=replace(world.users, table=table))
    assert fitted.retrieve(longer, asked(6), 1).item.tolist() == [2]


def test_an_index_for_sparse_vectors_is_refused(world: Interactions) -> None:
    with pytest.raises(InputError, match=r"retriever.index='HNSW8' needs short, dense vectors.*encoder=lsa"):
        Text(Tfidf(), index="HNSW8").fit(world)


@pytest.mark.parametrize(("key", "value"), [("past", 1.5), ("past", -0.1), ("nprobe", 0), ("ef_search", 0)])
def test_bad_settings_are_refused(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}={value}"):
        Text(Tfidf(), **{key: value})
