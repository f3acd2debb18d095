"""Passwords in addresses and settings reach no file, page, param, tag or message, of any command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import recx
from recx.cli.main import main
from recx.config.put_aside import VARIABLE, put_aside
from recx.core.errors import InputError, RecxError, reason
from recx.core.secrets import hidden, hidden_in, hidden_override
from recx.tracking.mlflow import address

SECRET = "hunter2-tr0ub4dor"
PART = '''
from dataclasses import dataclass

from recx.plugin import Interactions
from recx.testing.tiny_dataset import tiny_world


@dataclass(frozen=True)
class Remote:
    """A store of events that needs a password."""

    address: str
    api_key: str
    rows: int = 0

    def load(self) -> Interactions:
        assert "SECRET" in self.address, self.address
        assert self.api_key.endswith("SECRET"), self.api_key
        return tiny_world()
'''.replace("SECRET", SECRET)
OPTION = "_target_: secret_part.Remote\naddress: http://host\napi_key: none\n"
TYPED = (f"dataset.address=http://me:{SECRET}@host:5000/x?token={SECRET}", f"dataset.api_key={SECRET}")
CHAIN = ("dataset=remote", "retriever=popularity", "ranker=identity")

ADDRESSES = {
    "http://user:PW@host:5000/x": "http://user:***@host:5000/x",
    "postgresql+psycopg2://me:PW@db.example/mlflow": "postgresql+psycopg2://me:***@db.example/mlflow",
    "mysql://me:a@b/c:PW@db/x": "mysql://me:***@db/x",
    "http://:PW@host": "http://:***@host",
    "http://host/x?a=1&token=PW&b=2": "http://host/x?a=1&token=***&b=2",
    "https://bucket.example/k?X-Amz-Credential=PW&X-Amz-Signature=PW": (
        "https://bucket.example/k?X-Amz-Credential=***&X-Amz-Signature=***"
    ),
    f"https://{'x' * 30}@git.example/r": "https://***@git.example/r",
    "http://host:5000/#/experiments/1": "http://host:5000/#/experiments/1",
    "http://host:5000/a@b": "http://host:5000/a@b",
    "postgresql://me@db/x": "postgresql://me@db/x",
    "sqlite:////tmp/a:b@c.db": "sqlite:////tmp/a:b@c.db",
    "me:PW@host": "me:PW@host",
    "s3:/key:PW@bucket/x": "s3:/key:***@bucket/x",  # as a Path writes it
    "file /tmp/m.db?password=PW": "file /tmp/m.db?password=***",
    "/tmp/a:b@c.db?x=1": "/tmp/a:b@c.db?x=1",
}


@pytest.mark.parametrize(("text", "shown"), ADDRESSES.items())
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    assert hidden(text) == shown
    assert hidden(shown) == shown
    assert hidden(f"in {text} there") == f"in {shown} there"


def test_a_setting_that_is_named_like_a_key_is_hidden_and_no_other() -> None:
    settings = {"api_key": "a", "x": [{"password": "b"}, "http://u:c@h"], "aws_secret_access_key": "d", "HF_TOKEN": "e"}
    assert hidden_in(settings) == {
        "api_key": "***",
        "x": [{"password": "***"}, "http://u:***@h"],
        "aws_secret_access_key": "***",
        "HF_TOKEN": "***",
    }
    others = {"key": "a", "tokens": "b", "max_tokens": 5, "secretary": "c", "token": 3, "password": "", "keys": ["d"]}
    assert hidden_in(others) == others


def test_overrides() -> None:
    assert hidden_override("+tracker.uri='http://u:a@h'") == "+tracker.uri='http://u:***@h'"
    assert hidden_override("dataset.api_key='a b'") == "dataset.api_key='***'"
    assert hidden_override("ranker.l2=0.1,1") == "ranker.l2=0.1,1"


@pytest.fixture
def clean() -> Iterator[None]:
    """Leave the environment as it was."""
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]


@pytest.mark.usefixtures("clean")
def test_they_are_put_aside_under_a_name_that_follows_from_the_key() -> None:
    given = [
        "tracker.uri='http://u:first@h?token=second'",
        "a.api_key=third",
        "seed=1",
        "tracker.uri=http://u:${oc.env:X}@h",
    ]
    assert put_aside(given) == [
        "tracker.uri='http://u:${oc.env:RECX_SECRET_TRACKER_URI}@h?token=${oc.env:RECX_SECRET_TRACKER_URI_2}'",
        "a.api_key=${oc.env:RECX_SECRET_A_API_KEY}",
        *given[2:],
    ]
    assert os.environ[f"{VARIABLE}TRACKER_URI"] == "first"
    assert os.environ[f"{VARIABLE}TRACKER_URI_2"] == "second"
    with pytest.raises(InputError, match=r"^tracker\.uri: its password has quotes"):
        put_aside(["tracker.uri='http://u:a,b@h'"])


def test_errors_are_shown_without_them() -> None:
    assert str(InputError(f"no http://u:{SECRET}@h")) == "no http://u:***@h"
    assert reason(OSError(f"no http://u:{SECRET}@h")) == "OSError: no http://u:***@h"
    assert address(f"http://u:{SECRET}@h:5000/", "1", "2").startswith("http://h:5000/#/experiments/1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project with a data set whose settings hold passwords."""
    home = tmp_path_factory.mktemp("project")
    (home / "secret_part.py").write_text(PART)
    (home / "conf" / "dataset").mkdir(parents=True)
    return home


