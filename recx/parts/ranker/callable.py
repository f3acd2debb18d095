"""A Python object that reranks texts, named by its path: ``ranker=callable ranker.object=my_module:reranker``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.progress import track
from recx.core.project import check_object, current, entered
from recx.core.seen_events import UNKNOWN_EVENTS
from recx.core.types import Doubles, Interactions, RankedLists, Requests
from recx.parts.shared.texts import texts_of


@dataclass(frozen=True)
class Callable:
    """Calls an object's ``rerank(query, documents)`` with the texts of each list.

    ``rerank`` returns one score per document, in their order; or pairs of a document (its text, or its index) and a
    score; or the documents in a new order, best first. Every document must be included.

    Attributes:
        object: ``module:name`` of the object, or of a class without required arguments. Importing the module runs its
            code with your permissions: name only code that you would run yourself. Only this setting is ever imported,
            never anything named by data, and never because the configuration or the model of a saved run names it (see
            ``recx.core.project.check_object``).
    """

    object: str | None = None
    cacheable: ClassVar[bool] = False  # what the object depends on is unknown

    @property
    def loaded(self) -> dict[str, str | None]:
        """What the protocol card says of the object."""
        return {"from": self.object, "seen": UNKNOWN_EVENTS}

    def preflight(self) -> None:
        """Import the object, so that errors are reported before any data is read.

        Building the ranker imports nothing, since a saved configuration must not run code (``recx explain``).

        Raises:
            InputError: No object is named, or it cannot be imported.
        """
        self._reranker  # noqa: B018

    def check_read(self) -> None:
        """Check the object that a file names, where nobody typed it: Python code must have imported its module before.

        Raises:
            InputError: Using the file would import it.
        """
        if self.object is None or self.object.partition(":")[0] in sys.modules:
            return
        try:
            with entered(current()):  # a part that Python code makes itself may name what it likes, a file may not
                check_object(self.object)
        except InputError as error:
            raise InputError(f"ranker.object={self.object}: {error}; in Python, import its module before") from None

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
            check_object(self.object)
        except InputError as error:
            raise InputError(f"{key}: {error}") from None
        try:
            found = getattr(import_module(module), name)
        except (Exception, SystemExit) as error:  # importing runs arbitrary code
            raise InputError(
                f"{key}: it cannot be imported ({type(error).__name__}: {error}): correct it, or put its folder on "
                "PYTHONPATH, since the working directory is not searched"
            ) from error
        try:
            found = found() if inspect.isclass(found) else found
        except Exception as error:
            raise InputError(
                f"{key}: {name}() fails ({type(error).__name__}: {error}): name an object, not a class"
            ) from error
        if not callable(getattr(found, "rerank", None)):
            raise InputError(f"{key}: it has no rerank(query, documents): name an object that has it")
        return found

    def for_users(self, history: Interactions) -> Callable:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the order of the object.

        Raises:
            InputError: No object is named, or the users or the items have no texts.
            RecxError: The object fails, or returns something else than described above.
        """
        self.preflight()
        queries, documents = texts_of(history.users, "users"), texts_of(history.items, "items")
        score = np.zeros(len(candidates))
        for number in track(range(candidates.n_lists), "lists reranked"):
            rows = slice(int(candidates.indptr[number]), int(candidates.indptr[number + 1]))
            user, texts = candidates.user[number], [str(text) for text in documents[candidates.item[rows]]]
            if texts:
                score[rows] = self._scores(str(queries[user]), texts, history.users.ids[user])
        return candidates.reorder(score)

    def _scores(self, query: str, texts: list[str], user: Any) -> Doubles:
        try:
            answer = self._reranker.rerank(query, list(texts))
        except Exception as error:
            raise RecxError(f"{self.object}: rerank fails for user {user} ({type(error).__name__}: {error})") from error
        try:
            score = _scores_of(list(answer), texts)
        except _InexactError as error:
            raise RecxError(
                f"{self.object}: rerank for user {user} returns {error}, which would become equal to its neighbours as "
                "float64: subtract a constant, or return the documents best first"
            ) from error
        except (TypeError, ValueError, LookupError, OverflowError):
            score = None
        if score is None or score.shape != (len(texts),) or not np.isfinite(score).all():
            raise RecxError(
                f"{self.object}: rerank for user {user} must return one finite score for each of the {len(texts)} "
                "documents, or each document once, with its score or best first: correct it"
            )
        return score


class _InexactError(Exception):
    """A score is a whole number that float64 does not hold."""


def _exact(score: Any) -> float:
    number = float(score)
    if isinstance(score, int | np.integer) and int(number) != int(score):
        raise _InexactError(score)
    return number


def _scores_of(answer: Sequence[Any], texts: list[str]) -> Doubles:
    """Return a score for each text [n].

    Raises:
        TypeError, ValueError, LookupError, OverflowError: The answer is not a list of scores, of pairs or of the texts.
        _InexactError: A score is a whole number that float64 does not hold.
    """
    if all(isinstance(one, str) for one in answer):
        answer = [(text, -rank) for rank, text in enumerate(answer)]
    if not all(isinstance(one, tuple | list) for one in answer):
        return np.array([_exact(one) for one in answer])
    rows: dict[Any, list[int]] = {row: [row] for row in range(len(texts))}
    for row, text in reversed(list(enumerate(texts))):
        rows.setdefault(text, []).append(row)
    score = np.full(len(texts), np.nan)
    for document, value in answer:
        score[rows[document].pop()] = _exact(value)
    return score
