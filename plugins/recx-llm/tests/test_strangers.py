"""Nothing that somebody else wrote has texts sent anywhere: the endpoint of these tests must not be asked."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from recx_llm.ranker import Llm

import recx
from recx.plugin import InputError

from .conftest import Call, Server

TOOLS = [
    "+experiment=tools",
    "dataset.tasks=80",
    "dataset.tools=12",
    "tracker=console",
    "runtime.threads=1",
    "cache=off",
]


@pytest.fixture
def unasked(server: Server) -> Iterator[Server]:
    yield server
    assert server.asked == []


def part(server: Server) -> dict[str, Any]:
    return {"_target_": "recx_llm.ranker.Llm", "url": server.url, "model": "tiny", "cache": "theirs"}


@pytest.fixture
def run(call: Call, unasked: Server, tmp_path: Path) -> Path:
    """Return the folder of a run whose configuration says that the endpoint ranked, as does its model's."""
    assert call(*TOOLS, "ranker=bm25", "hydra.run.dir=outputs/a/b") == 0
    folder = tmp_path / "outputs" / "a" / "b"
    file = folder / "config.yaml"
    config = {**yaml.safe_load(file.read_text()), "ranker": part(unasked)}
    file.write_text(yaml.safe_dump(config))
    shutil.copy(file, folder / "model" / "config.yaml")
    sealed(folder / "model", "config.yaml")
    return folder


def sealed(model: Path, name: str) -> None:
    """Give a file that was changed its place among those of the manifest again."""
    about, content = json.loads((model / "model.json").read_text()), (model / name).read_bytes()
    about["files"][name] = [len(content), hashlib.blake2b(content, digest_size=16).hexdigest()]
    (model / "model.json").write_text(json.dumps(about))


@pytest.mark.parametrize("command", ["explain --worst 2", "report", "predict"])
def test_what_reads_a_run_sends_nothing_where_its_configuration_says(run: Path, call: Call, command: str) -> None:
    name, *more = command.split()
    assert call(name, "outputs/a/b", *more) in (0, 2)
    assert not (run.parents[2] / "theirs").exists()


@pytest.mark.parametrize("door", ["predict", "load_model"])
def test_a_model_that_holds_one_is_not_read(
    run: Path, call: Call, server: Server, door: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run / "model" / "value.json"
    value = json.loads(file.read_text())
    settings = {"url": server.url, "model": "tiny"}
    value["fields"]["ranker"] = {"part": "recx_llm.ranker.Llm", "place": 9_000, "fields": settings}
    file.write_text(json.dumps(value))
    sealed(run / "model", "value.json")
    why = "no file may hold an address to which texts would be sent"
    if door == "load_model":
        with pytest.raises(InputError, match=why):
            recx.load_model(str(run))
        return
    assert call(door, "outputs/a/b") == 2
    assert why in capsys.readouterr().err


def test_an_option_file_names_the_endpoint_only_in_ones_own_project(
    call: Call, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = tmp_path / "shop" / "conf" / "ranker" / "mine.yaml"
    option.parent.mkdir(parents=True)
    option.write_text(yaml.safe_dump(part(server)))
    assert call(*TOOLS, "hydra.searchpath=[file://shop/conf]", "ranker=mine") == 2
    assert f"ranker.url={server.url}: neither this command line nor an option file under its --config-dir" in (
        capsys.readouterr().err
    )
    assert server.asked == []
    assert call("--config-dir", "shop/conf", *TOOLS, "ranker=mine") == 0
    assert len(server.asked) > 0


def test_a_study_names_no_endpoint(
    call: Call, unasked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ranker=llm", f"ranker.url={unasked.url}", "ranker.model=tiny"]
    study = {"metrics": ["mrr"], "seeds": [0], "chains": {"own": words}, "worlds": {"tools": TOOLS[:3]}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(study))
    assert call("study", "own.yaml", "jobs=1") == 2
    assert "it names a server to send data to, and a study may be a stranger's" in capsys.readouterr().err


def test_it_stays_in_its_process() -> None:
    with pytest.raises(InputError, match="choose engine=local"):
        pickle.dumps(Llm())


def test_a_password_in_the_address_is_used_and_written_nowhere(
    call: Call, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = server.url.replace("http://", "http://me:open-sesame-123@")
    words = [word for word in TOOLS if not word.startswith(("tracker=", "cache="))]
    assert call(*words, "ranker=llm", f"ranker.url={url}", "ranker.model=tiny") == 0
    assert {sent["Authorization"] for sent in server.sent} == {"Basic bWU6b3Blbi1zZXNhbWUtMTIz"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "mlflow.db" for path in files)
    assert not any(b"sesame" in path.read_bytes() for path in files)
    printed = capsys.readouterr()
    assert "sesame" not in printed.out + printed.err