@pytest.fixture
def option(home: Path, here: Path, clean: None) -> Path:
    """Return the option file of the data set; the working directory is empty."""
    option = home / "conf" / "dataset" / "remote.yaml"
    option.write_text(OPTION)
    return option


def assert_nowhere(folder: Path) -> None:
    """Assert that no file below the runs' folder holds the password, nor the name of one."""
    files = [path for path in (folder / "outputs").rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [str(path) for path in files if SECRET.encode() in path.read_bytes()] == []
    assert [str(path) for path in (folder / "outputs").rglob(f"*{SECRET}*")] == []


@pytest.fixture
def run(option: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs the command line and returns what it printed, in which the password must not be."""

    def call(*words: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["recx", "--config-dir", str(option.parents[1]), *words])
        found = main()
        printed = capsys.readouterr()
        text = f"{printed.out}{printed.err}"
        assert found == code, text
        assert SECRET not in text
        return text

    return call


def test_a_run_and_what_reads_it(here: Path, run: Callable[..., str]) -> None:
    run(*CHAIN, *TYPED, "hydra.output_subdir=.hydra")
    assert_nowhere(here)
    config = next((here / "outputs").glob("*/*/config.yaml")).read_text()
    assert "address: http://me:***@host:5000/x?token=***" in config
    assert "api_key: '***'" in config
    for command in (["runs", "--csv"], ["report", "last"], ["compare", "last", "last", "--json"]):
        run(*command)
    page = next((here / "outputs").glob("*/*/report.html")).read_text()
    assert "http://me:***@host:5000" in page
    assert_nowhere(here)


@pytest.mark.slow
def test_a_sweep_is_run_and_resumed(here: Path, option: Path, run: Callable[..., str]) -> None:
    """Some settings are typed, some stand in the option file, as for a sweep that is in no file of its own."""
    option.write_text(OPTION.replace("none", SECRET))
    sweep = ("-m", *CHAIN, TYPED[0], "seed=0,1", "sweep_id=mine", "fold=valid", "allow_tuning_on_test=false")
    run(*sweep)
    assert "2 done before" in run(*sweep)
    assert_nowhere(here)
    assert (here / "outputs" / "sweeps" / "mine" / "multirun.yaml").is_file()
    option.write_text(OPTION.replace("none", f"other-{SECRET}"))
    assert "2 done before" in run(*sweep), "with another password the figures are the same"
    option.write_text(OPTION.replace("none", SECRET) + "rows: 1\n")
    assert "dataset.rows=nothing (now 1)" in run(*sweep, code=2)


def test_from_python(here: Path, option: Path) -> None:
    result = recx.run([*CHAIN, *TYPED, "tracker=console"], config_dir=option.parents[1])
    assert result.metrics
    assert_nowhere(here)


def test_an_error_and_its_traceback(
    here: Path, option: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECX_DEBUG", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    uri = f"tracker.uri=http://me:{SECRET}@127.0.0.1:1"
    assert "http://me:***@127.0.0.1:1" in run(*CHAIN, *TYPED, uri, code=1)
    assert "***" in run(*CHAIN, f"tracker.uri=ftp://me:{SECRET}@127.0.0.1", *TYPED, code=2)
    assert "did you mean" in run(*CHAIN, *TYPED, f"dataset.adress=http://me:{SECRET}@h", code=2)
    run("ui", "--uri", f"http://me:{SECRET}@127.0.0.1:1", code=2)
    assert not (here / "outputs").exists() or SECRET.encode() not in b"".join(
        path.read_bytes() for path in (here / "outputs").rglob("*") if path.is_file()
    )
    with pytest.raises(RecxError) as caught:
        recx.run([*CHAIN, *TYPED, uri], config_dir=option.parents[1])
    assert SECRET not in str(caught.value)
