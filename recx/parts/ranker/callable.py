"""Any Python object that reranks texts, named by its path: ``ranker=callable ranker.object=my_module:reranker``."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.progress import track
from recx.core.types import Array, Doubles, Floats, Interactions, RankedLists, Requests
from recx.parts.shared.texts import texts_of


@dataclass(frozen=True)
class Callable:
    """Asks an object's ``rerank(query, documents)``, texts both, once for each list.

    It answers with one score a document, in their order; or with pairs of a document (its text, or its place from 0)
    and a score; or with the documents in a new order, best first. Every document must be among them.

    object: ``module:name`` of the object, or of a class that needs no arguments. Importing the module runs its code
    with all that you may do: name only what you would run yourself. Nothing but this setting is ever imported so; data
    has no say in it.
    """

    object: str | None = None
    cacheable: ClassVar[bool] = False  # what the object depends on, nobody knows but the object

    def preflight(self) -> None:
        """Import the object, so that what is wrong with it is told before any data is read.

        Building the ranker imports nothing: a saved configuration is no command line (``recx explain``).

        Raises:
            InputError: no object is named, or it cannot be had.
        """
        self._reranker  # noqa: B018

    @cached_property
    def _reranker(self) -> Any:
        if self.object is None:
            raise InputError(
                "ranker.object is not set: name a Python object with rerank(query, documents), as module:name"
            )
        key = f"ranker.object={self.object}"
        module, _, name = self.object.partition(":")
        if not module or not name:
            raise InputError(f"{key}: name a Python object as module:name, such as my_rerankers:by_length")
        try:
            found = getattr(import_module(module), name)
        except Exception as error:  # whatever the module does when it is imported
            raise InputError(f"{key}: it cannot be imported ({type(error).__name__}: {error}): correct it") from error
        try:
            found = found() if inspect.isclass(found) else found
        except Exception as error:
            raise InputError(
                f"{key}: {name}() fails ({type(error).__name__}: {error}): name an object, not a class"
            ) from error
        if not callable(getattr(found, "rerank", None)):
            raise InputError(f"{key}: it has no rerank(query, documents): name an object that has it")
        return found

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the object's order.

        Raises:
            InputError: no object is named, or the users or the items have no texts.
            RecxError: the object fails, or its answer is none of those above.
        """
        self.preflight()
        queries, documents = texts_of(history.users, "users"), texts_of(history.items, "items")
        score: Floats = np.zeros(len(candidates), dtype=np.float32)
        for number in track(range(candidates.n_lists), "lists reranked"):
            rows = slice(int(candidates.indptr[number]), int(candidates.indptr[number + 1]))
            user = candidates.user[number]
            if rows.start < rows.stop:
                score[rows] = self._scores(
                    str(queries[user]), documents[candidates.item[rows]], history.users.ids[user]
                )
        return candidates.reorder(score)

    def _scores(self, query: str, documents: Array, user: Any) -> Doubles:
        texts = [str(text) for text in documents]
        try:
            answer = self._reranker.rerank(query, list(texts))
        except Exception as error:
            raise RecxError(f"{self.object}: rerank fails for user {user} ({type(error).__name__}: {error})") from error
        try:
            score = _scores_of(list(answer), texts)
        except (TypeError, ValueError, LookupError):
            score = None
        if score is None or score.shape != (len(texts),) or not np.isfinite(score).all():
            raise RecxError(
                f"{self.object}: the answer of rerank for user {user} is not one finite score for each "
                f"of the {len(texts)} documents, nor each document once, with its score or best first: correct it"
            )
        return score


def _scores_of(answer: Sequence[Any], texts: list[str]) -> Doubles:
    """Return a score for each text [n].

    Raises:
        TypeError, ValueError, LookupError: the answer is no list of scores, of pairs or of the texts.
    """
    if all(isinstance(one, str) for one in answer):
        answer = [(text, -place) for place, text in enumerate(answer)]
    if not all(isinstance(one, tuple | list) for one in answer):
        return np.asarray(answer, dtype=np.float64)
    places: dict[Any, list[int]] = {place: [place] for place in range(len(texts))}
    for place, text in reversed(list(enumerate(texts))):
        places.setdefault(text, []).append(place)
    score = np.full(len(texts), np.nan)
    for document, value in answer:
        score[places[document].pop()] = value
    return score
