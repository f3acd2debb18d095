"""Where a server may listen, under which names, and with which token."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.settings import LOCAL, Settings, check_token, hosts_of, listening, token_of

WORD = "abcdefghijklmnop"


def test_settings_reach_a_worker() -> None:
    settings = Settings(Path("/model"), "last", "::1", 3, Limits(seconds=2.5), WORD, ("[::1]",))
    assert Settings.from_json(settings.as_json()) == settings


def test_a_port_in_use() -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"port {port} of 127.0.0.1 is in use: choose another, such as --port"):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("port", [-1, 65_536, 10**12])
def test_no_such_port(port: int) -> None:
    with pytest.raises(InputError, match=f"--port {port}: it must be a whole number from 1 to 65535"):
        listening("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 70, "x..y"])
def test_no_such_host(host: str) -> None:
    with pytest.raises(InputError, match=r"--host .*: no server can listen there \(.*\)"):
        listening(host, 0)


def test_names_of_a_local_server() -> None:
    assert hosts_of("127.0.0.1", "127.0.0.1") == LOCAL
    assert set(hosts_of("My.test", "127.0.0.1")) == {*LOCAL, "my.test"}
    assert hosts_of("::1", "::1") == LOCAL
    assert set(hosts_of("2001:DB8::1", "2001:db8::1")) == {"[2001:db8::1]"}


def test_names_of_other_servers() -> None:
    assert hosts_of("0.0.0.0", "0.0.0.0") == ()
    assert hosts_of("::", "::") == ()
    names = hosts_of("box.example", "192.0.2.1")
    assert {"box.example", "192.0.2.1"} <= set(names)
    assert "localhost" not in names


def test_other_machines_need_a_token() -> None:
    check_token("", "localhost", "127.0.0.1")
    check_token(WORD, "0.0.0.0", "0.0.0.0")
    with pytest.raises(InputError, match=r"--host 0\.0\.0\.0: other machines can reach it, so requests need a token"):
        check_token("", "0.0.0.0", "0.0.0.0")


def test_a_token_in_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECX_TOKEN", raising=False)
    assert token_of(None) == ""
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"{WORD}\n", encoding="utf-8")
    assert token_of(file) == WORD
    monkeypatch.setenv("RECX_TOKEN", WORD)
    assert token_of(None) == WORD
    with pytest.raises(InputError, match="the variable RECX_TOKEN is set too"):
        token_of(file)


@pytest.mark.parametrize(
    "word",
    ["", "sh0rt", "two words of a token", "ünsichtbar-ünsichtbar", "x" * 1001, "a\nbcdefghijklmnopq"],
    ids=range(6),
)
def test_no_token(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECX_TOKEN", raising=False)
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(word, encoding="utf-8")
    with pytest.raises(InputError, match="a token is one word of 16 to 1,000") as refused:
        token_of(file)
    assert not word or word not in str(refused.value)


def test_a_file_that_is_not_of_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECX_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text(WORD, encoding="utf-8")
    file.chmod(0o640)
    with pytest.raises(InputError, match="others may read it: chmod 600 it"):
        token_of(file)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(InputError, match="is a link"):
        token_of(tmp_path / "link")
    with pytest.raises(InputError, match="No such file"):
        token_of(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe"):
        token_of(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    (tmp_path / "bytes").chmod(0o600)
    with pytest.raises(InputError, match="it is no text"):
        token_of(tmp_path / "bytes")


def test_it_listens_where_it_is_told() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        assert listener.getsockname()[0] == "127.0.0.1"
