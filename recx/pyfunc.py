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
from recx.experiment.model.model import K, Model

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("user", "item", "time", "weight")


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model in the form in which MLflow asks it.

    Attributes:
        model: The model.
    """

    model: Model

    def predict(self, frame: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the best items of each user, one row per user and item: user, rank from 1, item, score, known.

        Args:
            frame: A column ``user``: those who ask. With ``item`` and, where the run's data has them, ``time`` in ms
                and ``weight``, one row per event: each user has these events and no others.
            params: ``k``, the length of the lists, and ``at``, the time of the requests in ms.

        Raises:
            MlflowException: The frame or a parameter cannot be used, or the data of the run is needed and missing: of
                the kind that ``mlflow models serve`` answers with status 400 and one sentence.
        """
        from mlflow.exceptions import MlflowException

        try:
            return self._answer(frame, params or {})
        except RecxError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from error

    def _answer(self, frame: pd.DataFrame, params: Mapping[str, Any]) -> pd.DataFrame:
        given = {"k": K, "at": None, **params}
        for name in given:
            if name not in ("k", "at"):
                raise InputError(f"params: {name!r} is unknown: {did_you_mean(name, ('k', 'at'))}")
        self._check(frame)
        if "item" in frame:
            return self.model.recommend(history=frame, k=given["k"], at=given["at"])
        return self.model.recommend(frame["user"].to_numpy(), k=given["k"], at=given["at"])

    def _check(self, frame: pd.DataFrame) -> None:
        """Raise InputError for columns that would be misread."""
        for name in frame.columns:
            if name not in COLUMNS:
                raise InputError(f"the frame: the column {name!r} is unknown: {did_you_mean(str(name), COLUMNS)}")
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
