"""What a run has kept, loaded and asked by MLflow as by recx itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.experiment.model.model import Model
from recx.pyfunc import Predictor, _load_pyfunc

TABLE = ["+experiment=table", "retriever=popularity", "ranker=identity", "n_candidates=8"]
pytestmark = pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning")
"""MLflow warns of a hint of its own when ``mlflow.pyfunc`` is imported."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder, which is the working directory, with a run of a table whose model was logged."""
    folder, before = tmp_path_factory.mktemp("world"), Path.cwd()
    os.chdir(folder)
    rng = np.random.default_rng(0)
    rows = {"user": np.repeat(np.arange(30), 5), "item": rng.integers(0, 20, 150), "time": np.arange(150) * 60_000}
    pd.DataFrame({**rows, "time": rows["time"] + 1_600_000_000_000}).to_csv("clicks.csv", index=False)
    recx.run([*TABLE, "dataset.path=clicks.csv", "hydra.run.dir=outputs/run", "tracker=mlflow"])
    yield folder
    os.chdir(before)


@pytest.fixture
def loaded(world: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the model as MLflow loads it by the id of its run."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{world}/outputs/mlflow.db")
    client = mlflow.MlflowClient()
    [run] = client.search_runs([client.get_experiment_by_name("table").experiment_id])
    yield mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    mlflow.set_tracking_uri(None)
    os.environ.pop("MLFLOW_TRACKING_URI", None)


@pytest.fixture(scope="module")
def model(world: Path) -> Model:
    """Return the model as recx reads it."""
    return Model.of(world / "outputs" / "run" / "model")


def test_mlflow_answers_as_recx_does(loaded: Any, model: Model) -> None:
    users = pd.DataFrame({"user": [7, 3, 29]})
    pd.testing.assert_frame_equal(loaded.predict(users), model.recommend([7, 3, 29]), check_exact=True)
    pd.testing.assert_frame_equal(loaded.predict(users, params={"k": 2}), model.recommend([7, 3, 29], k=2))
    at = 1_600_000_000_000 + 60_000 * 40
    pd.testing.assert_frame_equal(loaded.predict(users, params={"at": at}), model.recommend([7, 3, 29], at=at))
    events = pd.DataFrame({"user": [7, 7, 99], "item": [1, 2, 1], "time": [at, at + 1, at]})
    pd.testing.assert_frame_equal(loaded.predict(events, params={"k": 3}), model.recommend(history=events, k=3))
    example = loaded.predict(loaded.input_example)
    assert set(example["user"]) <= set(loaded.input_example["user"])
    assert example.columns.tolist() == [column.name for column in loaded.metadata.get_output_schema().inputs]


@pytest.mark.parametrize(
    ("frame", "params", "why"),
    [
        ({"user": ["x"]}, {}, "Can not safely convert"),
        ({"item": [1]}, {}, "missing"),
        ({"user": [1]}, {"k": "x"}, "k"),
        ({"user": [1]}, {"k": 0}, "k=0: it must be a whole number from 1"),
        ({"user": [1], "time": [3]}, {}, "time is that of an event, which needs the column item too"),
        ({"user": [1], "item": [1]}, {}, "time"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(loaded: Any, frame: Any, params: Any, why: str) -> None:
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match=why) as error:
        loaded.predict(pd.DataFrame(frame), params=params)
    assert "Traceback" not in str(error.value)


class Stub:
    """Says what it was asked."""

    def recommend(self, **asked: Any) -> Any:
        return asked

    def rank(self, query: str, candidates: list[Any]) -> pd.DataFrame:
        n = len(candidates)
        return pd.DataFrame({"item": candidates, "rank": np.arange(1, n + 1), "score": [0.5] * n, "known": [True] * n})


def asked(frame: dict[str, Any], params: dict[str, Any] | None = None) -> Any:
    return Predictor(Stub()).predict(pd.DataFrame(frame), params)  # type: ignore[arg-type]


def test_candidates_are_ordered_for_each_text() -> None:
    order = asked({"query": ["a", "b"], "candidates": [["x", {"text": "y"}], ["z"]]})
    assert order.columns.tolist() == ["query", "rank", "item", "score", "known"]
    assert order[["query", "rank", "item"]].values.tolist() == [["a", 1, "x"], ["a", 2, {"text": "y"}], ["b", 1, "z"]]


@pytest.mark.parametrize(
    ("frame", "params", "why"),
    [
        ({"query": ["a"]}, {}, "needs the columns query and candidates, and no others"),
        ({"query": ["a"], "candidates": [["x"]], "user": [1]}, {}, "needs the columns query and candidates"),
        ({"user": [1, None]}, {}, "row 1 has no user: leave out the row, or the column in all rows"),
        ({"user": [1, 1], "item": [None, 2]}, {}, "row 0 has no item"),
        ({"user": [1], "itemm": [2]}, {}, "the column 'itemm' is unknown: did you mean 'item'"),
        ({"items": [1]}, {}, "the column 'items' is unknown"),
        ({"user": [1]}, {"n": 3}, "params: 'n' is unknown"),
    ],
)
def test_columns_that_would_be_misread_are_refused(frame: Any, params: Any, why: str) -> None:
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match=why):
        asked(frame, params)


def test_what_is_not_set_is_left_to_the_model() -> None:
    assert list(asked({"user": [1]}, {"k": 3, "at": None})) == ["users", "k"]


def test_loading_runs_no_code_of_the_folder(world: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(world / "outputs" / "run" / "model", folder)
    for name in ("__init__.py", "recx.py", "conftest.py", "sitecustomize.py", "value.pkl"):
        (folder / name).write_text("raise SystemExit('it ran')")
    pd.testing.assert_frame_equal(
        _load_pyfunc(str(folder)).predict(pd.DataFrame({"user": [1]})),
        _load_pyfunc(str(world / "outputs" / "run" / "model")).predict(pd.DataFrame({"user": [1]})),
    )
    value = (folder / "value.json").read_text()
    (folder / "value.json").write_text(value.replace("recx.", "os."))
    with pytest.raises(InputError, match=r"value\.json has changed"):
        _load_pyfunc(str(folder))
