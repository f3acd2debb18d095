"""What the model answers to requests that have passed the checks of their form."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from recx.core.errors import InputError, RecxError
from recx.core.similar import FindsSimilar
from recx.core.types import Array
from recx.core.version import __version__
from recx.experiment import protocol_card
from recx.experiment.model.model import Model
from recx.jobs.serve import schema
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.refusal import Refused

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
FEW = 1_000
"""Items in the lists of a request that is answered together with others."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers requests with a model.

    Attributes:
        model: The model.
        run: How its run was named.
        limits: What a request may ask for.
    """

    model: Model
    run: str
    limits: Limits

    def warm_up(self) -> None:
        """Answer two requests, so that the events are read and the kernels compiled before the first client asks."""
        history = self.model.known.history
        if not len(history):
            return
        user = history.users.ids[history.user[0]]
        self.model.recommend([user])
        time = None if history.time is None else int(history.time[0])
        [item] = history.items.ids[history.item[:1]].tolist()  # of any kind of array: a number, or a text
        event = schema.Event(item=item, time=time)
        self.recommend(schema.Recommend(history=[event]))

    @cached_property
    def about(self) -> dict[str, Any]:
        """What ``/metadata`` says."""
        kept, hashes = self.model.kept, protocol_card.tags(self.model.kept.card)
        return {
            "run": self.run,
            "recx": __version__,
            "made": kept.about.get("made"),
            "made_by": kept.about["recx"],
            "data_hash": hashes["recx.data"],
            "card_hash": hashes["recx.protocol"],
            "users": self.model.known.history.n_users,
            "items": len(kept.chain.items),
            "times": self.model.known.history.time is not None,
            "n_candidates": kept.chain.n_candidates,
            "can": {"recommend": True, "rank": self._ranks, "similar": self._finds_similar},
        }

    def recommend(self, asked: schema.Recommend) -> dict[str, Any]:
        """Return the lists of users.

        Raises:
            Refused: The request cannot be answered.
        """
        if asked.users is None and asked.history is None:
            raise Refused(422, "give users, or a history")
        frame = None if asked.history is None else self._frame(asked.history)
        anonymous = asked.history is not None and all(event.user is None for event in asked.history)
        if anonymous and asked.users is not None:
            raise Refused(422, "history: no event names a user, and users are asked for: name it, or leave out users")
        if frame is not None and asked.users is None:
            users = frame["user"].drop_duplicates().tolist()
        else:
            users = list(asked.users or ())
        self.check(users, asked.k)
        schema.check_alike(asked.items or (), "items")
        answer = _answered(lambda: self._lists(users, frame, asked))
        if anonymous:
            answer["recommendations"][0]["user"] = None
        return answer

    def is_of_known(self, asked: schema.Recommend) -> bool:
        """Whether a request can be answered together with others: it names a few users, and brings nothing."""
        few = asked.users is not None and len(asked.users) * asked.k <= FEW
        return few and asked.history is None and asked.items is None

    def of_known(self, users: Sequence[Any], k: int, at: int | str | None) -> list[dict[str, Any]]:
        """Return the list of each of some users [n] (raises as ``recommend`` does)."""
        asked = schema.Recommend(users=list(users), k=k, at=at)
        found: list[dict[str, Any]] = _answered(lambda: self._lists(list(users), None, asked))["recommendations"]
        return found

    def of_query(self, asked: schema.RecommendQuery) -> schema.Recommend:
        """Return what a query asks for, in which everything is text."""
        users = [self._id(user, self.model.known.history.users.ids, "users") for user in asked.users]
        items: list[Any] | None = None
        if asked.items is not None:
            items = [self._id(item, self.model.kept.chain.items.ids, "items") for item in asked.items]
        return schema.Recommend(users=users, k=asked.k, at=asked.at, items=items)

    def rank(self, asked: schema.Rank) -> dict[str, Any]:
        """Return candidates in the order of the model for a text (raises as ``recommend`` does)."""
        if len(asked.candidates) > self.limits.candidates:
            raise Refused(
                422, f"candidates: {len(asked.candidates):,}, and at most {self.limits.candidates:,} are ranked"
            )
        made = _answered(lambda: self.model.rank(asked.query, asked.candidates), 422 if self._ranks else 501)
        columns = (made[name].tolist() for name in ("item", "score", "known"))
        return {
            "items": [dict(zip(("item", "score", "known"), row, strict=True)) for row in zip(*columns, strict=True)]
        }

    def similar(self, asked: schema.Similar) -> dict[str, Any]:
        """Return the items nearest to one (raises as ``recommend`` does)."""
        self._check_k(asked.k)
        made = _answered(lambda: self.model.similar(asked.item, asked.k), 422 if self._finds_similar else 501)
        return {"items": _shown(made["item"].tolist(), made["score"].tolist())}

    def similar_query(self, asked: schema.SimilarQuery) -> dict[str, Any]:
        """Return the same for an item whose id is a text, as everything in an address."""
        item = self._id(asked.item, self.model.kept.chain.items.ids, "item")
        return self.similar(schema.Similar(item=item, k=asked.k))

    @property
    def _ranks(self) -> bool:
        """Whether users and items have texts, so that candidates can be ranked for a text."""
        history = self.model.known.history
        return "text" in history.users.table and "text" in history.items.table

    @property
    def _finds_similar(self) -> bool:
        return isinstance(self.model.kept.chain.retriever, FindsSimilar)

    def _check_k(self, k: int) -> None:
        if k > self.limits.k:
            raise Refused(422, f"k: lists have at most {self.limits.k:,} items, and this asks for {k:,}")

    def check(self, users: Sequence[Any], k: int) -> None:
        """Raise Refused for more than is answered at once, or for ids of two types."""
        limits = self.limits
        if len(users) > limits.users:
            raise Refused(
                422, f"users: {len(users):,} at once, and at most {limits.users:,} are answered: ask in parts"
            )
        self._check_k(k)
        if len(users) * k > limits.rows:
            raise Refused(
                422, f"{len(users):,} users with lists of {k:,} are more than {limits.rows:,} items: ask in parts"
            )
        schema.check_alike(users, "users")
        if len(set(users)) < len(users):
            raise Refused(422, "users: one of them is named twice: name each once")

    def _frame(self, events: Sequence[schema.Event]) -> pd.DataFrame:
        """Return the events of a history as a frame with the columns that they have."""
        import pandas as pd

        columns: dict[str, list[Any]] = {"user": [], "item": []}
        for name in ("user", "item", "time", "weight"):
            values = [getattr(event, name) for event in events]
            n_missing = sum(value is None for value in values)
            if 0 < n_missing < len(values):
                raise Refused(
                    422, f"history: {n_missing:,} of {len(values):,} events have no {name}: give all, or none"
                )
            if not n_missing:
                columns[name] = values
        if not columns["user"]:
            columns["user"] = [self._nobody] * len(events)
        for name in ("user", "item"):
            schema.check_alike(columns[name], f"history, {name}")
        return pd.DataFrame(columns)

    @cached_property
    def _nobody(self) -> Any:
        """An id that no user of the model has."""
        ids = self.model.known.history.users.ids
        if ids.dtype.kind in "iu":
            return int(ids.max(initial=0)) + 1
        taken = set(ids.tolist())
        return next(name for name in ("new" + "_" * n for n in range(len(ids) + 1)) if name not in taken)

    def _lists(self, users: list[Any], frame: pd.DataFrame | None, asked: schema.Recommend) -> dict[str, Any]:
        """Return the list of each user, which may be empty."""
        allowed, unknown = (None, 0) if asked.items is None else self.model.allowed(asked.items)
        requests = self.model.asked(users, frame, asked.at, allowed)
        lists = requests.answers(asked.k)
        items, borders = requests.history.items.ids[lists.item].tolist(), lists.indptr.tolist()
        shown = _shown(items, lists.score.tolist())
        recommendations = [
            {"user": user, "known": known, "items": shown[start:stop]}
            for user, known, start, stop in zip(users, requests.known.tolist(), borders, borders[1:], strict=False)
        ]
        return {"recommendations": recommendations, "unknown_items": requests.unknown_items + unknown}

    def _id(self, text: str, ids: Array, what: str) -> Any:
        if ids.dtype.kind not in "iu":
            return text
        if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
            raise Refused(422, f"{what}: the ids of this model are whole numbers, and this is {text[:60]!r}")
        return int(text)


def _shown(items: Sequence[Any], scores: Sequence[float]) -> list[dict[str, Any]]:
    return [{"item": item, "score": score} for item, score in zip(items, scores, strict=True)]


def _answered(work: Callable[[], T], status: int = 422) -> T:
    """Return the result of ``work``, with its errors as refusals, of this status where its arguments are the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what was left out is counted in the answer
            return work()
    except InputError as error:
        raise Refused(status, str(error)) from None
    except RecxError as error:
        raise Refused(500, str(error)) from None
    except MemoryError:
        raise Refused(503, "there is not enough memory for this request: ask for less") from None
