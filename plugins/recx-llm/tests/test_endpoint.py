"""What an endpoint does wrong is asked again where that may help, and said in a sentence where it cannot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from recx_llm import endpoint
from recx_llm.answers import Answer, key_of
from recx_llm.endpoint import Endpoint, Pacer, address_of, check_url, is_local

from recx.plugin import InputError, RecxError

from .conftest import Reply, Server

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}]}
FINE = Reply("[1]")


def ask(server: Server, *replies: Reply, **settings: Any) -> tuple[Answer, Endpoint]:
    """Return the answer to one call that gets these replies, one after the other."""
    left: Iterator[Reply] = iter(replies)
    server.reply = lambda prompt: next(left)
    given = {"url": server.url, "key": None, "timeout": 5.0, "retries": 3, "pacer": Pacer(), **settings}
    made = Endpoint(**given)

    async def once() -> Answer:
        async with made:
            return await made.ask(BODY, 10)

    return asyncio.run(once()), made


PASSING = {
    "busy": Reply(status=429),
    "busy for a moment": Reply(status=429, headers={"Retry-After": "0.05"}),
    "busy until a date that has passed": Reply(status=429, headers={"Retry-After": "Mon, 01 Jan 2024 00:00:00 GMT"}),
    "busy without saying how long": Reply(status=429, headers={"Retry-After": "soon"}),
    "an error": Reply(status=500, body=b"Internal Server Error"),
    "no gateway": Reply(status=502, body=b"<html>"),
    "too slow": Reply("[1]", wait=1.0),
    "too slow in all": Reply("[1]", drip=0.05),
    "half a body": Reply("[1]", cut=20),
    "half a JSON": Reply(body=b'{"choices": [{"message": {"content": "[1'),
    "another JSON": Reply(body=b'{"error": "none"}'),
    "no JSON": Reply(body=b"hello"),
    "a list": Reply(body=b"[]"),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_may_pass_is_asked_again(server: Server, name: str) -> None:
    answer, made = ask(server, PASSING[name], FINE, timeout=0.5 if name.startswith("too slow") else 5.0)
    assert answer == Answer("[1]", 100, 10)
    assert (len(server.asked), made.retried) == (2, 1)


@pytest.mark.parametrize("name", PASSING)
def test_what_does_not_pass_ends_the_run_after_so_many_attempts(server: Server, name: str) -> None:
    with pytest.raises(RecxError, match=r"no answer after 2 attempts \(.*\): run it again later") as raised:
        ask(server, PASSING[name], PASSING[name], retries=1, timeout=0.5 if name.startswith("too slow") else 5.0)
    assert not isinstance(raised.value, InputError)
    assert len(server.asked) == 2


REFUSED = {
    "a wrong key": (401, "correct ranker.api_key_env or the variable that it names"),
    "a key that may not": (403, "correct ranker.api_key_env or the variable that it names"),
    "no such model": (404, "correct ranker.url or ranker.model"),
    "a wrong field": (400, "correct the settings of ranker"),
    "a wrong value": (422, "correct the settings of ranker"),
    "another address": (307, "it sends on to another address, which is not followed: correct ranker.url"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_pass_is_said_at_once(server: Server, name: str) -> None:
    status, way_out = REFUSED[name]
    body = b'{"error": {"message": "because\\nof this", "code": "why"}}'
    with pytest.raises(InputError) as raised:
        ask(server, Reply(status=status, body=body, headers={"Location": f"{server.url}/other"}))
    assert str(raised.value) == f"{server.url}: HTTP {status}, why because of this: {way_out}"
    assert len(server.asked) == 1


def test_money_that_is_spent_is_not_waited_for(server: Server) -> None:
    body = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    with pytest.raises(InputError, match="HTTP 429, insufficient_quota You exceeded your quota"):
        ask(server, Reply(status=429, body=body))
    assert len(server.asked) == 1


def test_the_endpoint_says_how_long_to_wait(server: Server) -> None:
    start = time.monotonic()
    ask(server, Reply(status=429, headers={"Retry-After": "0.3"}), FINE)
    assert time.monotonic() - start >= 0.3


def test_nobody_waits_for_an_hour(server: Server) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with pytest.raises(RecxError, match=r"it asks to wait for 3,(599|600) s: run it again then"):
        ask(server, Reply(status=429, headers={"Retry-After": at}))


def test_a_wait_holds_all_calls() -> None:
    async def turns() -> list[float]:
        pacer, loop = Pacer(), asyncio.get_running_loop()
        start = loop.time()
        pacer.hold(0.2)
        await pacer.turn(1)
        return [loop.time() - start]

    assert asyncio.run(turns())[0] >= 0.19


@pytest.mark.parametrize(
    ("limits", "tokens", "seconds"),
    [((600, None), 1, 0.3), ((None, 6000), 10, 0.3), ((600, 6000), 20, 0.6), ((None, None), 10**9, 0.0)],
)
def test_calls_are_spread_over_time(limits: tuple[int | None, int | None], tokens: int, seconds: float) -> None:
    """The fourth call begins three intervals after the first: of 60 / calls, or 60 x tokens / tokens a minute."""

    async def turns() -> float:
        pacer, loop = Pacer(*limits), asyncio.get_running_loop()
        start = loop.time()
        await asyncio.gather(*(pacer.turn(tokens) for _ in range(4)))
        return loop.time() - start

    took = asyncio.run(turns())
    assert seconds - 0.01 <= took < seconds + 0.25


def test_an_answer_without_text_is_empty(server: Server) -> None:
    refusal = b'{"choices": [{"message": {"content": null, "refusal": "no"}}], "usage": {"prompt_tokens": -1}}'
    assert ask(server, Reply(body=refusal))[0] == Answer("", None, None)


def test_an_endless_answer_is_not_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "LARGEST", 1000)
    with pytest.raises(RecxError, match="an answer has more than 1,000 bytes"):
        ask(server, Reply("1" * 2000))


def test_a_port_where_nobody_listens_is_reported() -> None:
    made = Endpoint("http://127.0.0.1:9/v1", None, 5.0, 1, Pacer())

    async def once() -> Answer:
        async with made:
            return await made.ask(BODY, 10)

    with pytest.raises(RecxError, match=r"http://127.0.0.1:9/v1: no answer after 2 attempts \(ConnectError: "):
        asyncio.run(once())


def test_no_proxy_of_the_environment_gets_what_is_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(server, FINE)[0].text == "[1]"

    async def mounts(url: str) -> int:
        async with Endpoint(url, None, 5.0, 0, Pacer()) as made:
            return len(made._client._mounts)

    assert asyncio.run(mounts("https://example.org/v1")) > 0  # which are the proxies
    assert asyncio.run(mounts(server.url)) == 0


@pytest.mark.parametrize(
    ("url", "local"),
    [
        *(("http://127.0.0.1:8000", True), ("http://[::1]/v1", True), ("http://localhost/v1", True)),
        *(("https://example.org", False), ("http://localhost.example.org", False), ("http://10.0.0.1", False)),
    ],
)
def test_which_addresses_are_on_this_machine(url: str, local: bool) -> None:
    assert is_local(url) == local


def test_the_query_of_an_address_stays_and_its_password_is_not_shown(server: Server) -> None:
    url = server.url.replace("http://", "http://me:secret@") + "/?api-version=1"
    check_url(url)
    ask(server, FINE, url=url)
    assert server.paths == ["/v1/chat/completions?api-version=1"]
    assert server.sent[0]["Authorization"] == httpx2.BasicAuth("me", "secret")._auth_header
    assert address_of(url) == f"{server.url}/"


def test_the_key_of_an_answer_depends_on_all_that_is_sent_but_not_on_the_password() -> None:
    url = "https://example.org/v1"
    assert key_of(url, BODY) == key_of("https://me:secret@example.org/v1", BODY)
    others = [("https://example.org/v2", BODY), ("http://example.org/v1", BODY), (url, {**BODY, "model": "large"})]
    others += [(url, {**BODY, "temperature": 0.0}), (url, {**BODY, "messages": []})]
    assert len({key_of(url, BODY), *(key_of(*other) for other in others)}) == 6
