"""Why a model shows an item to a user: its place in retrieval and ranking, and what each feature contributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.html_table import table
from recx.core.protocols import Explainable
from recx.core.types import RankedLists
from recx.experiment.contributions import AddedUp
from recx.experiment.model.asking import Asked
from recx.experiment.model.population import numbers_of, raw_ids
from recx.experiment.model.serving import serving_of


@dataclass(frozen=True, eq=False, repr=False)
class Explained:
    """An item among the candidates of a user.

    Attributes:
        user: The user's raw id.
        item: The item's raw id.
        candidates: How many items were retrieved for the user.
        retrieved: The item's rank among these, from 1; None: it was not retrieved, so all below is None or empty.
        retriever_score: Its score there.
        rank: Its rank after the ranker.
        score: Its score there.
        columns: What the retriever says of it besides, such as each source's score and rank (NaN: not from there).
        contributions: Feature -> what it adds to the score, the largest amounts first; collinear features are added up
            and named ``a + b``. Empty if the ranker's scores are no sums over features.
    """

    user: Any
    item: Any
    candidates: int
    retrieved: int | None
    retriever_score: float | None
    rank: int | None
    score: float | None
    columns: Mapping[str, float]
    contributions: Mapping[str, float]

    @property
    def _rows(self) -> list[tuple[str, str]]:
        place = "not retrieved" if self.retrieved is None else f"{self.rank} of {self.candidates}"
        rows = [("rank", place)]
        if self.retrieved is not None:
            rows += [("score", f"{self.score:.6g}"), ("retriever's rank", str(self.retrieved))]
            rows += [("retriever's score", f"{self.retriever_score:.6g}")]
        rows += [(name, f"{value:.6g}") for name, value in self.columns.items()]
        return rows + [(f"contribution of {name}", f"{value:+.4f}") for name, value in self.contributions.items()]

    def __repr__(self) -> str:
        lines = (f"  {name:<40} {value}" for name, value in self._rows)
        return "\n".join([f"item {self.item} for user {self.user}", *lines])

    def _repr_html_(self) -> str:
        return str(table((f"item {self.item} for user {self.user}", ""), self._rows))


def explained(asked: Asked, item: Any) -> Explained:
    """Return why an item has its place in the list of the one user who asks.

    Raises:
        InputError: The model does not know the item.
    """
    items = asked.history.items
    number = int(numbers_of(raw_ids([item], "items"), items, "items")[0])
    if number < 0:
        raise InputError(f"item {item!r}: the model does not know it: name an item of the run's data")
    requests, _ = asked.requests()
    before, after = serving_of(asked.chain, asked.history).lists(requests)
    row, ranked = _row_of(before, number), _row_of(after, number)
    user = asked.ids.tolist()[0]
    if row is None or ranked is None:
        return Explained(user, item, len(before), None, None, None, None, {}, {})
    contributions: dict[str, float] = {}
    if isinstance(asked.chain.ranker, Explainable):
        ranker = AddedUp(asked.chain.ranker)
        of_item = ranker.contributions(before, asked.history, requests)[row]
        order = np.argsort(-np.abs(of_item), kind="stable")
        contributions = {ranker.names[at]: float(of_item[at]) for at in order}
    columns = {name: float(column[row]) for name, column in before.columns.items()}
    places = row + 1, float(before.score[row]), ranked + 1, float(after.score[ranked])
    return Explained(user, item, len(before), *places, columns, contributions)


def _row_of(lists: RankedLists, number: int) -> int | None:
    found = np.flatnonzero(lists.item == number)
    return int(found[0]) if len(found) else None
