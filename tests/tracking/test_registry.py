"""Registered models: each model becomes a version, and the alias moves only to a better one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recx.core.errors import InputError
from recx.core.progress import shown_on
from recx.core.trackers import KeptModel, Verdict
from recx.tracking.fetched_models import registered_run
from recx.tracking.mlflow import MLflow
from recx.tracking.registry import CHAMPION, COMPARED, WAITING, Registry
from recx.tracking.store import open_client


@dataclass(frozen=True)
class Registering:
    """Keeps and registers models in the working directory."""

    kept: Callable[..., KeptModel]
    contest: Callable[..., Any]

    def __call__(self, name: str, contest: Any = None) -> str:
        """Register the model of a run of this name, which wins unless it is told otherwise; return the run's id."""
        model = self.kept(Path.cwd() / name, contest=contest or self.contest())
        with MLflow(register="news").run("news", {}) as run:
            run.log_files(Path.cwd() / name)
            run.log_model(model)
        return str(run.run_id)


@pytest.fixture(scope="session")
def register(kept: Callable[..., KeptModel], contest_of: Callable[..., Any]) -> Registering:
    """Return what keeps and registers models."""
    return Registering(kept, contest_of)


def client(home: Path) -> Any:
    return open_client(f"sqlite:///{home}/outputs/mlflow.db")


