"""A run's chain in use: recommendations for known users, for new or longer histories, and as of any time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core import project
from recx.core.errors import InputError
from recx.core.html_table import table, title
from recx.core.similar import FindsSimilar
from recx.core.system.sizes import readable
from recx.core.types import Array, Bools, Fold, Interactions
from recx.experiment import build, protocol_card
from recx.experiment.loading import load
from recx.experiment.model.asking import Asked, Population
from recx.experiment.model.counted import is_dated
from recx.experiment.model.explaining import Explained, explained
from recx.experiment.model.folder import Kept, read
from recx.experiment.model.found import model_of
from recx.experiment.model.keep import known_of
from recx.experiment.model.moments import milliseconds_of
from recx.experiment.model.population import numbers_of, raw_ids
from recx.experiment.model.texts import Candidate, ranked

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.model.moments import Moment

K = 10


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """The chain of a run.

    Attributes:
        kept: What the run kept.
    """

    kept: Kept

    @classmethod
    def of(cls, folder: Path) -> Model:
        """Return the model in a folder ``model/`` (raises as ``recx.experiment.model.folder.read`` does)."""
        return cls(read(folder))

    @cached_property
    def known(self) -> Fold:
        """All events that the run has read, and the requests of its users after them.

        Raises:
            InputError: They were not kept, and the data is missing, has changed, or is at an address not named here.
        """
        kept = self.kept
        if kept.chain.known is not None:
            return kept.chain.known
        experiment = build.experiment(kept.config)
        with project.entered(project.current()):  # without one, every address would count as typed
            interactions = load(experiment.dataset, experiment.filters)
        if protocol_card.data_hash(interactions) != kept.card["data_hash"]:
            raise InputError(
                f"{kept.folder}: the data of the run has changed since: restore it, give the histories yourself, or "
                "keep them with the model (model=full)"
            )
        return known_of(interactions, experiment.splitter)

    @cached_property
    def population(self) -> Population:
        """All users that the model knows (raises as ``known`` does)."""
        return Population(self.kept.chain, self.known.history)

    def recommend(
        self,
        users: Sequence[Any] | Array | None = None,
        *,
        history: pd.DataFrame | Interactions | None = None,
        k: int = K,
        at: Moment | None = None,
        items: Sequence[Any] | Array | None = None,
    ) -> pd.DataFrame:
        """Return the best items of each user.

        Args:
            users: Raw ids [n], of which each counts once; None: all users of ``history``, or else all who have an
                event. Of a user whom the model does not know, the chain knows no event.
            history: Events of users, known or new, with the columns user, item and, where the run's data has them,
                time and weight. A user in it has these events and no others; everybody else has those of the run.
                What is counted over all users, such as an item's clicks, does not count them.
            k: The length of the lists: at most the run's ``n_candidates``.
            at: The time of the requests: only events before it are known (milliseconds, or a date: see
                ``recx.experiment.model.moments``); None: 1 ms after the user's last event, and for a user without
                events 1 ms after the last of all.
            items: Raw ids of the items that may be shown; None: all. The lists are those of a model that could show
                these items only.

        Returns:
            One row per user and item, users in the given order: user, rank from 1, item, score, known (whether the
            chain knows an event of the user). Its ``attrs`` count what was left out: ``unknown_items``, given events
            and allowed items that the model does not know, and given events by the names of ``asking.DROPPED``.

        Where the data of the run is missing or has changed, the events of ``history`` are all that is known, which a
        warning says.

        Raises:
            InputError: The data of the run is needed and missing, or an argument cannot be used.
        """
        _check_k(k)
        allowed, unknown = (None, 0) if items is None else self.allowed(items)
        asked = self.asked(users, history, at, allowed)
        _warn_of_left_out(asked, unknown)
        return _frame(asked, int(k), asked.unknown_items + unknown)

    def rank(self, query: str, candidates: Sequence[Candidate]) -> pd.DataFrame:
        """Return candidates in the order of the chain for a text, such as tools for a task.

        Args:
            query: The text of a task or a query, which need not be one of the run's.
            candidates: Raw ids of items, or new items: ``{"text": …}``, or a tool's schema as language models get it
                (``name``, ``description``, ``parameters``, within ``function`` or not). A schema with the name of a
                known tool stands for that one.

        Returns:
            One row per candidate, best first: item (its id, its name, or its text), rank from 1, score, known (whether
            it is an item of the run).

        Raises:
            InputError: The chain does not rank by texts alone, or a candidate cannot be used.
        """
        import pandas as pd

        order = ranked(self.population, query, candidates)
        rank = np.arange(1, len(order.label) + 1)
        return pd.DataFrame({"item": order.label, "rank": rank, "score": order.score, "known": order.known})

    def similar(self, item: Any, k: int = K) -> pd.DataFrame:
        """Return the items nearest to an item, for a retriever that knows them; no data is read.

        Args:
            item: Raw id of an item.
            k: How many.

        Returns:
            One row per item, nearest first: item, rank from 1, score. Its ``attrs`` name the source of a union that
            was asked (``by``).

        Raises:
            InputError: The model does not know the item, or its retriever knows no similar ones.
        """
        import pandas as pd

        _check_k(k)
        retriever, items = self.kept.chain.retriever, self.kept.chain.items
        number = int(numbers_of(raw_ids([item], "items"), items, "items")[0])
        if number < 0:
            raise InputError(f"item {item!r}: the model does not know it: name an item of the run's data")
        if not isinstance(retriever, FindsSimilar):
            raise InputError(
                f"the retriever of this model ({type(retriever).__name__}) knows no similar items: use a model with "
                "retriever=item_knn, vsknn, markov, rp3beta, slim, ials, faiss, ease, text, or a union of these"
            )
        found = retriever.similar(number, int(k))
        rank = np.arange(1, len(found.item) + 1)
        frame = pd.DataFrame({"item": items.ids[found.item], "rank": rank, "score": found.score})
        frame.attrs["by"] = found.by
        return frame

    def explain(
        self,
        user: Any,
        item: Any,
        *,
        history: pd.DataFrame | Interactions | None = None,
        at: Moment | None = None,
    ) -> Explained:
        """Return why an item has its place in a user's list; nothing is fitted.

        Args:
            user: Raw id of the user.
            item: Raw id of the item.
            history: As for ``recommend``.
            at: As for ``recommend``.

        Raises:
            InputError: As for ``recommend``, or the model does not know the item.
        """
        asked = self.asked([user], history, at)
        _warn_of_left_out(asked)
        return explained(asked, item)

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12} {value}" for name, value in self._facts)

    def _repr_html_(self) -> str:
        return str(title("Model") + table(("", ""), self._facts, names=2))

    @property
    def _facts(self) -> list[tuple[str, str]]:
        chain, about = self.kept.chain, self.kept.about
        parts = " + ".join(type(part).__name__ for part in (chain.retriever, chain.ranker))
        size = f"{len(chain.items):,} items, {chain.n_candidates} candidates per request"
        kept = "with its events" if chain.known is not None else "without events"
        made = f"{about['made']}, recx {about['recx']}, {readable(about['bytes'])} {kept}"
        return [("Model", parts), ("knows", size), ("kept", made), ("folder", str(self.kept.folder))]

    def asked(
        self,
        users: Sequence[Any] | Array | None,
        history: pd.DataFrame | Interactions | None,
        at: Moment | None,
        allowed: Bools | None = None,
    ) -> Asked:
        """Return the requests of users, whose ``answers`` are the lists of ``recommend`` as arrays.

        Args and errors are those of ``recommend``; ``allowed`` is which items may be shown [n_items].
        """
        if history is None and self._missing is not None:
            raise self._missing
        known = None if self._missing is not None else self.known.history
        events = history
        if history is not None and not isinstance(history, Interactions):
            relative = known is not None and known.time is not None and not is_dated(known)
            duplicates = self.kept.config.get("dataset", {}).get("duplicates", "drop")
            events = Interactions.from_frame(history, order="given", relative_times=relative, duplicates=duplicates)
        ids = None if users is None else raw_ids(users, "users")
        if known is not None:
            moment = None if at is None else milliseconds_of(at, known)
            return self.population.asked(ids, events, moment, allowed)
        assert events is not None
        moment = None if at is None else milliseconds_of(at, events)
        what = "the events of the history are all that is known, since those of the run are not here"
        warnings.warn(f"{what}: {self._missing}", stacklevel=3)
        return Population.of_nobody(self.kept.chain, events).asked(ids, events, moment, allowed)

    @cached_property
    def _missing(self) -> InputError | None:
        """Why the events of the run are not known; None if they are."""
        try:
            self.known  # noqa: B018
        except InputError as error:
            return error
        return None

    def allowed(self, items: Sequence[Any] | Array) -> tuple[Bools, int]:
        """Return which items may be shown [n_items], and how many of the ids are unknown."""
        known = self.kept.chain.items
        number = numbers_of(raw_ids(items, "items"), known, "items")
        allowed = np.zeros(len(known), dtype=bool)
        allowed[number[number >= 0]] = True
        return allowed, int((number < 0).sum())


def load_model(run: str = "last", *, uri: str | None = None) -> Model:
    """Return the model of a run, which recommends without being fitted again.

    Args:
        run: ``last``, a folder, an MLflow run id or name, ``best:EXPERIMENT``, or a registered model's address (see
            ``recx.experiment.model.found``).
        uri: The MLflow store; None: that of ``MLFLOW_TRACKING_URI``, and the one under ``outputs``.

    Raises:
        InputError: There is no such run, or it kept no model, or one that cannot be read.
    """
    return Model.of(model_of(run, uri=uri))


def _check_k(k: Any) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r}: it must be a whole number from 1")


def _warn_of_left_out(asked: Asked, unknown: int = 0) -> None:
    for what in asked.left_out(unknown):
        warnings.warn(what, stacklevel=3)


@cache
def _columns() -> pd.Index:
    import pandas as pd

    return pd.Index(["user", "rank", "item", "score", "known"])


def _frame(asked: Asked, k: int, unknown: int) -> pd.DataFrame:
    import pandas as pd

    lists = asked.answers(k)
    of_row = lists.list_of_row
    items = asked.history.items.ids[lists.item]
    columns = (asked.ids[of_row], lists.rank, items, lists.score, asked.known[of_row])
    frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
    frame.columns = _columns()  # with names in the first place, pandas would make this index every time
    frame.attrs.update(unknown_items=unknown, **asked.dropped)
    return frame
