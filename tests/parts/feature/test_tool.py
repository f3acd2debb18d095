from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.protocols import Feature
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.past_tasks import NearestTasks, PastTasks, PastWords
from recx.parts.feature.tool import Naming, Relevance, Structure, Usage
from recx.parts.shared.texts import encoded, query_vectors

ENCODER = Tfidf()


def pairs_of(tasks: list[str], names: list[str], descriptions: list[str], answers: dict[int, int]) -> Any:
    """Return (candidates, history, requests): every task is asked of every tool; answers: task -> its tool."""
    rows = np.array(sorted(answers), dtype=np.int64)
    history = Interactions(
        indptr=indptr_of(np.isin(np.arange(len(tasks)), rows)),
        item=np.array([answers[row] for row in rows], dtype=np.int32),
        time=None,
        weight=np.ones(len(rows), dtype=np.float32),
        users=Entities(np.arange(len(tasks)), {"text": np.array(tasks, dtype=object)}),
        items=Entities(
            np.arange(len(names)),
            {"text": np.array(descriptions, dtype=object), "name": np.array(names, dtype=object)},
        ),
    )
    user = np.arange(len(tasks), dtype=np.int32)
    item = np.tile(np.arange(len(names), dtype=np.int32), len(tasks))
    lists = RankedLists(user, indptr_of(np.full(len(tasks), len(names))), item, np.zeros(len(item), dtype=np.float32))
    return lists, history, Requests(user)


def of(feature: Feature, pairs: Any) -> Array:
    lists, history, requests = pairs
    return feature.fit(history)(lists, requests)


def table(feature: Feature, pairs: Any) -> Array:
    """Return the feature's numbers [n_tasks, n_tools]."""
    return of(feature, pairs).reshape(pairs[0].n_lists, -1)


@pytest.fixture
def tools() -> Any:
    tasks = ["send a letter", "post the letter", "rain in rome", "letter rain", "rome rome", "", "🙂", "天气 怎么样"]
    return pairs_of(
        tasks, ["mail", "weather", "unused"], ["send mail", "rain and sun", "天气"], {0: 0, 1: 0, 2: 1, 4: 0}
    )


def cosines(pairs: Any) -> Array:
    return (query_vectors(pairs[2], encoded(pairs[1], ENCODER)) @ encoded(pairs[1], ENCODER).items.T).toarray()


def test_relevance_and_structure_come_from_the_cosine(tools: Any) -> None:
    mapped = (1 + cosines(tools)) / 2
    assert table(Relevance(ENCODER), tools) == pytest.approx(mapped, abs=1e-6)
    assert table(Structure(ENCODER), tools) == pytest.approx(np.sqrt(mapped + 0.1), abs=1e-6)
    assert mapped[0, 0] > 0.6
    assert mapped[7, 2] > 0.6
    assert mapped[[5, 6]].tolist() == [[0.5] * 3] * 2


def test_usage_is_the_share_of_what_was_answered(tools: Any) -> None:
    assert table(Usage(), tools).tolist() == [[0.875, 0.625, 0.5]] * 8


def rated(pairs: Any, *values: float) -> Any:
    """Return the world whose tools have a given reliability."""
    lists, history, requests = pairs
    columns = {**history.items.table, "reliability": np.array(values)}
    return lists, replace(history, items=replace(history.items, table=columns)), requests


def test_a_given_reliability_takes_the_place_of_usage_for_all_tools(tools: Any) -> None:
    given = rated(tools, 0.25, np.nan, 0.75)
    assert table(Usage(), given).tolist() == [[0.25, 0.5, 0.75]] * 8, "the mean of the others where it is missing"
    assert table(Usage("reliability"), given).tolist() == [[0.25, 0.5, 0.75]] * 8
    assert table(Usage("usage"), given).tolist() == [[0.875, 0.625, 0.5]] * 8


def test_a_reliability_that_is_missing_or_none_is_refused(tools: Any) -> None:
    with pytest.raises(InputError, match=r"the data gives none: name its column .* dataset.reliability=COLUMN"):
        of(Usage("reliability"), tools)
    with pytest.raises(InputError, match="the data gives none"):
        of(Usage(), rated(tools, np.nan, np.nan, np.nan))
    with pytest.raises(InputError, match=r"from 0 to 1, and one is 95"):
        of(Usage(), rated(tools, 0.5, 95.0, np.nan))
    with pytest.raises(InputError, match=r"feature.source=both"):
        Usage("both")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(2))
def test_usage_counts_what_was_before_the_request(world: Callable, seed: int) -> None:
    made = world(seed)
    found = Usage().fit(made.history)(made.candidates, made.requests)
    for row, item in enumerate(made.candidates.item):
        before = [i for _, i, _ in made.before(row)]
        assert found[row] == pytest.approx(0.5 + 0.5 * before.count(item) / max(1, len(before)), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "task", "value"),
    [
        ("Tax_Calculator", "a tax calculator, please", 1.0),
        ("Tax_Calculator", "use TAX_CALCULATOR", 1.0),
        ("Tax_Calculator", "the calculator of a tax", 0.7),
        ("Tax_Calculator", "taxes and calculators", 0.3),
        ("mail", "e-mail", 1.0),
        ("mail", "email", 0.3),
        ("STRASSE", "in der straße", 1.0),
        ("天气", "今天 天气 好", 1.0),
        ("", "anything", 0.3),
        ("_ -", "_ -", 0.3),
        ("🙂", "🙂", 0.3),
        ("mail", "", 0.3),
    ],
)
def test_naming_looks_for_whole_words_whatever_their_case(name: str, task: str, value: float) -> None:
    assert of(Naming(), pairs_of([task], [name], ["x"], {})) == pytest.approx([value])


