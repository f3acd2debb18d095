"""Every command that reads what somebody else wrote runs no program that it names: each would leave a file ``mark``."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import yaml

import recx
from recx.core.errors import InputError
from recx.core.project import Project, entered
from recx.jobs.serve import worker
from recx.jobs.serve.settings import Settings
from recx.jobs.study import strangers
from recx.pyfunc import _load_pyfunc
from recx.storage.values import VALUE

from .conftest import CommandIn

NEWS = ("+experiment=news", "dataset.readers=40", "dataset.articles=30", "n_candidates=5", "feature=basic")
QUIET = ("tracker=console", "runtime.threads=1")
RETRIEVER, RANKER = "recx.parts.retriever.external.External", "recx.parts.ranker.external.External"
FITTED = "recx.parts.ranker.external.FittedExternal"
SETTINGS: dict[str, Any] = {"settings": {}, "uses": [], "timeout": None, "seed": 0}
TOUCH = "[touch,mark]"
CHAINS = {
    "a command": ["retriever=external", f"retriever.command={TOUCH}"],
    "an added command": ["retriever=external", f"++retriever.command={TOUCH}"],
    "a command of a ranker": ["retriever=popularity", "ranker=external", f"ranker.command={TOUCH}"],
    "a command in a mapping": ["retriever=external", f"retriever={{command: {TOUCH}}}"],
    "a command under another package": ["+retriever@retriever.sources.x=external", f"+a.b.command={TOUCH}"],
    "a command by interpolation": [
        *("retriever=external", f"+retriever.settings.words={TOUCH}", "retriever.command=${retriever.settings.words}")
    ],
    "a part by its class": [f"+retriever.sources.x={{_target_: {RETRIEVER}, command: {TOUCH}}}"],
    "an object": ["retriever=popularity", "ranker=callable", "ranker.object=this:rerank"],
    "an added object": ["retriever=popularity", "ranker=callable", "++ranker.object=this:rerank"],
}
COMPOSED = ("a command", "an added command", "a command by interpolation", "a part by its class")
"""Those that are valid words for a chain, so that a part is made of them if nobody refuses them before."""


@pytest.fixture
def unmarked(tmp_path: Path) -> Iterator[Path]:
    """Hold that nothing was run and nothing imported, whatever a test does."""
    yield tmp_path
    assert not list(tmp_path.rglob("mark"))
    assert "this" not in sys.modules


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run."""
    home = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        made = recx.run([*NEWS, *QUIET, "retriever=popularity", "cache=off", "hydra.run.dir=outputs/a/b"])
    log, days = made.interactions, 2 * 86_400_000
    assert log.time is not None
    columns = {"user": log.users.ids[log.user], "item": log.items.ids[log.item], "time": log.time + days}
    pd.DataFrame(columns).to_csv(home / "log.csv", index=False)
    return home


@pytest.fixture
def run(made: Path, unmarked: Path) -> Path:
    shutil.copytree(made / "outputs", unmarked / "outputs")
    shutil.copy(made / "log.csv", unmarked)
    return unmarked / "outputs" / "a" / "b"


def study(chain: list[str]) -> dict[str, Any]:
    world = [*NEWS, "ranker=identity"]
    return {"metrics": ["mrr"], "seeds": [0], "chains": {"own": chain}, "worlds": {"news": world}}


def locked(chain: list[str]) -> dict[str, Any]:
    overrides = [*study(chain)["worlds"]["news"], *chain, "seed=0", "fold=test"]
    cell = {"chain": "own", "world": "news", "seed": 0, "overrides": overrides, "data": None}
    parts = {"baseline": None, "average": False, "tunings": [], "tuned": [], "versions": {}, "code": "", "options": ""}
    return {"study": "own", "metrics": ["end_to_end/mrr"], **parts, "cells": [cell]}


def reproduction(chain: list[str]) -> dict[str, Any]:
    place = {"chain": "own", "world": "news", "origin": "paper", "source": "x"}
    expected = [{**place, "tolerance": 1, "figures": {"mrr": 1}}]
    about = {"title": "x", "paper": "x", "notes": "x", "data": {"where": "x", "files": {"x": None}}}
    return {**about, "expected": expected, **study(chain)}


