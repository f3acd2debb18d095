"""The door for MLflow: loads what a run has kept as a model with MLflow's own interface.

    mlflow.pyfunc.load_model("runs:/ID/model").predict(pandas.DataFrame({"user": [17, 42]}), params={"k": 10})

The files ``MLmodel`` of all logged models name this module. It runs no code of a model's folder: the classes of parts
are found in recx and in installed plugins, and every file is compared with its hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError, RecxError, did_you_mean
from recx.experiment.model.model import Model

if TYPE_CHECKING:
    import pandas as pd

EVENTS, TEXTS, PARAMS = ("user", "item", "time", "weight"), ("query", "candidates"), ("k", "at")
"""Columns of a frame that asks for users, and of one that asks for texts; what may be set."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model in the form in which MLflow asks it.

    Attributes:
        model: The model.
    """

    model: Model

    def predict(self, frame: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the best items of each user, or candidates in the order of the chain.

        Args:
            frame: A column ``user``: those who ask. With ``item`` and, where the run's data has them, ``time`` in ms
                and ``weight``, one row per event: each user has these events and no others. In worlds of texts also
                ``query`` and ``candidates``, which is a list in each row (see ``Model.rank``).
            params: ``k``, the length of the lists, and ``at``, the time of the requests in ms.

        Returns:
            One row per user and item, with the columns user, rank from 1, item, score, known; with ``query`` instead of
            user if texts were given, in the order of the rows.

        Raises:
            MlflowException: The frame or a parameter cannot be used, or the data of the run is needed and missing: of
                the kind that ``mlflow models serve`` answers with status 400 and one sentence.
        """
        from mlflow.exceptions import MlflowException

        given = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            if unknown := [name for name in given if name not in PARAMS]:
                raise InputError(f"params: {unknown[0]!r} is unknown: {did_you_mean(unknown[0], PARAMS)}")
            if "query" in frame or "candidates" in frame:
                return self._ranked(frame)
            _check(frame)
            asked = {"history": frame} if "item" in frame else {"users": frame["user"].to_numpy()}
            return self.model.recommend(**asked, **given)
        except RecxError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from error

    def _ranked(self, frame: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        if set(frame.columns) != set(TEXTS):
            raise InputError(f"the frame: to rank for texts it needs the columns {' and '.join(TEXTS)}, and no others")
        rows = zip(frame["query"], frame["candidates"], strict=True)
        found = [(query, self.model.rank(query, list(candidates))) for query, candidates in rows]
        lists = [order.assign(query=query)[["query", "rank", "item", "score", "known"]] for query, order in found]
        return pd.concat(lists, ignore_index=True) if lists else pd.DataFrame(columns=["query", "rank", "item"])


def _check(frame: pd.DataFrame) -> None:
    """Raise InputError for columns that would be misread."""
    for name in frame.columns:
        if name not in EVENTS:
            raise InputError(f"the frame: the column {name!r} is unknown: {did_you_mean(str(name), EVENTS)}")
        if frame[name].isna().any():
            row = int(frame[name].isna().to_numpy().argmax())
            raise InputError(f"the frame: row {row} has no {name}: leave out the row, or the column in all rows")
    if "user" not in frame:
        raise InputError("the frame needs the column user")
    others = [name for name in ("time", "weight") if name in frame]
    if others and "item" not in frame:
        raise InputError(f"the frame: {others[0]} is that of an event, which needs the column item too")


def _load_pyfunc(path: str) -> Predictor:
    """Return the model in a folder that MLflow has read from its store (raises as ``Model.of`` does)."""
    return Predictor(Model.of(Path(path)))