def test_naming_is_what_a_loop_finds() -> None:
    rng = np.random.default_rng(0)
    words = list("abcdef")
    tasks = [" ".join(rng.choice(words, rng.integers(0, 6))) for _ in range(40)]
    names = ["_".join(rng.choice(words, rng.integers(1, 4))) for _ in range(20)]
    pairs = pairs_of(tasks, names, names, {})

    def slow(task: str, name: str) -> float:
        said = re.findall("[a-f]", name)
        if f" {' '.join(said)} " in f" {task} ":
            return 1.0
        return 0.7 if set(said) & set(task.split()) else 0.3

    expected = np.array([[slow(task, name) for name in names] for task in tasks], dtype=np.float32)
    assert set(np.unique(expected)) == {np.float32(0.3), np.float32(0.7), np.float32(1.0)}
    assert table(Naming(), pairs).tolist() == expected.tolist()


def test_naming_needs_the_column_of_names(tools: Any) -> None:
    lists, history, requests = tools
    bare = replace(history.items, table={"text": history.items.table["text"]})
    assert set(of(Naming(), (lists, replace(history, items=bare), requests))) == {np.float32(0.3)}


def test_past_tasks_are_compared_by_their_mean(tools: Any) -> None:
    users = query_vectors(tools[2], encoded(tools[1], ENCODER)).toarray()
    mean = users[[0, 1, 4]].mean(axis=0)
    expected = np.stack([users @ mean / np.linalg.norm(mean), users @ users[2], users @ users[2] * 0], axis=1)
    assert table(PastTasks(ENCODER), tools) == pytest.approx(expected, abs=1e-6)
    assert expected[3, 0] > 0.1


@pytest.mark.parametrize("k", [1, 2, 20])
def test_the_nearest_tasks_vote_for_their_tools(tools: Any, k: int) -> None:
    users = query_vectors(tools[2], encoded(tools[1], ENCODER)).toarray()
    past, tool = [0, 1, 2, 4], [0, 0, 1, 0]
    expected = np.zeros((8, 3))
    for task in range(8):
        near = sorted(((users[task] @ users[other], -place) for place, other in enumerate(past)), reverse=True)[:k]
        total = sum(cosine for cosine, _ in near)
        for cosine, place in near:
            expected[task, tool[-place]] += cosine / total if total else 0
    assert table(NearestTasks(ENCODER, k), tools) == pytest.approx(expected, abs=1e-6)
    assert expected.sum(axis=1) == pytest.approx([1, 1, 1, 1, 1, 0, 0, 0])


def test_blocks_of_tasks_change_nothing(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = of(NearestTasks(ENCODER), tools)
    monkeypatch.setattr("recx.parts.feature.past_tasks.CELLS", 9)
    assert np.array_equal(of(NearestTasks(ENCODER), tools), whole)


@pytest.mark.parametrize("strength", [0.5, 20.0])
def test_past_words_are_likelier_than_elsewhere(tools: Any, strength: float) -> None:
    past = {0: ["send a letter", "post the letter", "rome"], 1: ["rain in rome"], 2: []}
    everything = [word for texts in past.values() for text in texts for word in text.split()]
    expected = np.zeros((8, 3))
    for number, task in enumerate(tools[1].users.table["text"]):
        words = set(task.split()) & set(everything)
        for tool, texts in past.items():
            own = [word for text in texts for word in text.split()]
            for word in words:
                among_all = everything.count(word) / len(everything)
                likely = (own.count(word) + strength * among_all) / (len(own) + strength)
                expected[number, tool] += np.log(likely / among_all) / len(words)
    assert table(PastWords(strength), tools) == pytest.approx(expected, abs=1e-5)
    assert not expected[5:].any()


@pytest.mark.parametrize("feature", [PastTasks(ENCODER), NearestTasks(ENCODER), PastWords()])
def test_what_the_past_answered_says_nothing_where_some_of_it_may_be_later(feature: Feature, world: Callable) -> None:
    made = world(0)
    assert not feature.fit(made.history)(made.candidates, made.requests).any()


@pytest.mark.parametrize(
    "feature", [Relevance(ENCODER), Naming(), PastTasks(ENCODER), NearestTasks(ENCODER), PastWords()]
)
def test_a_long_task_is_no_obstacle(feature: Feature) -> None:
    pairs = pairs_of(["rain " * 20_000, "rain"], ["rain"], ["rain"], {0: 0})
    assert np.isfinite(of(feature, pairs)).all()


@pytest.mark.parametrize("feature", [Relevance(ENCODER), NearestTasks(ENCODER), PastWords()])
def test_users_without_texts_are_named(feature: Feature, tools: Any) -> None:
    history = tools[1]
    with pytest.raises(InputError, match="the users of this dataset have no text"):
        feature.fit(replace(history, users=Entities(history.users.ids)))


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"feature\.k=0"):
        NearestTasks(ENCODER, 0)
    for strength in (0.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match=r"feature\.strength="):
            PastWords(strength)


@pytest.mark.parametrize(
    "feature", [Relevance(ENCODER), Naming(), PastTasks(ENCODER), NearestTasks(ENCODER), PastWords()]
)
def test_the_texts_of_those_who_neither_ask_nor_are_known_are_not_read(feature: Feature, tools: Any) -> None:
    lists, history, requests = tools
    texts = history.users.table["text"].copy()
    texts[[3, 5]] = None  # whoever reads it fails
    others = replace(history, users=replace(history.users, table={"text": texts}))
    asking = np.array([0, 2, 4, 6, 7])
    found = feature.fit(others)(lists.take(asking), requests[asking])
    assert np.array_equal(found, table(feature, tools)[asking].ravel())