FILES: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "study": study,
    "study of a lock file": locked,
    "reproduce": reproduction,
}


def write(folder: Path, content: Mapping[str, Any]) -> None:
    (folder / "x").touch()
    (folder / "own.yaml").write_text(yaml.safe_dump(dict(content)))


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("file", FILES)
def test_a_file_of_a_study_that_names_one_is_refused(
    unmarked: Path, command_in: CommandIn, file: str, chain: str
) -> None:
    write(unmarked, FILES[file](CHAINS[chain]))
    words = ["data=."] if file == "reproduce" else ["jobs=1", *QUIET]
    done = command_in(unmarked, file.split()[0], "own.yaml", *words)
    assert done.code == 2
    assert "a study may be a stranger's: repeat it on the command line" in done.err
    assert not (unmarked / "outputs").exists()


@pytest.mark.parametrize(
    ("file", "chain"), [*(("study", one) for one in COMPOSED), ("study of a lock file", COMPOSED[0])]
)
def test_one_that_the_words_of_a_study_hid_is_refused_by_the_part(
    unmarked: Path, command_in: CommandIn, monkeypatch: pytest.MonkeyPatch, file: str, chain: str
) -> None:
    monkeypatch.setattr(strangers, "check_overrides", lambda *_: None)
    write(unmarked, FILES[file](CHAINS[chain]))
    done = command_in(unmarked, "study", "own.yaml", "jobs=1", *QUIET)
    assert done.code == 1
    assert "has this command, word for word, so it is not run" in " ".join(done.out.split())


@pytest.mark.parametrize("file", ["study.lock.yaml", "journal/own/news/0.json"])
def test_a_study_that_is_resumed_runs_nothing_that_its_folder_names(
    unmarked: Path, command_in: CommandIn, file: str
) -> None:
    write(unmarked, study(["retriever=popularity"]))
    assert command_in(unmarked, "study", "own.yaml", "jobs=1", *QUIET).code == 0
    folder = unmarked / "outputs" / "studies" / "own"
    text = (folder / file).read_text()
    assert "retriever=popularity" in text
    evil = ["retriever=external", f"retriever.command={TOUCH}"]
    if file.endswith("yaml"):
        content = yaml.safe_load(text)
        words = content["cells"][0]["overrides"]
        words[words.index("retriever=popularity") : words.index("retriever=popularity") + 1] = evil
        (folder / file).write_text(yaml.safe_dump(content))
        shutil.rmtree(folder / "journal")
    else:
        trial = json.loads(text)
        trial |= {"words": [*trial["words"], *evil], "reason": "it broke"}
        (folder / file).write_text(json.dumps(trial))
    done = command_in(unmarked, "study", "own.yaml", "resume", "jobs=1", *QUIET)
    assert done.code == (2 if file.endswith("yaml") else 0), done.err
    assert file.endswith("json") or "was started with retriever=external" in done.err


def external(kind: str) -> dict[str, Any]:
    return {"_target_": kind, "command": ["touch", "mark"], **SETTINGS}


def changed(run: Path, key: str) -> None:
    """Have the configuration of a run name a program at a key, as a part or in place of one."""
    file = run / "config.yaml"
    config = yaml.safe_load(file.read_text())
    kind = RETRIEVER if key in ("retriever", "dataset", "split") else RANKER
    config[key] = {"mine": external(kind)} if key == "feature" else external(kind)
    if key == "ranker by interpolation":
        config |= {"aside": {"words": ["touch", "mark"]}, "ranker": {**external(RANKER), "command": "${aside.words}"}}
    file.write_text(yaml.safe_dump(config))
    shutil.copy(file, run / "model" / "config.yaml")
    sealed(run / "model", "config.yaml")
    page = json.loads((run / "report.json").read_text())
    page["config"] = config
    (run / "report.json").write_text(json.dumps(page))


def sealed(model: Path, name: str) -> None:
    """Give a file that was changed its place among those of the manifest again."""
    about, content = json.loads((model / "model.json").read_text()), (model / name).read_bytes()
    about["files"][name] = [len(content), hashlib.blake2b(content, digest_size=16).hexdigest()]
    (model / "model.json").write_text(json.dumps(about))


