"""The key is sent to the endpoint alone and shown nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recx_llm.ranker import Llm

from recx.plugin import InputError

from .conftest import Reply, Server, llm, ranked

KEY = "sk-proj-0123456789abcdef"


def test_the_key_is_sent_and_shown_nowhere(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    ranker = llm(server, api_key_env="MY_KEY", cache=str(tmp_path))
    ranked(ranker)
    assert {sent["Authorization"] for sent in server.sent} == {f"Bearer {KEY}"}
    assert not any(KEY in file.read_text() for file in tmp_path.rglob("*.json"))
    server.reply = lambda prompt: Reply(
        status=401, body=json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    )
    with pytest.raises(InputError) as raised:
        ranked(llm(server, api_key_env="MY_KEY"))
    assert str(raised.value) == (
        f"{server.url}: HTTP 401, Incorrect API key provided: ***: correct ranker.api_key_env or the variable that it "
        "names"
    )
    assert KEY not in repr(ranker)


@pytest.mark.parametrize("held", ["abc def", "abc\nX-Other: 1", "schlüssel"], ids=["blank", "line", "umlaut"])
def test_what_is_no_key_is_refused_and_not_repeated(server: Server, monkeypatch: pytest.MonkeyPatch, held: str) -> None:
    monkeypatch.setenv("MY_KEY", held)
    with pytest.raises(InputError) as raised:
        llm(server, api_key_env="MY_KEY").preflight()
    assert str(raised.value) == (
        "ranker.api_key_env=MY_KEY: what it holds is no key, of ASCII without blanks: correct it"
    )


def test_a_key_in_a_long_error_is_not_shown_in_part(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.reply = lambda prompt: Reply(status=400, body=b"x" * 190 + f" {KEY}".encode())
    with pytest.raises(InputError) as raised:
        ranked(llm(server, api_key_env="MY_KEY"))
    assert KEY[:6] not in str(raised.value)


def test_a_key_in_place_of_its_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError, match="it must be the NAME of an environment variable") as raised:
        Llm(api_key_env=KEY)
    assert KEY not in str(raised.value)
