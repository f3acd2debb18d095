"""Candidates ranked for a text: known items, and new ones given as texts or as tools' schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.memo import Made, made_of, remember
from recx.core.protocols import FittedRanker, retrieves_slates
from recx.core.types import Array, Doubles, Interactions, RankedLists, Requests
from recx.experiment.model.asking import Asked, Population
from recx.experiment.model.population import numbers_of, with_unknown
from recx.parts.dataset.tool_schemas import tool_of
from recx.parts.retriever.random import noise
from recx.parts.shared.allowed import retrieved
from recx.parts.shared.texts import Encoded, UserTexts

Candidate = int | str | Mapping[str, Any]
"""An item's raw id, or a new item: ``{"text": …}``, or a tool's schema (``name``, ``description``, ``parameters``)."""
STAYS = ("recx.parts.shared.texts.known_user_vectors", "recx.parts.feature.graph_tasks._known_tasks")
"""Functions whose results new items do not change."""


@dataclass(frozen=True)
class New:
    """An item that the model does not know.

    Attributes:
        label: What to call it in the result.
        name: Its name; "" if it has none.
        text: Its text.
    """

    label: str
    name: str
    text: str


@dataclass(frozen=True, eq=False)
class Order:
    """Candidates, best first.

    Attributes:
        label: Their raw ids, names or texts [n].
        score: Their scores [n].
        known: Whether the model knows each of them [n].
    """

    label: list[Any]
    score: Array
    known: list[bool]


def ranked(population: Population, query: str, candidates: Sequence[Candidate]) -> Order:
    """Return candidates in the order of the chain for a text that nobody has asked yet.

    Raises:
        InputError: The model does not rank by texts, or a candidate cannot be used.
    """
    known = population.history
    for whose, entities in (("users", known.users), ("items", known.items)):
        if "text" not in entities.table:
            raise InputError(
                f"the {whose} of this model have no texts, so it cannot rank for a text: use recommend for its users, "
                "or a model of tools, agents or documents"
            )
    if not isinstance(query, str) or not query.strip():
        raise InputError(f"the query must be a text, and is {query!r:.60}: give the words of a task or a question")
    found = _parsed(candidates, known.items)
    if not found:
        return Order([], np.zeros(0, dtype=np.float32), [])
    news = [one for one in found if isinstance(one, New)]
    if news and known.items.graphs is not None:
        raise InputError("the items of this model are graphs, of which it needs more than a text: name known ones")
    asked = _with_new(population, query, news) if news else population.newcomer({"text": query})
    first_new = iter(range(len(known.items), len(known.items) + len(news)))
    number = np.array([next(first_new) if isinstance(one, New) else one for one in found], dtype=np.int32)
    requests = Requests(asked.user.astype(np.int32), asked.time)
    if news or retrieves_slates(asked.chain.retriever):
        score = _by_ranker(asked, requests, number)
    else:
        lists = _retrieved(asked, requests, number)
        score = _score_of(_rank(asked.chain.ranker, lists, asked.history, requests), number)
    order = np.argsort(-score, kind="stable")
    label = [one.label if isinstance(one, New) else known.items.ids[one : one + 1].tolist()[0] for one in found]
    return Order([label[at] for at in order], score[order], [not isinstance(found[at], New) for at in order])


def _parsed(candidates: Sequence[Candidate], items: Entities) -> list[int | New]:
    """Return the number of each known candidate, and what is said of each new one."""
    if isinstance(candidates, str | bytes | Mapping) or not hasattr(candidates, "__len__"):
        raise InputError("the candidates must be a list, of ids, of {'text': …} or of tools' schemas")
    numeric = items.ids.dtype.kind in "iu"
    found: list[int | New] = []
    for place, one in enumerate(candidates, start=1):
        new = _new(one, place) if isinstance(one, Mapping) else None
        wanted = one if new is None else new.name
        plain = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool) if numeric else _is_name(wanted)
        number = int(numbers_of(np.array([wanted]), items, "items")[0]) if plain else -1
        if number < 0 and new is None:
            raise InputError(
                f"candidate {place}: {one!r:.60} is no id of an item of this model: correct it, or, if it is the text "
                "of a new item, write {'text': …}"
            )
        if number >= 0 and number in found:
            raise InputError(f"candidate {place}: {wanted!r} is named twice: leave one out")
        found.append(number if number >= 0 or new is None else new)
    return found


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _new(one: Mapping[str, Any], place: int) -> New:
    """Return what a mapping says of an item."""
    tool = one.get("function", one)
    where = f"candidate {place}"
    if not isinstance(tool, Mapping):
        raise InputError(f"{where}: 'function' must be a mapping with name and description")
    if "text" in tool:
        name, text = tool.get("name", ""), tool["text"]
    elif "name" in tool:
        try:
            described = tool_of(one, where, bare=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{where}: its parameters are no JSON ({error}): correct them") from error
        name, text = described.name, described.text
    else:
        raise InputError(f"{where}: it has neither 'text' nor 'name': write {{'text': …}}, or a tool's schema")
    if not isinstance(name, str) or not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: its name and its text must be texts, and the text not be empty: correct them")
    return New(name or text, name, text)


def _with_new(population: Population, query: str, news: Sequence[New]) -> Asked:
    """Return the request of a query in a history that has new items too, of which no event is known."""
    asked = population.newcomer({"text": query}, per_user=False)
    items, old = asked.history.items, asked.history
    first = int(items.ids.max(initial=0)) + 1 if items.ids.dtype.kind in "iu" else None
    ids = [f"\0{at}" if first is None else first + at for at in range(len(news))]
    longer = with_unknown(items, np.array(ids))
    table = dict(longer.table)
    for column in ("text", "name"):
        if column in table:
            table[column][len(items) :] = [getattr(one, column) for one in news]
    history = replace(old, items=replace(longer, table=table))
    texts = np.array([one.text for one in news], dtype=object)
    kept: list[Made] = []
    for one in made_of(population.history):
        if isinstance(one.value, Encoded) and one.arguments:
            kept.append(replace(one, value=replace(one.value.with_items(texts), users=UserTexts.in_(history))))
        elif one.function in STAYS:
            kept.append(one)
    remember(history, kept)
    return replace(asked, history=history)


def _by_ranker(asked: Asked, requests: Requests, number: Array) -> Doubles:
    """Return the score of each candidate by a ranker that must not need what a retriever says of them.

    Raises:
        InputError: It does need it.
    """
    mixed = number[np.argsort(noise(np.zeros(1, dtype=np.int32), number, 0), kind="stable")]
    empty = np.zeros(len(number), dtype=np.float32)
    falling = np.arange(len(number), 0, -1, dtype=np.float32)
    scores = []
    for items, score in ((mixed, empty), (mixed[::-1], falling)):
        lists = RankedLists(requests.user, np.array([0, len(number)]), items, score)
        scores.append(_score_of(_rank(asked.chain.ranker, lists, asked.history, requests), number))
    if not np.allclose(scores[0], scores[1], rtol=1e-5, atol=1e-6):
        raise InputError(
            "the ranker of this model orders by what the retriever says of its candidates, which a new text lacks: use "
            "known items, or a model whose ranker reads texts"
        )
    return scores[0]


def _rank(ranker: FittedRanker, lists: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
    try:
        return ranker.rank(lists, history, requests)
    except InputError as error:
        raise InputError(f"the model cannot rank by a text alone: {error}") from error


def _retrieved(asked: Asked, requests: Requests, number: Array) -> RankedLists:
    """Return the candidates with what the retriever says of them; those that it does not find come last."""
    allowed = np.zeros(len(asked.history.items), dtype=bool)
    allowed[number] = True
    only = replace(requests, allowed=allowed)
    lists = retrieved(asked.chain.retriever, asked.history, only, len(number), "the retriever")
    rest = np.setdiff1d(number, lists.item)
    if not len(rest):
        return lists
    low = np.full(len(rest), min(0.0, float(lists.score.min(initial=0))), dtype=lists.score.dtype)
    nothing = {name: np.full(len(rest), np.nan, dtype=of.dtype) for name, of in lists.columns.items()}
    return RankedLists(
        lists.user,
        np.array([0, len(number)]),
        np.concatenate([lists.item, rest.astype(np.int32)]),
        np.concatenate([lists.score, low]),
        {name: np.concatenate([of, nothing[name]]) for name, of in lists.columns.items()},
    )


def _score_of(lists: RankedLists, number: Array) -> Doubles:
    """Return the score of each item [n]."""
    order = np.argsort(lists.item, kind="stable")
    return np.asarray(lists.score[order][np.searchsorted(lists.item[order], number)], dtype=np.float64)