READERS = {
    "explain": ("explain", "outputs/a/b", "--worst", "2"),
    "report": ("report", "outputs/a/b"),
    "predict": ("predict", "outputs/a/b"),
    "replay": ("replay", "outputs/a/b", "--log", "log.csv", "--refit", "1d", "--no-mlflow"),
}


@pytest.mark.parametrize("key", ["retriever", "ranker", "ranker by interpolation", "feature", "dataset", "split"])
@pytest.mark.parametrize("reader", READERS)
def test_what_reads_a_run_runs_nothing_that_its_configuration_names(
    run: Path, command_in: CommandIn, reader: str, key: str
) -> None:
    changed(run, key)
    done = command_in(run.parents[2], *READERS[reader])
    assert done.code == 0 or (done.code == 2 and done.err.count("\n") == 1), done.err


def part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"part": kind, "place": 9_000 + len(fields), "fields": fields}


COMMAND = {"tuple": ["touch", "mark"]}
UNFITTED = {"command": COMMAND, "settings": {"mapping": []}, "uses": {"tuple": []}, "timeout": None, "seed": 0}
PROGRAM = part(
    "recx.parts.shared.program.Program", key="k", command=COMMAND, settings={"mapping": []}, seed=0, timeout=None
)
OBJECT = part("recx.parts.ranker.callable.Callable", object="this:rerank")
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "a feature that learns": ("feature", part(RETRIEVER, **UNFITTED, seen="drop")),
    "a ranker that learns": ("ranker", part(RANKER, **UNFITTED)),
    "a ranker that has learnt": ("ranker", part(FITTED, program=PROGRAM, workplace="model")),
    "a program": ("ranker", PROGRAM),
    "an object": ("ranker", OBJECT),
}


def planted(run: Path, name: str) -> None:
    """Have the model of a run hold a part that would run something."""
    where, evil = MODELS[name]
    file = run / "model" / VALUE
    value = json.loads(file.read_text())
    if where == "feature":
        value["fields"]["ranker"]["fields"]["features"]["mapping"][0][1] = evil
    else:
        value["fields"]["ranker"] = evil
    file.write_text(json.dumps(value))
    sealed(run / "model", VALUE)


WHY = r"no file may hold what an external program has learnt|names this object, so it is not imported"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("door", ["predict", "replay", "serve", "explain", "load_model", "MLflow"])
def test_a_model_that_holds_a_program_is_not_read(
    run: Path, command_in: CommandIn, monkeypatch: pytest.MonkeyPatch, door: str, name: str
) -> None:
    planted(run, name)
    if door in ("predict", "replay", "explain"):
        done = command_in(run.parents[2], *READERS[door])
        assert done.code == 2
        assert any(why in done.err for why in WHY.split("|"))
        return
    monkeypatch.chdir(run.parents[2])
    read = {"load_model": lambda: recx.load_model(str(run)), "MLflow": lambda: _load_pyfunc(str(run / "model"))}
    with pytest.raises(InputError, match=WHY):
        read.get(door, lambda: serve(run))()


def serve(run: Path) -> None:
    """Do what a process of a server does before its first request."""
    settings = Settings(run / "model", str(run))
    with entered(Project()):
        worker._application({"settings": settings.as_json()})


def test_python_code_that_has_imported_the_module_itself_may_use_its_object(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(run, "an object")
    module = ModuleType("this")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "this", module)
        assert recx.load_model(str(run)).kept.chain.ranker.object == "this:rerank"  # type: ignore[attr-defined]


def test_python_code_opens_no_address_that_a_model_s_configuration_names(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda address, **_: asked.append(address))
    file = run / "model" / "config.yaml"
    config = yaml.safe_load(file.read_text())
    config["dataset"] = {"_target_": "recx.parts.dataset.table.Table", "path": "https://elsewhere/log.csv"}
    file.write_text(yaml.safe_dump(config))
    sealed(run / "model", "config.yaml")
    with pytest.raises(InputError, match="an address is opened only where this command line names it"):
        recx.load_model(str(run)).recommend()
    assert not asked
