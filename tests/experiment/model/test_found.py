"""The model of a run is found by folder, by id or name, as the last one, and in a store of another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.experiment.model.found import model_of
from recx.tracking.store import open_client

pytestmark = pytest.mark.slow
WORLD = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "retriever=popularity", "ranker=identity"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run in the store under ``outputs``."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run([*WORLD, "cache=off", "tracker.run_name=mine", "tracker.register=shop"])
    return home


def the_run(home: Path) -> Path:
    return next(home.glob("outputs/2*/*"))


def test_every_name_of_a_run_leads_to_its_model(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    folder = the_run(home)
    [run] = open_client(f"sqlite:///{home}/outputs/mlflow.db").search_runs(["1"])
    named = ["last", "mine", run.info.run_id, run.info.run_id[:8], folder, folder / "model", "models:/shop/1"]
    named.append(folder.relative_to(home / "outputs"))
    for name in named:
        assert model_of(name).resolve() == folder / "model", name


def test_a_run_whose_folder_is_gone_is_fetched_from_the_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    folder = the_run(home)
    whole = recx.load_model("last").recommend(k=3)
    folder.rename(home / "away")
    try:
        for name in ("mine", "models:/shop/1"):
            found = model_of(name)
            assert found.is_relative_to("outputs/fetched")
            pd.testing.assert_frame_equal(recx.load_model(name).recommend(k=3), whole)
    finally:
        (home / "away").rename(folder)
        shutil.rmtree(home / "outputs" / "fetched")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody's", 'no run "nobody\'s"'),
        ("best:news", "none of its 1 runs has figures of fold=valid"),
        ("best:nwes", "no experiment 'nwes' .* did you mean 'news'"),
        ("best:", "no experiment ''"),
        ("models:/shop/2", "has no such version; its versions: 1"),
        ("models:/shop", "write models:/NAME/VERSION"),
        ("models:/../../etc/1", "write models:/NAME/VERSION|no such version"),
        ("outputs", "does not hold a finished run"),
    ],
)
def test_what_is_not_there_is_one_sentence(home: Path, name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with pytest.raises(InputError, match=said):
        model_of(name)


def test_a_folder_without_a_model_says_so(home: Path, tmp_path: Path) -> None:
    shutil.copytree(the_run(home), tmp_path / "run", ignore=shutil.ignore_patterns("model"))
    with pytest.raises(InputError, match=r"this run kept no model \(model=off"):
        model_of(tmp_path / "run")