def state(home: Path) -> tuple[dict[str, str], list[str]]:
    """Return the aliases, and what each version says of itself, by number."""
    opened = client(home)
    found = opened.search_model_versions("name = 'news'")
    by_number = sorted(found, key=lambda version: int(version.version))
    aliases = {alias: str(version) for alias, version in opened.get_registered_model("news").aliases.items()}
    return aliases, [version.tags[COMPARED] for version in by_number]


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_the_alias_moves_only_to_a_better_model(
    home: Path, register: Registering, capsys: pytest.CaptureFixture[str]
) -> None:
    contests = [register.contest(better) for better in (False, True, False, True)]
    with shown_on(Console(width=300)):
        ids = [register(f"run{n}", contest) for n, contest in enumerate(contests)]
    aliases, texts = state(home)
    assert aliases == {CHAMPION: "4"}
    assert texts == [
        "no champion: it loses",
        "the first champion",
        "the champion stays version 2: it loses",
        "the champion instead of version 2: it wins",
    ]
    told = said(capsys)
    for number, text in enumerate(texts, 1):
        assert f"registered: version {number} of news, {text}" in told
    of_second = {"valid/per_user.parquet": "values of run1"}
    assert [contest.met for contest in contests] == [[None], [None], [of_second], [of_second]]
    uri = f"sqlite:///{home}/outputs/mlflow.db"
    assert registered_run(uri, f"models:/news@{CHAMPION}").id == ids[3]
    assert registered_run(uri, "models:/news/1").id == ids[0]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("models:/news/7", "has no such version; its versions: 1"),
        ("models:/news@best", "has no such version; its versions: 1"),
        ("models:/other/1", "no model is registered under this name"),
        ("models:/o'r 1=1/1", "no model is registered under this name"),
        ("models:/news", "write models:/NAME/VERSION"),
        ("models:/news/latest", "write models:/NAME/VERSION"),
        ("models:/a/../1", "write models:/NAME/VERSION"),
    ],
)
def test_a_version_that_is_not_there_is_one_sentence(shared: Path, address: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        registered_run(f"sqlite:///{shared}/outputs/mlflow.db", address)


@pytest.fixture(scope="module")
def shared(register: Registering, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store that has one version."""
    folder, before = tmp_path_factory.mktemp("shared"), Path.cwd()
    os.chdir(folder)
    register("run")
    os.chdir(before)
    return folder


def test_a_version_of_somebody_else_is_no_model_of_recx(shared: Path) -> None:
    opened = client(shared)
    run = opened.create_run("0")
    opened.create_registered_model("foreign")
    opened.create_model_version("foreign", f"{run.info.artifact_uri}/model", run.info.run_id)
    with pytest.raises(InputError, match="this is no model that recx has logged"):
        registered_run(f"sqlite:///{shared}/outputs/mlflow.db", "models:/foreign/1")


def test_a_champion_that_a_person_chose_is_compared_too(home: Path, register: Registering) -> None:
    register("run0")
    opened = client(home)
    theirs = opened.create_run("0").info
    opened.create_model_version("news", f"{theirs.artifact_uri}/theirs", theirs.run_id)
    opened.set_registered_model_alias("news", CHAMPION, "2")
    contest = register.contest(better=False)
    register("run2", contest)
    assert contest.met == [{}]  # nothing that it could be compared by
    assert state_of(home, "3") == "the champion stays version 2: it loses"


def test_a_version_whose_process_died_before_it_was_compared_is_said_once(
    home: Path, register: Registering, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = register("run0")
    opened = client(home)
    opened.set_model_version_tag("news", "1", COMPARED, WAITING)
    opened.delete_registered_model_alias("news", CHAMPION)
    opened.update_run(run_id, status="KILLED")
    with shown_on(Console(width=300)):
        register("run1")
        register("run2", register.contest(better=False))
    told = said(capsys)
    assert told.count("version 1 of news was never compared with the champion, since its process ended before") == 1
    assert state(home) == (
        {CHAMPION: "2"},
        [
            "never compared with the champion, since its process ended before",
            "the first champion",
            "the champion stays version 2: it loses",
        ],
    )


def test_models_that_are_registered_at_once_get_versions_of_their_own(home: Path, register: Registering) -> None:
    def one(n: int) -> Any:
        contest = register.contest()
        register(f"run{n}", contest)
        return contest

    register("first")
    with ThreadPoolExecutor(4) as threads:
        contests = list(threads.map(one, range(4)))
    aliases, texts = state(home)
    assert aliases == {CHAMPION: "5"}
    assert texts[1:] == [f"the champion instead of version {n}: it wins" for n in range(1, 5)]
    assert all(len(contest.met) == 1 for contest in contests)  # one after the other


def test_a_champion_that_changes_meanwhile_is_compared_again(home: Path, register: Registering) -> None:
    """A server lets nobody wait, so another process may move the alias during the comparison."""
    register("run0")
    opened, moves = client(home), iter(["2"])
    theirs = opened.create_run("0").info
    opened.create_model_version("news", f"{theirs.artifact_uri}/theirs", theirs.run_id)

    class Disturbed(register.contest):  # type: ignore[name-defined, misc]
        def verdict(self, champion: Path | None) -> Any:
            for version in moves:
                opened.set_registered_model_alias("news", CHAMPION, version)
            return super().verdict(champion)

    contest = Disturbed(better=True)
    register("run2", contest)
    assert contest.met == [{"valid/per_user.parquet": "values of run0"}, {}]
    assert state_of(home, "3") == "the champion instead of version 2: it wins"


@pytest.mark.parametrize("met", [None, "2"])
def test_an_alias_that_another_process_inserts_at_the_same_time(
    home: Path, register: Registering, met: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server refuses the second insertion, with the words of its database."""
    from mlflow.exceptions import MlflowException

    register("run0")
    opened = client(home)
    theirs = opened.create_run("0").info
    opened.create_model_version("news", f"{theirs.artifact_uri}/theirs", theirs.run_id)
    opened.delete_registered_model_alias("news", CHAMPION)
    set_alias, refusals = opened.set_registered_model_alias, [MlflowException("UNIQUE constraint failed")]

    def set_late(name: str, alias: str, version: str) -> None:
        if refusals:
            if met is not None:
                set_alias(name, alias, met)
            raise refusals.pop()
        set_alias(name, alias, version)

    monkeypatch.setattr(opened, "set_registered_model_alias", set_late)
    registry, contest = Registry(opened, "news"), register.contest()
    if met is None:  # nobody else did, so it failed for another reason
        with pytest.raises(MlflowException, match="UNIQUE"):
            registry._decided("1", contest)
    else:
        assert registry._decided("1", contest) == Verdict(True, "the champion instead of version 2: it wins")
        assert {key: str(version) for key, version in opened.get_registered_model("news").aliases.items()} == {
            CHAMPION: "1"
        }


def state_of(home: Path, version: str) -> str:
    return str(client(home).get_model_version("news", version).tags[COMPARED])


def test_an_alias_that_never_rests_is_left_to_others(home: Path, register: Registering) -> None:
    register("run0")
    registry = Registry(client(home), "news")
    versions = iter(range(10, 100))

    class Restless(Registry):
        def _champion(self) -> Any:
            return type("Version", (), {"version": next(versions), "run_id": ""})

    verdict = Restless(registry.client, "news")._decided("1", register.contest())
    assert not verdict.better
    assert "has changed 5 times" in verdict.why


def test_a_store_that_was_moved_knows_its_models(
    home: Path, register: Registering, tmp_path_factory: pytest.TempPathFactory
) -> None:
    register("run0")
    new = tmp_path_factory.mktemp("moved")
    shutil.move(home / "outputs", new / "outputs")
    os.chdir(new)
    with MLflow().run("news", {}):
        pass
    opened = client(new)
    version = opened.get_model_version("news", "1")
    [found] = opened.search_logged_models([opened.get_experiment_by_name("news").experiment_id])
    for place in (found.artifact_location, version.source, opened.get_model_version_download_uri("news", "1")):
        assert (Path(place.removeprefix("file://")) / "MLmodel").is_file()
