"""``python -m recx serve``: what cannot be served is refused before anything is loaded."""

from __future__ import annotations

import importlib.util
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from recx.cli.commands import serve
from recx.core.errors import InputError
from recx.jobs.serve.process import Workers
from recx.jobs.serve.settings import Settings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "serve.md"


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a finished run, which has a folder ``model``."""
    monkeypatch.delenv("RECX_TOKEN", raising=False)
    (here / "mine" / "model").mkdir(parents=True)
    (here / "mine" / "model" / "model.json").write_text("{}", encoding="utf-8")
    (here / "mine" / "metrics.json").write_text("{}", encoding="utf-8")
    return "mine"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Return the settings with which servers are started, which serve nothing here."""
    settings: list[Settings] = []

    def run(self: Workers, ready: Any) -> None:
        settings.append(self.settings)
        ready()

    monkeypatch.setattr(Workers, "run", run)
    return settings


def test_it_says_where_it_listens(
    run: str, here: Path, started: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve.run([run, "--port", "0", "--workers", "3", "--max-body", "2MB", "--timeout", "2.5"]) == 0
    [settings] = started
    assert settings.folder == here / "mine" / "model"
    assert settings.workers == 3
    assert settings.limits.body == 2_000_000
    assert settings.limits.seconds == 2.5
    assert re.search(
        r"serving on http://127\.0\.0\.1:\d+, described at http://127\.0\.0\.1:\d+/docs", capsys.readouterr().out
    )


def test_a_token_lets_other_machines_in(run: str, here: Path, started: list[Settings]) -> None:
    file = here / "token"
    file.touch(0o600)
    file.write_text("abcdefghijklmnop", encoding="utf-8")
    assert serve.run([run, "--port", "0", "--host", "0.0.0.0", "--token-file", str(file)]) == 0
    assert (started[0].token, started[0].hosts) == ("abcdefghijklmnop", ())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "70000"], "--port 70000: it must be a whole number"),
        (["--port", "x"], "invalid int value"),
        (["--workers", "0"], "--workers 0: it must be a whole number from 1 to 64"),
        (["--workers", "65"], "--workers 65"),
        (["--max-body", "5"], "--max-body"),
        (["--max-body", "0kB"], "--max-body 0kB: it must be from 1kB to 1GB"),
        (["--max-users", "0"], "--max-users 0"),
        (["--timeout", "0"], "--timeout 0: it must be a number of seconds"),
        (["--timeout", "nan"], "--timeout nan"),
        (["--host", "0.0.0.0", "--port", "0"], "other machines can reach it, so requests need a token"),
        (["--token", "secret"], "unrecognized arguments"),
        (["--token-file", "none"], "--token-file none: No such file"),
    ],
)
def test_bad_arguments(run: str, started: list[Settings], arguments: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        serve.run([run, *arguments])
    assert not started


def test_a_run_without_a_model(here: Path, started: list[Settings]) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "metrics.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="model"):
        serve.run(["mine", "--port", "0"])
    with pytest.raises(InputError, match="no run 'other'"):
        serve.run(["other", "--port", "0"])
    assert not started


def test_a_port_in_use_is_said_first(run: str, started: list[Settings]) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(InputError, match="is in use: choose another"):
        serve.run([run, "--port", str(taken.getsockname()[1])])
    assert not started


def test_without_the_libraries(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name in ("fastapi", "uvicorn") else found(name))
    with pytest.raises(InputError, match=r"the server needs fastapi, uvicorn: .* its extra 'serve'"):
        serve.run([run])


def test_every_line_of_the_page_is_understood(run: str, here: Path, started: list[Settings]) -> None:
    file = here / "token"
    file.touch(0o600)
    file.write_text("abcdefghijklmnop", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split() for line in re.findall(r"recx serve (.*)", page)]
    assert len(lines) >= 3
    for words in lines:
        words[0] = run
        port = [] if "--port" in words else ["--port", "0"]
        assert serve.run([*words, *port]) == 0
